// Serial number arithmetic modulo 2^32 (RFC 1982, as RFC 7143 section 4.2.2.1 uses it for CmdSN,
// StatSN and DataSN, and RFC 5041 section 5.3 for MSN).
#pragma once

#include <cstdint>

namespace openiser {

constexpr bool serial_less(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}
constexpr bool serial_less_equal(std::uint32_t a, std::uint32_t b) {
  return !serial_less(b, a);
}

}  // namespace openiser
