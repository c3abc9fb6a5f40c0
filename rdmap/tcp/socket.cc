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
// At least: of the loopback, and of no other network.
constexpr int kLoopbackSegment = 65000;

using NameCall = int (*)(int, sockaddr*, socklen_t*);

std::string address_text(int fd, NameCall name_of) {
  SocketAddress address;
  if (name_of(fd, address.get(), &address.size) != 0) return "unknown";
  return address.text();
}

int option_of(int fd, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, level, name, &value, &size) == 0 ? value : 0;
}

// What a TCP segment on the path of `fd` could hold; 0 where that is not known.
int segment_of_path(int fd) {
  constexpr int kTcp = 20 + 12;  // with timestamps
  constexpr int kIpv4 = 20, kIpv6 = 40;
  if (const int mtu = option_of(fd, IPPROTO_IP, IP_MTU)) return mtu - kIpv4 - kTcp;
  const int mtu = option_of(fd, IPPROTO_IPV6, IPV6_MTU);
  return mtu != 0 ? mtu - kIpv6 - kTcp : 0;
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
  // Over the loopback TCP begins with segments of half the peer's first window.
  const int path = segment_of_path(fd_);
  const int segment = path > kLoopbackSegment ? path : option_of(fd_, IPPROTO_TCP, TCP_MAXSEG);
  return segment > 0 ? static_cast<std::uint32_t>(segment) : kUsualEmss;
}

}  // namespace openiser::rdmap
