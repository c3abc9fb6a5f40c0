// CRC32C (Castagnoli), the digest of iSCSI (RFC 7143 section 13.1) and of MPA (RFC 5044
// section 4.4). Computed by ISA-L, which uses the machine's fastest instructions. On the wire the
// value goes out least significant byte first.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace openiser {

class Crc32c {
 public:
  Crc32c& update(Bytes bytes);
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = 0xffffffff;
};

inline std::uint32_t crc32c(Bytes bytes) {
  return Crc32c().update(bytes).value();
}

}  // namespace openiser
