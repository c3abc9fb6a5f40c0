// The SCSI side of what iSCSI itself has to report: sense data of the conditions that end a task at
// the target, the data segment that carries sense, and residuals (RFC 7143 section 11.4).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/buffer.h"
#include "base/bytes.h"

namespace openiser::iscsi {

inline constexpr std::uint8_t kStatusGood = 0x00;
inline constexpr std::uint8_t kStatusCheckCondition = 0x02;
// SPC-4 section 4.5.1: sense data is at most this long.
inline constexpr std::size_t kMaxSense = 252;

enum class Condition : std::uint8_t {
  unexpected_unsolicited_data,
  incorrect_amount_of_data,
  // A sequence error, which at ErrorRecoveryLevel 0 is treated as a digest error (section 7.9).
  protocol_service_crc,
  // Not iSCSI's: the write would never fit into the session's memory.
  insufficient_resources,
};

// SenseLength and `sense`, cut to kMaxSense (section 11.4.7); empty for no sense.
Buffer sense_segment(Bytes sense);
// The same for a condition: ABORTED COMMAND in fixed format.
Buffer sense_segment(Condition condition);
// The sense data in a received data segment; empty if there is none or it is malformed.
Bytes sense_in(Bytes segment);

// Section 11.4.5: overflow and underflow exclude each other.
struct Residual {
  bool overflow = false;
  bool underflow = false;
  std::uint32_t count = 0;
};

// `presented`: what the SCSI layer wanted to transfer (SPDTL).
constexpr Residual residual_of(std::uint64_t presented, std::uint32_t expected) {
  if (presented < expected) return {false, true, static_cast<std::uint32_t>(expected - presented)};
  if (presented == expected) return {};
  return {true, false,
          static_cast<std::uint32_t>(std::min<std::uint64_t>(presented - expected, UINT32_MAX))};
}

}  // namespace openiser::iscsi
