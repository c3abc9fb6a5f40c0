#include <cerrno>
#include <utility>
#include <vector>

#include "rdmap/errors.h"
#include "rdmap/tcp/name_lookup.h"
#include "rdmap/verbs/cm.h"
#include "rdmap/verbs/queue_pair.h"
#include "rdmap/verbs/verbs.h"
#include "rdmap/verbs/verbs_errors.h"

namespace openiser::rdmap {

namespace {

int milliseconds(Duration time) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

// The name's addresses one after the other, until one has a device and a route.
struct VerbsConnect::State : std::enable_shared_from_this<State> {
  using Done = std::function<void(Result<std::unique_ptr<VerbsQueuePair>>)>;

  State(EventLoop& loop_now, BufferPool& pool_now, VerbsSettings settings_now, Done done_now)
      : loop(loop_now),
        pool(pool_now),
        settings(std::move(settings_now)),
        done(std::move(done_now)),
        lookup(loop),
        patience(loop, [this] {
          const auto self = shared_from_this();
          finish(error_of_opening(ETIMEDOUT));
        }) {}

  void start(const std::string& host, std::uint16_t port) {
    patience.set(loop.now() + settings.resolve_timeout);
    lookup.start(host, port, [self = shared_from_this()](auto all) {
      self->patience.set({});
      if (!all) return self->finish(all.error());
      self->found(std::move(*all));
    });
  }

  void found(std::vector<SocketAddress> all) {
    addresses = std::move(all);
    loop.post([self = shared_from_this()] {
      if (!self->finished) self->try_next();
    });
  }

  void try_next() {
    while (next < addresses.size()) {
      const Status begun = resolve_address(addresses[next++]);
      if (begun) return;
      why = begun.error();
    }
    finish(why);
  }

  Status resolve_address(SocketAddress address) {
    drop();
    auto channel = open_cm_channel();
    if (!channel) return channel.error();
    auto made = CmId::make(std::move(*channel));
    if (!made) return made.error();
    id = std::move(*made);
    watch = std::make_unique<ReadableWatch>(loop, id.channel->fd,
                                            [self = shared_from_this()] { self->events_ready(); });
    const int limit = milliseconds(settings.resolve_timeout);
    if (rdma_resolve_addr(id.id.get(), nullptr, address.get(), limit) != 0)
      return error_of_resolving(errno);
    return {};
  }

  void events_ready() {
    const auto self = shared_from_this();
    while (id.channel) {
      const auto event = next_event(*id.channel);
      if (!event) return;
      handle(*event);
    }
  }

  void handle(const CmEvent& event) {
    if (event.type == RDMA_CM_EVENT_ROUTE_RESOLVED) return resolved();
    if (event.type == RDMA_CM_EVENT_ADDR_RESOLVED) {
      id.take_device();
      if (rdma_resolve_route(id.id.get(), milliseconds(settings.resolve_timeout)) == 0) return;
      why = error_of_resolving(errno);
    } else {
      if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL && id.device) id.device->removed();
      why = error_of_event(event.type, event.status);
    }
    try_next();
  }

  void resolved() {
    watch.reset();
    finish(DeviceQueuePair::make(loop, pool, std::move(settings), std::move(id), std::nullopt));
  }

  void drop() {
    watch.reset();
    id.drop();
  }

  void finish(Result<std::unique_ptr<VerbsQueuePair>> result) {
    cancel();
    std::exchange(done, nullptr)(std::move(result));
  }

  void cancel() {
    finished = true;
    patience.set({});
    lookup.cancel();
    drop();
  }

  EventLoop& loop;
  BufferPool& pool;
  VerbsSettings settings;
  Done done;
  NameLookup lookup;
  Timer patience;  // with the look-up; the connection manager's steps have limits of their own
  std::vector<SocketAddress> addresses;
  std::size_t next = 0;
  CmId id;
  std::unique_ptr<ReadableWatch> watch;
  ErrorCode why = errc::verbs_no_device;
  bool finished = false;
};

VerbsConnect::VerbsConnect(EventLoop& loop, BufferPool& pool, const std::string& host,
                           std::uint16_t port, VerbsSettings settings, State::Done done)
    : state_(std::make_shared<State>(loop, pool, std::move(settings), std::move(done))) {
  state_->start(host, port);
}

VerbsConnect::~VerbsConnect() {
  state_->cancel();
}

}  // namespace openiser::rdmap
