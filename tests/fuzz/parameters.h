// What a login settled, as the flags byte of an input says: the same meaning for both roles.
#pragma once

#include <algorithm>
#include <cstdint>

#include "iscsi/login/parameters.h"

namespace openiser::fuzz {

inline iscsi::Parameters parameters_of(std::uint8_t flags, std::uint32_t first_burst_length,
                                       std::uint32_t max_cmd_sn) {
  iscsi::Parameters p;
  p.tsih = 1;
  p.initial_r2t = (flags & 1) != 0;
  p.immediate_data = (flags & 2) != 0;
  if ((flags & 4) != 0) p.session_type = iscsi::SessionType::discovery;
  if ((flags & 8) != 0) p.header_digest = iscsi::Digest::crc32c;
  if ((flags & 16) != 0) p.data_digest = iscsi::Digest::crc32c;
  if ((flags & 32) != 0) p.max_send_data_segment_length = p.max_burst_length = 512;
  if ((flags & 64) != 0) p.max_outstanding_r2t = 4;
  if ((flags & 128) != 0) p.protocol_level = 2;
  p.first_burst_length = std::min(p.max_burst_length, first_burst_length);
  p.max_cmd_sn = max_cmd_sn;
  return p;
}

}  // namespace openiser::fuzz
