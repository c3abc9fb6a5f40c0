#include "target/device_builder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "target/start_error.h"

namespace openiser::target {

namespace {

// For what a daemon killed just now has left to the kernel to end.
constexpr std::chrono::seconds kLockWait{10};

Result<std::unique_ptr<Store>> open_store(const config::Lun& lun) {
  switch (lun.kind) {
    case config::Lun::Kind::memory:
      return make_memory_store(lun.size, lun.read_only);
    case config::Lun::Kind::null:
      return make_null_store(lun.size);
    case config::Lun::Kind::file:
      break;
  }
  return open_file_store(lun.path, lun.size, lun.read_only, kLockWait);
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

std::shared_ptr<LogicalUnit> build_unit(const std::string& target, const config::Lun& lun,
                                        StateFolder* state,
                                        const std::vector<PortGroupSettings>& groups) {
  const std::string name = target + " LUN " + std::to_string(lun.lun);
  auto store = open_store(lun);
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
  settings.state = state;
  settings.port_groups = groups;
  return make_logical_unit(target, std::move(settings), std::move(*store));
}

}  // namespace

CatalogueTarget build_target(const config::Target& target, StateFolder* state,
                             const std::vector<PortGroupSettings>& groups) {
  auto device = std::make_shared<TargetDevice>();
  device->name = normalised_name(target.name);
  for (const config::Lun& lun : target.luns) {
    device->units.emplace(lun.lun, build_unit(device->name, lun, state, groups));
  }
  return {std::move(device), target.alias, nullptr};
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
