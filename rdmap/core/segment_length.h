// Into what a message is cut where segments are large: equal ones, as a small one behind full ones
// would have the receiver stage the next message along with it.
#pragma once

#include <cstddef>

namespace openiser::rdmap {

// The next of the `segments` that `left` bytes go in: a multiple of 4, so that it needs no padding.
inline std::size_t equal_segment(std::size_t left, std::size_t segments) {
  const std::size_t equal = (left + segments - 1) / segments;
  return (equal + 3) / 4 * 4;
}

}  // namespace openiser::rdmap
