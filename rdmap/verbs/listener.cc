#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/log.h"
#include "rdmap/errors.h"
#include "rdmap/tcp/address.h"
#include "rdmap/verbs/request.h"
#include "rdmap/verbs/verbs.h"
#include "rdmap/verbs/verbs_errors.h"

namespace openiser::rdmap {
namespace {

constexpr int kBacklog = 1024;
// Between attempts to listen again at the address of a device that was removed.
constexpr Duration kPause = std::chrono::seconds(2);

Result<CmId> listen_at(const SocketAddress& address) {
  auto channel = open_cm_channel();
  if (!channel) return channel.error();
  auto id = CmId::make(std::move(*channel));
  if (!id) return id;
  if (const Status bound = id->bind(address); !bound) return bound.error();
  id->take_device();
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

// One at an address of a device loses it with the device, and takes it again when there is a device
// there once more; one at a wildcard is told nothing, as the connection manager itself does that.
struct VerbsListener::State : std::enable_shared_from_this<State> {
  State(EventLoop& loop_now, CmId listening, std::function<void(VerbsRequest)> requested_now)
      : loop(loop_now),
        id(std::move(listening)),
        address(SocketAddress::copy_of(*rdma_get_local_addr(id.id.get()))),
        requested(std::move(requested_now)),
        again(loop_now, [this] { listen_again(); }) {}

  void watch() {
    events = std::make_unique<ReadableWatch>(loop, id.channel->fd,
                                             [weak = std::weak_ptr(shared_from_this())] {
                                               if (const auto self = weak.lock())
                                                 self->events_ready();
                                             });
    if (id.device) removal.emplace(id.device, loop, [this] { lost(); });
  }

  void events_ready() {
    // What is handled may end this, and with it the channel.
    while (const CmChannel channel = id.channel) {
      auto event = next_event(*channel);
      if (!event) return;
      if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) ask(std::move(*event));
      if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL && id.device) id.device->removed();
    }
  }
  void ask(CmEvent event) {
    CmId asking{id.channel, nullptr, Owned<rdma_cm_id>(event.id)};
    asking.take_device();
    PeerOffer offer{event.inbound_reads, event.outbound_reads, std::move(event.private_data)};
    requested(VerbsRequest::State::request_of(std::move(asking), std::move(offer)));
  }

  void lost() {
    log::warn("listener", address.text() +
                              ": the RDMA device was removed; listening again once there is one "
                              "with this address");
    stop();
    again.set(loop.now() + kPause);
  }
  void listen_again() {
    auto made = listen_at(address);
    if (!made) return again.set(loop.now() + kPause);
    id = std::move(*made);
    watch();
    log::info("listener", address.text() + ": listening again, by verbs");
  }
  void stop() {
    again.set({});
    events.reset();
    removal.reset();
    id.drop();
  }

  EventLoop& loop;
  CmId id;  // none while it has no device
  const SocketAddress address;
  std::function<void(VerbsRequest)> requested;
  std::unique_ptr<ReadableWatch> events;
  std::optional<RemovalNotice> removal;
  Timer again;
};

Result<std::unique_ptr<VerbsListener>> VerbsListener::open(
    EventLoop& loop, const std::string& host, std::uint16_t port,
    std::function<void(VerbsRequest)> requested) {
  auto id = listen_on(host, port);
  if (!id) return id.error();
  auto state = std::make_shared<State>(loop, std::move(*id), std::move(requested));
  state->watch();
  return std::unique_ptr<VerbsListener>(new VerbsListener(std::move(state)));
}

VerbsListener::VerbsListener(std::shared_ptr<State> state) : state_(std::move(state)) {}

VerbsListener::~VerbsListener() {
  state_->stop();
}

std::string VerbsListener::address() const {
  return state_->address.text();
}
std::uint16_t VerbsListener::port() const {
  return state_->address.port();
}

}  // namespace openiser::rdmap
