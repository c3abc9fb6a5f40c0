// A TCP connection, entirely in a test's hands: any bytes out, what comes back in, each
// wait bounded so that a hang is a failure. Never sleeps.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "rdmap/tcp/tcp.h"

namespace openiser::test {

inline sockaddr_in loopback_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

class RawSocket {
 public:
  // Connects to a port of this host.
  explicit RawSocket(std::uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = loopback_address(port);
    EXPECT_EQ(connect(fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    tune();
  }
  // One that is connected.
  explicit RawSocket(rdmap::Socket connected) : socket_(std::move(connected)) { tune(); }

  // False once the connection is gone, or when nobody takes the bytes.
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno != EAGAIN || !wait(POLLOUT)) {
        return false;
      }
    }
    return true;
  }
  bool write(Bytes bytes) { return write(as_text(bytes)); }

  // `n` bytes, or fewer if the connection ends.
  std::string read(std::size_t n) {
    std::string bytes(n, '\0');
    std::size_t got = 0;
    while (got < n) {
      const std::size_t more = receive(bytes.data() + got, n - got);
      if (more == 0) break;
      got += more;
    }
    bytes.resize(got);
    return bytes;
  }

  // Whether the other side has closed or reset; what it still sends is dropped.
  bool sees_end() {
    char dropped[4096];
    while (receive(dropped, sizeof dropped) != 0) {
    }
    return !timed_out_;
  }

  // Whether neither bytes nor an end have come so far.
  bool is_open() {
    char next;
    return recv(fd(), &next, 1, MSG_PEEK) < 0 && errno == EAGAIN;
  }

  void half_close() { shutdown(fd(), SHUT_WR); }
  void close() { socket_ = rdmap::Socket(); }
  // The other side sees a reset instead of an end.
  void reset() {
    const linger none{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close();
  }

 private:
  int fd() const { return socket_.fd(); }
  void tune() {
    const int one = 1;
    setsockopt(fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd(), F_SETFL, O_NONBLOCK);
  }
  static constexpr int kPatienceMs = 20000;

  bool wait(short events) {
    pollfd waiting{.fd = fd(), .events = events, .revents = 0};
    if (poll(&waiting, 1, kPatienceMs) > 0) return true;
    timed_out_ = true;
    return false;
  }
  // 0 at the end of the connection.
  std::size_t receive(char* into, std::size_t size) {
    while (true) {
      const ssize_t n = recv(fd(), into, size, 0);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EAGAIN || !wait(POLLIN)) return 0;
    }
  }

  rdmap::Socket socket_;
  bool timed_out_ = false;
};

}  // namespace openiser::test
