// TCP on loopback for tests: a loop that is run until something is true, connected pairs of
// sockets, and a stream endpoint that does what a test tells it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/stream_endpoint.h"
#include "rdmap/tcp/event_loop.h"
#include "rdmap/tcp/tcp.h"

namespace openiser::test {

// Runs `loop` on this thread until `condition` holds; false if it does not within `limit`.
inline bool run_until(rdmap::EventLoop& loop, const std::function<bool()>& condition,
                      Duration limit = std::chrono::seconds(20)) {
  const Time give_up = loop.now() + limit;
  std::function<void()> look = [&] {
    if (condition() || loop.now() >= give_up) return loop.stop();
    loop.post(look);
  };
  loop.post(look);
  loop.run();
  return condition();
}

struct SocketPair {
  rdmap::Socket first;
  rdmap::Socket second;
};

// Two ends of one TCP connection on loopback, both non-blocking. `buffer`: SO_SNDBUF and SO_RCVBUF,
// 0 for the system's.
inline SocketPair connected_pair(int buffer = 0) {
  const auto make = [buffer] {
    rdmap::Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (buffer != 0) {
      setsockopt(socket.fd(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
      setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    }
    return socket;
  };
  const rdmap::Socket listening = make();
  sockaddr_in address{};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listening.fd(), generic, size), 0);
  EXPECT_EQ(listen(listening.fd(), 1), 0);
  EXPECT_EQ(getsockname(listening.fd(), generic, &size), 0);
  SocketPair pair;
  pair.first = make();
  EXPECT_EQ(connect(pair.first.fd(), generic, size), 0);
  pair.second = rdmap::Socket(accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  for (const int fd : {pair.first.fd(), pair.second.fd()}) {
    EXPECT_GE(fd, 0);
    EXPECT_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
  }
  return pair;
}

// Closing `socket` sends a reset instead of an end.
inline void reset(rdmap::Socket& socket) {
  const linger none{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket.fd(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
  socket = rdmap::Socket();
}

// Keeps what it receives and sends what it is given, within the limits the test sets.
class ScriptedEndpoint : public StreamEndpoint {
 public:
  // Receive windows: each `window` bytes in `pieces` places; 0 takes nothing.
  std::size_t window = 65536;
  std::size_t pieces = 1;
  // Stops offering space when it holds this much.
  std::size_t capacity = SIZE_MAX;
  // At most so much in one piece of gather().
  std::size_t gather_piece = SIZE_MAX;
  bool echo = false;
  CloseWish wish = CloseWish::none;
  std::optional<Time> due;
  std::function<void()> on_received;
  std::function<void()> on_sent;
  std::function<void()> on_expired;
  std::function<void()> on_closed;

  // What has happened.
  std::string received_bytes;
  std::size_t sent_total = 0;
  int attached = 0;
  int closed = 0;
  int expirations = 0;
  ErrorCode why;
  StreamHost* host = nullptr;

  void send(std::string_view bytes) {
    output_ += bytes;
    if (host) host->attention();
  }
  void close(CloseWish how) {
    wish = how;
    if (host) host->attention();
  }
  void offer(std::size_t new_window) {
    window = new_window;
    if (host) host->attention();
  }
  std::size_t unsent() const { return output_.size() - output_used_; }
  std::string take_unsent() {
    return std::exchange(output_, {}).substr(std::exchange(output_used_, 0));
  }

  void attach(StreamHost* to) override {
    if (to) ++attached;
    host = to;
  }
  std::size_t receive_space(std::span<MutableBytes> into) override {
    if (received_bytes.size() >= capacity) return 0;
    const std::size_t size = std::min(window, capacity - received_bytes.size());
    if (size == 0) return 0;
    space_.assign(size, std::byte{0});
    const std::size_t n = std::min({pieces, into.size(), size});
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t begin = size * i / n;
      into[i] = MutableBytes(space_).subspan(begin, size * (i + 1) / n - begin);
    }
    return n;
  }
  void received(std::size_t n, Time) override {
    received_bytes += as_text(Bytes(space_).first(n));
    if (echo) output_ += as_text(Bytes(space_).first(n));
    if (on_received) on_received();
  }
  std::size_t gather(std::span<Bytes> out) override {
    std::size_t n = 0;
    Bytes rest = as_bytes(output_).subspan(output_used_);
    while (!rest.empty() && n < out.size()) {
      out[n++] = rest.first(std::min(rest.size(), gather_piece));
      rest = rest.subspan(out[n - 1].size());
    }
    return n;
  }
  void sent(std::size_t n, Time) override {
    output_used_ += n;
    sent_total += n;
    if (unsent() == 0) take_unsent();
    if (on_sent) on_sent();
  }
  void transport_closed(ErrorCode reason, Time) override {
    ++closed;
    why = reason;
    if (on_closed) on_closed();
  }
  std::optional<Time> deadline() const override { return due; }
  void expired(Time) override {
    ++expirations;
    due.reset();
    if (on_expired) on_expired();
  }
  CloseWish close_wish() const override { return wish; }

 private:
  std::vector<std::byte> space_;
  std::string output_;
  std::size_t output_used_ = 0;
};

// `n` bytes that differ from place to place and by `seed`.
inline std::string pattern(std::size_t n, unsigned seed = 1) {
  std::string text(n, '\0');
  std::uint32_t x = seed * 2654435761u + 1;
  for (char& c : text) {
    x = x * 1664525 + 1013904223;
    c = static_cast<char>(x >> 24);
  }
  return text;
}

}  // namespace openiser::test
