// System calls that have to work.
#pragma once

#include <cerrno>
#include <system_error>

namespace openiser::bench {

// Throws std::system_error where `result` is negative.
inline void check(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace openiser::bench
