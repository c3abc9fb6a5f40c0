#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/last_error.h"
#include "rdmap/tcp/address.h"
#include "rdmap/tcp/name_lookup.h"
#include "rdmap/tcp/socket.h"
#include "rdmap/tcp/tcp.h"

namespace openiser::rdmap {

namespace asio = boost::asio;

namespace {

ErrorCode timed_out() {
  return {ETIMEDOUT, boost::system::system_category()};
}

}  // namespace

// Looks the name up, then tries one address after the other. Each gets an equal part of the time
// that is left, so that one that swallows packets does not starve the next.
struct Connect::State : std::enable_shared_from_this<Connect::State> {
  State(EventLoop& loop, Duration timeout, std::function<void(Result<Socket>)> done_now)
      : loop(loop),
        context(*static_cast<asio::io_context*>(loop.io_context())),
        lookup(loop),
        descriptor(context),
        timer(loop, [this] { attempt_failed(timed_out()); }),
        give_up_at(loop.now() + timeout),
        done(std::move(done_now)) {}
  ~State() { close(); }

  void start(const std::string& host, std::uint16_t port) {
    timer.set(give_up_at);
    lookup.start(host, port, [self = shared_from_this()](auto all) {
      if (!all) return self->finish(all.error());
      self->addresses = std::move(*all);
      self->try_next();
    });
  }

  void try_next() {
    while (next < addresses.size()) {
      const Time now = loop.now();
      if (now >= give_up_at) return finish(timed_out());
      const auto left = static_cast<Duration::rep>(addresses.size() - next);
      timer.set(now + (give_up_at - now) / left);
      if (begin(addresses[next++])) return;
    }
    finish(last_failure);
  }

  // False, with last_failure, if the address is refused at once.
  bool begin(const SocketAddress& address) {
    socket = Socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.fd() < 0) return last_failure = last_error(), false;
    tune_connection(socket.fd());
    if (connect(socket.fd(), address.get(), address.size) != 0 && errno != EINPROGRESS) {
      return last_failure = last_error(), false;
    }
    descriptor.assign(socket.fd());
    descriptor.async_wait(asio::posix::descriptor_base::wait_write,
                          [self = shared_from_this()](const ErrorCode& error) {
                            // Cancelled: this attempt is over, and perhaps the next has begun.
                            if (!error && !self->finished) self->decided();
                          });
    return true;
  }

  void decided() {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return attempt_failed({error, boost::system::system_category()});
    descriptor.release();
    finish(std::move(socket));
  }

  void attempt_failed(ErrorCode why) {
    if (finished) return;
    last_failure = why;
    close();
    if (addresses.empty()) return finish(why);  // the resolver took all the time
    try_next();
  }

  void finish(Result<Socket> result) {
    cancel();
    std::exchange(done, nullptr)(std::move(result));
  }

  void close() {
    if (descriptor.is_open()) descriptor.release();
    socket = Socket();
  }

  void cancel() {
    finished = true;
    timer.set({});
    lookup.cancel();
    close();
  }

  EventLoop& loop;
  asio::io_context& context;
  NameLookup lookup;
  asio::posix::stream_descriptor descriptor;
  Timer timer;
  const Time give_up_at;
  std::function<void(Result<Socket>)> done;
  std::vector<SocketAddress> addresses;
  std::size_t next = 0;
  Socket socket;
  ErrorCode last_failure;
  bool finished = false;
};

Connect::Connect(EventLoop& loop, const std::string& host, std::uint16_t port, Duration timeout,
                 std::function<void(Result<Socket>)> done)
    : state_(std::make_shared<State>(loop, timeout, std::move(done))) {
  loop.defer([state = state_, host, port] {
    if (!state->finished) state->start(host, port);
  });
}

Connect::~Connect() {
  if (!state_->finished) state_->cancel();
}

}  // namespace openiser::rdmap
