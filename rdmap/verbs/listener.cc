#include <algorithm>
#include <cerrno>
#include <utility>

#include "rdmap/errors.h"
#include "rdmap/tcp/address.h"
#include "rdmap/verbs/request.h"
#include "rdmap/verbs/verbs.h"
#include "rdmap/verbs/verbs_errors.h"

namespace openiser::rdmap {
namespace {

constexpr int kBacklog = 1024;

Result<CmId> listen_at(SocketAddress address) {
  auto channel = open_cm_channel();
  if (!channel) return channel.error();
  auto id = CmId::make(std::move(*channel));
  if (!id) return id;
  if (rdma_bind_addr(id->id.get(), address.get()) != 0) return error_of_opening(errno);
  if (rdma_listen(id->id.get(), kBacklog) != 0) return error_of_opening(errno);
  return id;
}

Result<CmId> listen_on(const std::string& host, std::uint16_t port) {
  // Without a host one of IPv6 takes both families.
  const auto addresses = look_up(host.empty() ? "::" : host, port, Lookup::to_listen);
  if (!addresses) return addresses.error();
  ErrorCode why = errc::verbs_no_device;
  for (const SocketAddress& each : *addresses) {
    auto id = listen_at(each);
    if (id) return id;
    why = id.error();
  }
  return why;
}

}  // namespace

struct VerbsListener::State {
  CmId id;
  std::function<void(VerbsRequest)> requested;
  std::unique_ptr<ReadableWatch> watch;
  bool destroyed = false;

  void events_ready(const std::shared_ptr<State>& self) {
    while (!self->destroyed) {
      auto event = next_event(*id.channel);
      if (!event) return;
      if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) ask(std::move(*event));
    }
  }
  void ask(CmEvent event) {
    CmId asking{id.channel, Owned<rdma_cm_id>(event.id)};
    PeerOffer offer{event.inbound_reads, event.outbound_reads, std::move(event.private_data)};
    requested(VerbsRequest::State::request_of(std::move(asking), std::move(offer)));
  }
};

Result<std::unique_ptr<VerbsListener>> VerbsListener::open(
    EventLoop& loop, const std::string& host, std::uint16_t port,
    std::function<void(VerbsRequest)> requested) {
  auto id = listen_on(host, port);
  if (!id) return id.error();
  auto state = std::make_shared<State>(State{std::move(*id), std::move(requested), nullptr});
  state->watch =
      std::make_unique<ReadableWatch>(loop, state->id.channel->fd, [weak = std::weak_ptr(state)] {
        const auto self = weak.lock();
        if (self) self->events_ready(self);
      });
  return std::unique_ptr<VerbsListener>(new VerbsListener(std::move(state)));
}

VerbsListener::VerbsListener(std::shared_ptr<State> state) : state_(std::move(state)) {}

VerbsListener::~VerbsListener() {
  state_->destroyed = true;
  state_->watch.reset();
}

std::string VerbsListener::address() const {
  return state_->id.local_address();
}
std::uint16_t VerbsListener::port() const {
  return ntohs(rdma_get_src_port(state_->id.id.get()));
}

}  // namespace openiser::rdmap
