// The parameter list of EXTENDED COPY(LID1) (SPC-4 sections 6.4.3 to 6.4.6): what is to be copied,
// as it was sent. Whom the designators name, and whether the blocks are there, is not looked at.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "target/scsi/sense.h"

namespace openiser::target {

// Limits told to initiators (RECEIVE COPY RESULTS, VPD page 8F) and held to.
inline constexpr std::uint16_t kMaxCopyTargets = 8;
inline constexpr std::uint16_t kMaxCopySegments = 64;
inline constexpr std::size_t kCopyTargetSize = 32;
inline constexpr std::size_t kCopySegmentSize = 28;
inline constexpr std::size_t kCopyListHeader = 16;
inline constexpr std::uint32_t kMaxCopyDescriptors =
    kMaxCopyTargets * kCopyTargetSize + kMaxCopySegments * kCopySegmentSize;
// As much as a segment descriptor can say, of the largest blocks; bytes.
inline constexpr std::uint32_t kMaxCopySegmentLength = 0xffff * 4096U;

// Descriptor type codes (SPC-4 tables 110 and 125).
inline constexpr std::uint8_t kBlockToBlock = 0x02;
inline constexpr std::uint8_t kIdentificationDescriptor = 0xe4;

// The descriptor index that means the logical unit the command was sent to.
inline constexpr std::uint16_t kThisUnit = 0xffff;

// An identification descriptor target descriptor.
struct CopyTarget {
  std::uint8_t device_type = 0;
  std::uint8_t code_set = 0;
  std::uint8_t association = 0;
  std::uint8_t designator_type = 0;
  std::uint8_t designator_length = 0;  // at most 20
  std::array<std::byte, 20> designator{};
  std::uint32_t block_length = 0;

  Bytes id() const { return Bytes(designator).first(designator_length); }
};

// Block device to block device.
struct CopySegment {
  bool counts_destination_blocks = false;  // DC
  std::uint16_t source = 0;                // index of its target descriptor, or kThisUnit
  std::uint16_t destination = 0;
  std::uint16_t blocks = 0;
  std::uint64_t source_lba = 0;
  std::uint64_t destination_lba = 0;
};

struct CopyList {
  // LIST ID USAGE
  enum class Usage : std::uint8_t { hold = 0, do_not_hold = 2, no_identifier = 3 };

  std::uint8_t identifier = 0;
  Usage usage = Usage::hold;
  std::vector<CopyTarget> targets;
  std::vector<CopySegment> segments;
};

// Reads `bytes` into `list`; what is wrong with them, if something is.
std::optional<Sense> read_copy_list(Bytes bytes, CopyList& list);

}  // namespace openiser::target
