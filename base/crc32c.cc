#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace openiser {

Crc32c& Crc32c::update(Bytes bytes) {
  constexpr std::size_t kStep = std::size_t{1} << 30;  // ISA-L takes the length as an int
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kStep);
    auto* start = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state_ = crc32_iscsi(start, static_cast<int>(n), state_);
    bytes = bytes.subspan(n);
  }
  return *this;
}

}  // namespace openiser
