// How many file descriptors the process may have: a LUN on a file takes one, a connection another.
#pragma once

#include "config/settings.h"

namespace openiser::target {

// Raises the limit to what the system allows. Throws StartError where that is too little for the
// LUNs of `config`, and warns where it is for its connections.
void provide_descriptors(const config::Daemon& config);

}  // namespace openiser::target
