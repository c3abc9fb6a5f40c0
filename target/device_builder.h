// From what the configuration says of a target to the SCSI device.
#pragma once

#include <vector>

#include "config/settings.h"
#include "target/catalogue.h"
#include "target/state_file.h"

namespace openiser::target {

// Opens the stores, and what units have kept in `state` (null: they keep nothing), which has to
// outlive them. `groups`: port_groups() of the daemon. Throws StartError.
CatalogueTarget build_target(const config::Target& target, StateFolder* state,
                             const std::vector<PortGroupSettings>& groups);

// The portal groups, each once.
std::vector<PortGroupSettings> port_groups(const config::Daemon& config);

}  // namespace openiser::target
