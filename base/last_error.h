#pragma once

#include <cerrno>

#include "base/result.h"

namespace openiser {

// The system's error of the call that just failed.
inline ErrorCode last_error() {
  return {errno, boost::system::system_category()};
}

}  // namespace openiser
