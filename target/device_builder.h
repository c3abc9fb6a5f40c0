// From what the configuration says of a target to the SCSI device.
#pragma once

#include "config/settings.h"
#include "target/catalogue.h"
#include "target/state_file.h"

namespace openiser::target {

// Opens the stores, and what units have kept in `state` (null: they keep nothing), which has to
// outlive them. Throws StartError.
CatalogueTarget build_target(const config::Target& target, StateFolder* state);

}  // namespace openiser::target
