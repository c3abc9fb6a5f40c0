// The outcome of a SCSI command as an error: a SAM status, or sense key and additional sense code,
// in words.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace openiser::initiator {

struct Sense {
  bool valid = false;
  std::uint8_t key = 0;
  std::uint16_t code = 0;  // ASC << 8 | ASCQ
};

// Fixed or descriptor format (SPC-4 section 4.5).
Sense parse_sense(Bytes sense);
// Such as "ILLEGAL_REQUEST: LBA_OUT_OF_RANGE (5/21/00)", in libiscsi's words.
std::string in_words(const Sense& sense);

// Values are SAM status in bits 24 to 31, sense key (80h for none) in 16 to 23, ASC and ASCQ below.
const ErrorCategory& scsi_category();
ErrorCode scsi_error(std::uint8_t status, Bytes sense);
// Whether `error` is a CHECK CONDITION with that sense key.
bool has_sense_key(ErrorCode error, std::uint8_t key);

inline constexpr std::uint8_t kCheckCondition = 0x02;
inline constexpr std::uint8_t kUnitAttention = 0x06;

}  // namespace openiser::initiator
