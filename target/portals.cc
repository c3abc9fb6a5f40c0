#include "target/portals.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "target/catalogue_builder.h"

namespace openiser::target {

namespace {

bool is_wildcard(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || host == "::" || host == "[::]";
}

}  // namespace

Portals::Portals(rdmap::EventLoop& loop, std::vector<std::unique_ptr<Worker>>& workers,
                 std::size_t limit)
    : loop_(loop), workers_(workers), limit_(limit) {}

Result<PortalAddress> Portals::open(const config::Portal& portal) {
  auto listener =
      rdmap::Listener::open(loop_, portal.host, portal.port,
                            [this, number = listeners_.size(), tag = portal.tag](
                                rdmap::Socket socket) { place(std::move(socket), number, tag); });
  if (!listener) return listener.error();
  PortalAddress address{.address = (*listener)->address(),
                        .port = (*listener)->port(),
                        .tag = portal.tag,
                        .wildcard = is_wildcard(portal.host),
                        .redirection = redirection_of(portal.redirect)};
  listeners_.push_back(std::move(*listener));
  return address;
}

void Portals::close() {
  listeners_.clear();
}

void Portals::place(rdmap::Socket socket, std::size_t portal, std::uint16_t portal_group_tag) {
  std::size_t all = 0;
  Worker* least = workers_.front().get();
  for (const auto& worker : workers_) {
    all += worker->connections();
    if (worker->connections() < least->connections()) least = worker.get();
  }
  if (all >= limit_) {
    if (!std::exchange(full_, true)) {
      log::warn("portal", "limits.connections (" + std::to_string(limit_) + ") reached: refusing " +
                              socket.peer_address() + " and others");
    }
    return;  // closes it
  }
  full_ = false;
  Arrival arrival{.peer_address = socket.peer_address(),
                  .local_address = socket.local_address(),
                  .portal_group_tag = portal_group_tag,
                  .portal = portal};
  least->adopt(std::move(socket), std::move(arrival));
}

}  // namespace openiser::target
