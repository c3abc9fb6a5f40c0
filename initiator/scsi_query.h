// Control commands, built and decoded by libiscsi's scsi-lowlevel functions, carried by our
// Session. Waits for each answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "initiator/block_device.h"
#include "initiator/session.h"

namespace openiser::initiator {

// What a LUN says about itself.
struct LunDescription {
  BlockDeviceProperties properties;
  std::uint8_t device_type = 0;
  std::string designator;  // NAA or EUI-64 in hexadecimal, or a name; may be empty
  std::vector<std::uint8_t> vpd_pages;
  std::uint32_t max_unmap_descriptors = 0;
  std::uint32_t unmap_granularity = 0;
  std::uint64_t max_write_same_blocks = 0;
  bool thin = false;
  bool reads_zero_after_unmap = false;
  std::uint16_t rotation_rate = 0;  // 1: not rotating
};

// The LUNs of the session's target (REPORT LUNS). Throws SessionError.
std::vector<std::uint16_t> report_luns(Session& session);

// Waits until the unit is ready, then asks for everything. Throws SessionError, in particular when
// there is no such LUN.
LunDescription describe_lun(Session& session, std::uint16_t lun);

}  // namespace openiser::initiator
