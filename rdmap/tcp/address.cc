#include "rdmap/tcp/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <cstring>
#include <memory>

#include "base/last_error.h"

namespace openiser::rdmap {

namespace {

class ResolverCategory final : public ErrorCategory {
 public:
  const char* name() const noexcept override { return "resolver"; }
  std::string message(int code) const override { return gai_strerror(code); }
};

ErrorCode resolver_error(int code) {
  static const ResolverCategory category;
  if (code == EAI_SYSTEM) return last_error();
  return {code, category};
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  return host + ':' + std::to_string(port);
}

std::string without_brackets(const std::string& host) {
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return host;
  return host.substr(1, host.size() - 2);
}

std::string ipv6_text(const sockaddr_in6& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
    inet_ntop(AF_INET, &address.sin6_addr.s6_addr[12], text.data(), text.size());
    return text.data();
  }
  inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
  return std::string("[") + text.data() + ']';
}

}  // namespace

SocketAddress SocketAddress::copy_of(const sockaddr* address, socklen_t size) {
  SocketAddress copy;
  copy.size = size;
  std::memcpy(&copy.storage, address, size);
  return copy;
}

SocketAddress SocketAddress::copy_of(const sockaddr& address) {
  return copy_of(&address,
                 address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
}

std::uint16_t SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  if (family() == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  }
  return 0;
}

SocketAddress SocketAddress::with_port(std::uint16_t port) const {
  SocketAddress copy = *this;
  // Where both families have it.
  reinterpret_cast<sockaddr_in*>(copy.get())->sin_port = htons(port);
  return copy;
}

bool SocketAddress::is_wildcard() const {
  if (family() == AF_INET6) {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(storage);
    return IN6_IS_ADDR_UNSPECIFIED(&ipv6.sin6_addr);
  }
  return family() == AF_INET &&
         reinterpret_cast<const sockaddr_in&>(storage).sin_addr.s_addr == INADDR_ANY;
}

std::string SocketAddress::text() const {
  if (family() == AF_INET6) {
    return host_and_port(ipv6_text(*reinterpret_cast<const sockaddr_in6*>(&storage)), port());
  }
  if (family() != AF_INET) return "unknown";
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, text.data(),
            text.size());
  return host_and_port(text.data(), port());
}

Result<std::vector<SocketAddress>> look_up(const std::string& host, std::uint16_t port,
                                           Lookup kind) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (kind == Lookup::numeric) hints.ai_flags |= AI_NUMERICHOST;
  if (kind == Lookup::to_listen) hints.ai_flags |= AI_PASSIVE;
  const std::string name = without_brackets(host);
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(name.empty() ? nullptr : name.c_str(),
                                  std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) return resolver_error(failure);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each; each = each->ai_next) {
    if (each->ai_addrlen > sizeof(sockaddr_storage)) continue;
    addresses.push_back(SocketAddress::copy_of(each->ai_addr, each->ai_addrlen));
  }
  if (addresses.empty()) return resolver_error(EAI_NONAME);
  return addresses;
}

}  // namespace openiser::rdmap
