// From the configuration to a logical unit on its store.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "target/scsi/logical_unit.h"
#include "target/state_file.h"

namespace openiser::target {

// What all units of a daemon share.
struct UnitCommons {
  StateFolder* state = nullptr;  // what units keep, and outlives them; null: they keep nothing
  std::vector<PortGroupSettings> groups{};  // port_groups() of the daemon
};

// Opens the store, whose file's lock is waited for so long, and what the unit has kept. Throws
// StartError.
std::shared_ptr<LogicalUnit> build_unit(const std::string& target, const config::Lun& lun,
                                        const UnitCommons& commons,
                                        std::chrono::milliseconds lock_wait);

// The portal groups, each once.
std::vector<PortGroupSettings> port_groups(const config::Daemon& config);

}  // namespace openiser::target
