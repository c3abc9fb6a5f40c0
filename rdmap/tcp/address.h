// Socket addresses as text, and names looked up.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace openiser::rdmap {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);

  // A copy of `size` bytes, those of a sockaddr_storage at most.
  static SocketAddress copy_of(const sockaddr* address, socklen_t size);
  // The same for one of IPv4 or IPv6, whose size follows from its family.
  static SocketAddress copy_of(const sockaddr& address);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  std::uint16_t port() const;
  // Of IPv4 or IPv6.
  SocketAddress with_port(std::uint16_t port) const;
  // Every address of this machine: 0.0.0.0, or ::.
  bool is_wildcard() const;
  // "127.0.0.1:3260", "[::1]:3260"; an IPv4 peer of an IPv6 socket looks like IPv4.
  std::string text() const;
};

enum class Lookup : std::uint8_t {
  numeric,     // literal addresses alone: never blocks
  to_connect,  // names too: may block for as long as the resolver likes
  to_listen,   // the same; an empty host is every address of this machine
};

// At least one address, or the resolver's error. "[::1]" is taken as "::1".
Result<std::vector<SocketAddress>> look_up(const std::string& host, std::uint16_t port,
                                           Lookup kind);

}  // namespace openiser::rdmap
