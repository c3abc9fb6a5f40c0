#include "tests/bench/ping_pong/connections.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include <array>
#include <string_view>

#include "tests/bench/ping_pong/check.h"

namespace openiser::bench {
namespace {

constexpr std::string_view kReno = "reno";

}  // namespace

Connections::Connections(const Options& options, Side side)
    : options_(options), payload_(options, side), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

void Connections::add(Descriptor socket) {
  const int fd = socket.get(), on = 1;
  check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
  check(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kReno.data(), kReno.size()), "reno");
  check(fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
  Connection& connection = connections_.emplace_back(std::move(socket), options_, payload_);
  epoll_event event{EPOLLIN, {.ptr = &connection}};
  check(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
  ready_.push_back({&connection, true});
}

const std::vector<Connections::Ready>& Connections::wait() {
  if (options_.spin) return ready_;  // all of them, as add() left them
  std::array<epoll_event, 64> events{};
  const int n = epoll_wait(epoll_.get(), events.data(), events.size(), -1);
  ready_.clear();
  for (int i = 0; i < n; ++i) {
    const epoll_event& e = events[static_cast<std::size_t>(i)];
    ready_.push_back({static_cast<Connection*>(e.data.ptr), (e.events & ~EPOLLOUT) != 0});
  }
  return ready_;
}

void Connections::flush(Connection& connection) {
  const bool full = !connection.sender.flush();
  if (full == connection.full) return;
  connection.full = full;
  if (options_.spin) return;
  epoll_event event{full ? EPOLLIN | EPOLLOUT : EPOLLIN, {.ptr = &connection}};
  check(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.socket.get(), &event), "epoll_ctl");
}

bool Connections::turn(const OnMessages& on_messages) {
  for (const auto& [connection, readable] : wait()) {
    if (readable) {
      const Receiver::Got got = connection->receiver.receive();
      if (got.closed) return false;
      connection->sender.owe(got.messages);
      if (got.messages > 0) on_messages(*connection, got.messages);
    }
    flush(*connection);
  }
  return true;
}

}  // namespace openiser::bench
