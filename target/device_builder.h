// From what the configuration says of a target to the SCSI device.
#pragma once

#include "config/settings.h"
#include "target/catalogue.h"

namespace openiser::target {

// Opens the stores. Throws StartError.
CatalogueTarget build_target(const config::Target& target);

}  // namespace openiser::target
