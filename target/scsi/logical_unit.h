// Logical units and the targets that hold them. Shared by all threads; what changes is guarded
// inside. Sessions reach them through a Nexus (nexus.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "target/store/store.h"

namespace openiser::target {

class StateFolder;

struct LogicalUnitSettings {
  std::uint16_t lun = 0;
  std::uint32_t block_size = 512;  // 512 or 4096
  bool read_only = false;
  std::string vendor = "openiser";  // at most 8 characters
  std::string product = "disk";     // at most 16
  std::string revision = "0001";    // at most 4
  // Unit serial number and the seed of the NAA identifier. Empty: derived from target name and LUN,
  // so it is the same after a restart.
  std::string serial;
  // Where the unit keeps what outlives the daemon; outlives the unit. Null: nothing does.
  StateFolder* state = nullptr;
};

// One LUN: its store and what SCSI keeps about it. Defined in logical_unit.cc; the device server is
// its user.
class LogicalUnit;

std::shared_ptr<LogicalUnit> make_logical_unit(const std::string& target_name,
                                               LogicalUnitSettings settings,
                                               std::unique_ptr<Store> store);

// The store may have another size than when last looked at: any thread, by whoever knows of it.
// Sessions that use the unit get a unit attention if it has.
void check_capacity(LogicalUnit& unit);

// The SCSI device of an iSCSI target.
struct TargetDevice {
  std::string name;  // the IQN
  std::map<std::uint16_t, std::shared_ptr<LogicalUnit>> units;
};

}  // namespace openiser::target
