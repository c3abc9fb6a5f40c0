#include "rdmap/verbs/verbs.h"

#include <netinet/in.h>

#include <utility>

#include "rdmap/tcp/address.h"
#include "rdmap/verbs/cm.h"

namespace openiser::rdmap {

bool verbs_built() {
  return true;
}

std::string verbs_version() {
  return std::string("rdma-core ") + OPENISER_RDMA_CORE_VERSION;
}

namespace {

bool any_device() {
  int count = 0;
  ibv_device** const all = ibv_get_device_list(&count);
  if (!all) return false;
  ibv_free_device_list(all);
  return count > 0;
}

bool binds(SocketAddress address) {
  auto channel = open_cm_channel();
  if (!channel) return false;
  auto id = CmId::make(std::move(*channel));
  if (!id || !id->bind(address)) return false;
  id->take_device();
  return id->device != nullptr;
}

bool is_wildcard(const SocketAddress& address) {
  if (address.family() == AF_INET6) {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    return IN6_IS_ADDR_UNSPECIFIED(&ipv6.sin6_addr);
  }
  return reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr.s_addr == INADDR_ANY;
}

}  // namespace

bool verbs_device_carries(const std::string& host) {
  if (!any_device()) return false;
  if (host.empty()) return true;
  const auto addresses = look_up(host, 0, Lookup::to_listen);
  if (!addresses) return false;
  for (const SocketAddress& each : *addresses) {
    if (is_wildcard(each) || binds(each)) return true;
  }
  return false;
}

}  // namespace openiser::rdmap
