#include "rdmap/tcp/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "rdmap/tcp/address.h"
#include "rdmap/tcp/tcp.h"

namespace openiser::rdmap {

namespace {

// What an Ethernet path gives, where the kernel does not say.
constexpr std::uint32_t kUsualEmss = 1460;

using NameCall = int (*)(int, sockaddr*, socklen_t*);

std::string address_text(int fd, NameCall name_of) {
  SocketAddress address;
  if (name_of(fd, address.get(), &address.size) != 0) return "unknown";
  return address.text();
}

}  // namespace

// Buffer sizes stay the kernel's: it tunes them to the path, up to net.ipv4.tcp_rmem and tcp_wmem,
// and a size set by hand would end that and be cut to the smaller net.core limits. Reno where we
// may choose: the system's default may be BBR, whose pacing costs a local network much of its
// speed.
void tune_connection(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  constexpr std::string_view kReno = "reno";
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kReno.data(), kReno.size());
}

Socket::Socket(Socket&& other) noexcept : fd_(other.release()) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  Socket taken(std::move(other));
  std::swap(fd_, taken.fd_);
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

int Socket::release() {
  return std::exchange(fd_, -1);
}

std::string Socket::local_address() const {
  return address_text(fd_, getsockname);
}

std::string Socket::peer_address() const {
  return address_text(fd_, getpeername);
}

std::uint32_t Socket::emss() const {
  int segment = 0;
  socklen_t size = sizeof segment;
  if (getsockopt(fd_, IPPROTO_TCP, TCP_MAXSEG, &segment, &size) != 0 || segment <= 0) {
    return kUsualEmss;
  }
  return static_cast<std::uint32_t>(segment);
}

}  // namespace openiser::rdmap
