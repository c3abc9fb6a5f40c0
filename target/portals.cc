#include "target/portals.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "rdmap/tcp/address.h"
#include "target/catalogue_builder.h"

namespace openiser::target {

namespace {

bool is_wildcard(const std::string& host) {
  if (host.empty()) return true;
  const auto address = rdmap::look_up(host, 0, rdmap::Lookup::numeric);
  return address && address->front().is_wildcard();
}

PortalAddress address_of(const config::Portal& portal, const std::string& address,
                         std::uint16_t port) {
  return {.address = address,
          .port = port,
          .tag = portal.tag,
          .wildcard = is_wildcard(portal.host),
          .redirection = redirection_of(portal.redirect)};
}

}  // namespace

Portals::Portals(rdmap::EventLoop& loop, std::vector<std::unique_ptr<Worker>>& workers,
                 std::size_t limit)
    : loop_(loop), workers_(workers), limit_(limit) {}

Result<PortalAddress> Portals::open(const config::Portal& portal) {
  using Transport = config::Portal::Transport;
  const std::size_t number = opened_++;
  if (portal.transport == Transport::verbs) {
    auto address = listen_by_verbs(portal, portal.port, number);
    if (address) log::info("portal", "listening on " + address->address + ", by verbs");
    return address;
  }
  auto address = listen(portal, number);
  if (!address) return address;
  std::string ways;
  if (portal.transport == Transport::automatic && rdmap::verbs_device_carries(portal.host)) {
    const auto verbs = listen_by_verbs(portal, address->port, number);
    ways = verbs ? ", and by verbs" : "; not by verbs: " + verbs.error().message();
  }
  log::info("portal", "listening on " + address->address + ways);
  return address;
}

Result<PortalAddress> Portals::listen(const config::Portal& portal, std::size_t number) {
  auto listener = rdmap::Listener::open(loop_, portal.host, portal.port,
                                        [this, number, tag = portal.tag](rdmap::Socket socket) {
                                          place(std::move(socket), number, tag);
                                        });
  if (!listener) return listener.error();
  listeners_.push_back(std::move(*listener));
  return address_of(portal, listeners_.back()->address(), listeners_.back()->port());
}

Result<PortalAddress> Portals::listen_by_verbs(const config::Portal& portal, std::uint16_t port,
                                               std::size_t number) {
  auto listener = rdmap::VerbsListener::open(
      loop_, portal.host, port, [this, number, tag = portal.tag](rdmap::VerbsRequest request) {
        place(std::move(request), number, tag);
      });
  if (!listener) return listener.error();
  verbs_listeners_.push_back(std::move(*listener));
  return address_of(portal, verbs_listeners_.back()->address(), verbs_listeners_.back()->port());
}

void Portals::close() {
  listeners_.clear();
  verbs_listeners_.clear();
}

// The one with the fewest connections; null at the limit.
Worker* Portals::worker_for(const std::string& peer_address) {
  std::size_t all = 0;
  Worker* least = workers_.front().get();
  for (const auto& worker : workers_) {
    all += worker->connections();
    if (worker->connections() < least->connections()) least = worker.get();
  }
  if (all < limit_) {
    full_ = false;
    return least;
  }
  if (!std::exchange(full_, true)) {
    log::warn("portal", "limits.connections (" + std::to_string(limit_) + ") reached: refusing " +
                            peer_address + " and others");
  }
  return nullptr;
}

template <class Incoming>
void Portals::place(Incoming incoming, std::size_t portal, std::uint16_t portal_group_tag) {
  Arrival arrival{.peer_address = incoming.peer_address(),
                  .local_address = incoming.local_address(),
                  .portal_group_tag = portal_group_tag,
                  .portal = portal};
  Worker* worker = worker_for(arrival.peer_address);
  if (!worker) return;  // closes or rejects it
  worker->adopt(std::move(incoming), std::move(arrival));
}

}  // namespace openiser::target
