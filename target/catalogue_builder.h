// From the configuration to a catalogue. Opens stores, so it takes its time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "target/catalogue.h"
#include "target/credentials.h"
#include "target/device_builder.h"
#include "target/start_error.h"

namespace openiser::target {

// Of a start: without portals. Throws StartError when a disk cannot be had.
std::shared_ptr<Catalogue> build_catalogue(const config::Daemon& config,
                                           const Credentials& credentials,
                                           const UnitCommons& commons);

// Of a reload: as `next` wants it, with the logical units of `now` wherever they are what it says;
// files may have grown. What cannot be done is left as it is, and told in `troubles`.
std::shared_ptr<Catalogue> rebuild_catalogue(const config::Daemon& next,
                                             const Credentials& credentials,
                                             const UnitCommons& commons, const Catalogue& now,
                                             std::vector<std::string>& troubles);

// None for a redirect without host.
std::optional<Redirection> redirection_of(const config::Redirect& redirect);

}  // namespace openiser::target
