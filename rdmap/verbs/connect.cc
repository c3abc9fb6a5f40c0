#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "rdmap/errors.h"
#include "rdmap/tcp/address.h"
#include "rdmap/verbs/cm.h"
#include "rdmap/verbs/queue_pair.h"
#include "rdmap/verbs/verbs.h"
#include "rdmap/verbs/verbs_errors.h"

namespace openiser::rdmap {

namespace asio = boost::asio;

namespace {

SocketAddress address_of(const asio::ip::tcp::endpoint& endpoint) {
  SocketAddress address;
  address.size = static_cast<socklen_t>(endpoint.size());
  std::memcpy(&address.storage, endpoint.data(), endpoint.size());
  return address;
}

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
        resolver(*static_cast<asio::io_context*>(loop.io_context())) {}

  void start(const std::string& host, std::uint16_t port) {
    if (auto literal = look_up(host, port, Lookup::numeric)) return found(std::move(*literal));
    resolver.async_resolve(
        host, std::to_string(port), asio::ip::resolver_base::numeric_service,
        [self = shared_from_this()](const ErrorCode& error, const auto& results) {
          if (self->finished) return;
          if (error) return self->finish(error);
          std::vector<SocketAddress> all;
          for (const auto& each : results) all.push_back(address_of(each.endpoint()));
          self->found(std::move(all));
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
      return error_of_opening(errno);
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
      if (rdma_resolve_route(id.id.get(), milliseconds(settings.resolve_timeout)) == 0) return;
      why = error_of_opening(errno);
    } else {
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
    id.id.reset();
    id.channel.reset();
  }

  void finish(Result<std::unique_ptr<VerbsQueuePair>> result) {
    drop();
    finished = true;
    std::exchange(done, nullptr)(std::move(result));
  }

  void cancel() {
    finished = true;
    resolver.cancel();
    drop();
  }

  EventLoop& loop;
  BufferPool& pool;
  VerbsSettings settings;
  Done done;
  asio::ip::tcp::resolver resolver;
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
