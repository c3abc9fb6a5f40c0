#include "target/device_builder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "target/start_error.h"

namespace openiser::target {

namespace {

Result<std::unique_ptr<Store>> open_store(const config::Lun& lun,
                                          std::chrono::milliseconds lock_wait) {
  switch (lun.kind) {
    case config::Lun::Kind::memory:
      return make_memory_store(lun.size, lun.read_only);
    case config::Lun::Kind::null:
      return make_null_store(lun.size);
    case config::Lun::Kind::file:
      break;
  }
  return open_file_store(lun.path, lun.size, lun.read_only, lock_wait);
}

AccessState access_state_of(config::Portal::Alua configured) {
  switch (configured) {
    case config::Portal::Alua::active_optimized:
      break;
    case config::Portal::Alua::active_non_optimized:
      return AccessState::active_non_optimized;
    case config::Portal::Alua::standby:
      return AccessState::standby;
    case config::Portal::Alua::unavailable:
      return AccessState::unavailable;
    case config::Portal::Alua::transitioning:
      return AccessState::transitioning;
  }
  return AccessState::active_optimized;
}

}  // namespace

std::shared_ptr<LogicalUnit> build_unit(const std::string& target, const config::Lun& lun,
                                        const UnitCommons& commons,
                                        std::chrono::milliseconds lock_wait) {
  const std::string name = target + " LUN " + std::to_string(lun.lun);
  auto store = open_store(lun, lock_wait);
  if (!store) {
    throw StartError(name + ": cannot open " + lun.path + ": " + store.error().message());
  }
  log::info("target", name + ": " + (*store)->properties().description);
  LogicalUnitSettings settings;
  settings.lun = lun.lun;
  settings.block_size = lun.block_size;
  settings.read_only = lun.read_only;
  settings.vendor = lun.vendor;
  settings.product = lun.product;
  settings.serial = lun.serial;
  settings.state = commons.state;
  settings.port_groups = commons.groups;
  return make_logical_unit(target, std::move(settings), std::move(*store));
}

std::vector<PortGroupSettings> port_groups(const config::Daemon& config) {
  std::vector<PortGroupSettings> groups;
  for (const config::Portal& portal : config.portals) {
    if (std::ranges::find(groups, portal.tag, &PortGroupSettings::tag) != groups.end()) continue;
    groups.push_back({portal.tag, access_state_of(portal.alua), portal.preferred});
  }
  return groups;
}

}  // namespace openiser::target
