// Logical units and the targets that hold them. Shared by all threads; what changes is guarded
// inside. Sessions reach them through a Nexus (nexus.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "target/scsi/port_groups.h"
#include "target/store/store.h"

namespace openiser::target {

class StateFolder;

struct LogicalUnitSettings {
  std::uint16_t lun = 0;                     // to 16383
  std::uint32_t block_size = 512;            // 512 or 4096
  std::uint32_t physical_block_size = 4096;  // a power of two from block_size to 1 MiB
  // Percent of the space there is, from which initiators are told that it is running out. 0: never.
  std::uint8_t soft_threshold = 0;
  std::uint64_t sanitize_rate = 0;  // bytes a second written at most; 0: no limit
  bool read_only = false;
  std::string vendor = "openiser";  // at most 8 characters
  std::string product = "disk";     // at most 16
  std::string revision = "0001";    // at most 4
  // Unit serial number and the seed of the NAA identifier. Empty: derived from target name and LUN,
  // so it is the same after a restart.
  std::string serial;
  // All that nexuses come in through.
  std::vector<PortGroupSettings> port_groups{PortGroupSettings{}};
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

// Accesses the unit through these groups in another way from now on, whatever was set by command;
// any thread. Sessions that use the unit get a unit attention if that changes a state. Tags that
// the unit has not are passed over.
void change_port_groups(LogicalUnit& unit, std::span<const PortGroupSettings> groups);

// The portal groups that the unit's target is served through from now on, which initiators are told
// of; none: all of them. Any thread. Sessions that use the unit get a unit attention if that
// changes something.
void serve_through(LogicalUnit& unit, std::span<const std::uint16_t> tags);

// Makes a unit on a file at least `size` bytes large, and tells its sessions, as check_capacity()
// does. Other stores keep the size they were made with: generic error EOPNOTSUPP.
Status grow(LogicalUnit& unit, std::uint64_t size);

// The sessions of a target: mailbox.h.
class NexusList;
std::shared_ptr<NexusList> make_nexus_list();

// The SCSI device of an iSCSI target, as an initiator sees it: fixed from its first session on. A
// target whose initiators see different LUNs has several, which share logical units and sessions.
struct TargetDevice {
  std::string name;                                             // the IQN
  std::map<std::uint16_t, std::shared_ptr<LogicalUnit>> units;  // by LUN
  std::set<std::uint16_t> read_only;  // LUNs that take no writes here, whatever the unit does
  std::shared_ptr<NexusList> nexuses = make_nexus_list();
};

// What an initiator of that name sees; null: what it saw before.
using DeviceChoice =
    std::function<std::shared_ptr<const TargetDevice>(const std::string& initiator_name)>;
// Any thread: every session there is sees from now on what `choose` gives, called on its thread.
// What it no longer sees takes no new commands, and finishes those it has. Where something has
// changed it is told (REPORTED LUNS DATA HAS CHANGED).
void change_devices(NexusList& nexuses, const DeviceChoice& choose);

}  // namespace openiser::target
