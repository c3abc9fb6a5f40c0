#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <utility>

#include "base/last_error.h"
#include "base/log.h"
#include "rdmap/tcp/address.h"
#include "rdmap/tcp/socket.h"
#include "rdmap/tcp/tcp.h"

namespace openiser::rdmap {

namespace asio = boost::asio;

namespace {

constexpr int kBacklog = 1024;
// Connections accepted in one turn.
constexpr int kAcceptsPerTurn = 16;
// When the process or the system has run out of descriptors or memory: the connection stays in the
// backlog, and asking again at once would only burn the processor.
constexpr Duration kPause = std::chrono::milliseconds(200);

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

Result<Socket> listen_at(const SocketAddress& address, bool both_families) {
  Socket socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return last_error();
  const int on = 1;
  const int ipv6_only = both_families ? 0 : 1;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) {
    setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &ipv6_only, sizeof ipv6_only);
  }
  if (bind(socket.fd(), address.get(), address.size) != 0) return last_error();
  if (listen(socket.fd(), kBacklog) != 0) return last_error();
  return socket;
}

// All addresses of this machine: one IPv6 socket takes both families; without IPv6, an IPv4 one.
Result<Socket> listen_everywhere(std::uint16_t port) {
  ErrorCode why;
  for (const char* any : {"::", "0.0.0.0"}) {
    const auto addresses = look_up(any, port, Lookup::numeric);
    if (!addresses) return addresses.error();
    auto socket = listen_at(addresses->front(), true);
    if (socket || socket.error().value() != EAFNOSUPPORT) return socket;
    why = socket.error();
  }
  return why;
}

Result<Socket> listen_on(const std::string& host, std::uint16_t port) {
  if (host.empty()) return listen_everywhere(port);
  const auto addresses = look_up(host, port, Lookup::to_listen);
  if (!addresses) return addresses.error();
  return listen_at(addresses->front(), false);
}

SocketAddress bound_address(int fd) {
  SocketAddress address;
  getsockname(fd, address.get(), &address.size);
  return address;
}

}  // namespace

struct Listener::State : std::enable_shared_from_this<Listener::State> {
  State(EventLoop& loop, Socket listening, std::function<void(Socket)> accepted_now)
      : socket(std::move(listening)),
        address(bound_address(socket.fd())),
        descriptor(*static_cast<asio::io_context*>(loop.io_context()), socket.fd()),
        accepted(std::move(accepted_now)),
        loop(loop),
        pause(loop, [this] { wait(); }) {}
  ~State() {
    if (descriptor.is_open()) descriptor.release();
  }

  void wait() {
    descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                          [self = shared_from_this()](const ErrorCode& error) {
                            if (!error && !self->destroyed) self->accept_some();
                          });
  }

  void accept_some() {
    for (int i = 0; i < kAcceptsPerTurn && !destroyed; ++i) {
      Socket peer(accept4(socket.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (peer.fd() < 0) {
        if (is_shortage(errno)) return out_of_resources();
        if (errno == EAGAIN) break;
        continue;  // the connection died in the backlog (accept(2))
      }
      short_of_resources = false;
      tune_connection(peer.fd());
      accepted(std::move(peer));
    }
    if (!destroyed) wait();
  }

  void out_of_resources() {
    const ErrorCode why = last_error();
    if (!std::exchange(short_of_resources, true)) {
      log::warn("listener",
                address.text() + ": cannot accept connections: " + why.message() + "; trying on");
    }
    pause.set(loop.now() + kPause);
  }

  void destroy() {
    destroyed = true;
    pause.set({});
    descriptor.release();
    socket = Socket();
  }

  Socket socket;
  const SocketAddress address;
  asio::posix::stream_descriptor descriptor;
  const std::function<void(Socket)> accepted;
  EventLoop& loop;
  Timer pause;
  bool short_of_resources = false;
  bool destroyed = false;
};

Result<std::unique_ptr<Listener>> Listener::open(EventLoop& loop, const std::string& host,
                                                 std::uint16_t port,
                                                 std::function<void(Socket)> accepted) {
  auto socket = listen_on(host, port);
  if (!socket) return socket.error();
  auto state = std::make_shared<State>(loop, std::move(*socket), std::move(accepted));
  state->wait();
  return std::unique_ptr<Listener>(new Listener(std::move(state)));
}

Listener::Listener(std::shared_ptr<State> state) : state_(std::move(state)) {}

Listener::~Listener() {
  state_->destroy();
}

std::string Listener::address() const {
  return state_->address.text();
}

std::uint16_t Listener::port() const {
  return state_->address.port();
}

}  // namespace openiser::rdmap
