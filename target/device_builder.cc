#include "target/device_builder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "target/scsi/atomic_writer.h"
#include "target/start_error.h"

namespace openiser::target {

namespace {

Result<std::unique_ptr<Store>> open_store(const config::Lun& lun,
                                          std::chrono::milliseconds lock_wait) {
  switch (lun.kind) {
    case config::Lun::Kind::memory:
      try {
        return make_memory_store(lun.size, lun.read_only);
      } catch (const std::system_error& error) {
        return ErrorCode(error.code().value(), boost::system::system_category());
      }
    case config::Lun::Kind::null:
      return make_null_store(lun.size);
    case config::Lun::Kind::file:
      break;
  }
  return open_file_store(
      lun.path,
      {.size = lun.size, .read_only = lun.read_only, .direct = lun.direct, .lock_wait = lock_wait});
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
    const bool not_direct = lun.direct && store.error().value() == EOPNOTSUPP;
    throw StartError(name + ": cannot open " +
                     (lun.kind == config::Lun::Kind::memory ? "memory" : lun.path) + ": " +
                     (not_direct ? "its file system has no direct I/O; leave direct out"
                                 : store.error().message()));
  }
  log::info("target", name + ": " + (*store)->properties().description);
  if (commons.state && !(*store)->properties().volatile_content) {
    finish_atomic_write(**store, atomic_journal(*commons.state, target, lun.lun));
  }
  LogicalUnitSettings settings;
  settings.lun = lun.lun;
  settings.block_size = lun.block_size;
  settings.physical_block_size = lun.physical_block_size;
  settings.sanitize_rate = lun.sanitize_rate;
  settings.soft_threshold = static_cast<std::uint8_t>(lun.soft_threshold);
  settings.read_only = lun.read_only;
  settings.vendor = lun.vendor;
  settings.product = lun.product;
  settings.serial = lun.serial;
  settings.state = commons.state;
  settings.port_groups = commons.groups;
  try {
    return make_logical_unit(target, std::move(settings), std::move(*store));
  } catch (const std::invalid_argument& wrong) {
    throw StartError(name + ": " + wrong.what());
  }
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
