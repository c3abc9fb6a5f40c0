#include "rdmap/verbs/verbs.h"

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

}  // namespace

bool verbs_device_carries(const std::string& host) {
  if (!any_device()) return false;
  if (host.empty()) return true;
  const auto addresses = look_up(host, 0, Lookup::to_listen);
  if (!addresses) return false;
  for (const SocketAddress& each : *addresses) {
    if (each.is_wildcard() || binds(each)) return true;
  }
  return false;
}

}  // namespace openiser::rdmap
