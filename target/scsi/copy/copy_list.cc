#include "target/scsi/copy/copy_list.h"

#include <algorithm>

namespace openiser::target {
namespace {

Sense at_byte(Condition condition, std::size_t byte) {
  return {.condition = condition,
          .field = FieldPointer{.in_cdb = false, .byte = static_cast<std::uint16_t>(byte)}};
}

constexpr Sense kTooShort{.condition = Condition::parameter_list_length_error};

std::optional<Sense> read_usage(Bytes bytes, CopyList& list) {
  list.identifier = load_u8(&bytes[0]);
  const std::uint8_t usage = load_u8(&bytes[1]) >> 3 & 3;
  if (usage == 1) return invalid_parameter(1);
  list.usage = static_cast<CopyList::Usage>(usage);
  if (list.usage == CopyList::Usage::no_identifier && list.identifier != 0) {
    return invalid_parameter(0);
  }
  return {};
}

// SPC-4 section 6.4.5.7, which ignores LU ID TYPE and has no NUL any more (byte 1). PAD (byte 28,
// bit 2) says what to do with a part of a block, and there is none that is copied.
std::optional<Sense> read_target(Bytes bytes, std::size_t at, CopyTarget& target) {
  const Bytes descriptor = bytes.subspan(at, kCopyTargetSize);
  if (load_u8(&descriptor[0]) != kIdentificationDescriptor) {
    return at_byte(Condition::unsupported_copy_target_type, at);
  }
  target.device_type = load_u8(&descriptor[1]) & 0x1f;
  target.code_set = load_u8(&descriptor[4]) & 0x0f;
  target.association = load_u8(&descriptor[5]) >> 4 & 3;
  target.designator_type = load_u8(&descriptor[5]) & 0x0f;
  target.designator_length = load_u8(&descriptor[7]);
  if (target.designator_length > target.designator.size()) {
    return invalid_parameter(at + 7);
  }
  std::ranges::copy(descriptor.subspan(8, target.designator.size()), target.designator.begin());
  target.block_length = load_be24(&descriptor[29]);
  return {};
}

// SPC-4 section 6.4.6.3. CAT (byte 1, bit 0) is about parts of blocks, too.
std::optional<Sense> read_segment(Bytes bytes, std::size_t at, CopySegment& segment) {
  if (load_u8(&bytes[at]) != kBlockToBlock) {
    return at_byte(Condition::unsupported_copy_segment_type, at);
  }
  if (bytes.size() - at < kCopySegmentSize) return kTooShort;
  const Bytes descriptor = bytes.subspan(at, kCopySegmentSize);
  if (load_be16(&descriptor[2]) != kCopySegmentSize - 4) {
    return invalid_parameter(at + 2);
  }
  segment.counts_destination_blocks = (load_u8(&descriptor[1]) & 2) != 0;
  segment.source = load_be16(&descriptor[4]);
  segment.destination = load_be16(&descriptor[6]);
  segment.blocks = load_be16(&descriptor[10]);
  segment.source_lba = load_be64(&descriptor[12]);
  segment.destination_lba = load_be64(&descriptor[20]);
  return {};
}

}  // namespace

std::optional<Sense> read_copy_list(Bytes bytes, CopyList& list) {
  if (bytes.size() < kCopyListHeader) return kTooShort;
  if (auto fault = read_usage(bytes, list)) return fault;
  const std::uint64_t targets = load_be16(&bytes[2]);
  const std::uint64_t segments = load_be32(&bytes[8]);
  if (load_be32(&bytes[12]) != 0) return at_byte(Condition::inline_data_length_exceeded, 12);
  const std::uint64_t end = kCopyListHeader + targets + segments;
  if (end > bytes.size() || targets % kCopyTargetSize != 0) return kTooShort;
  if (targets > kMaxCopyTargets * kCopyTargetSize) {
    return at_byte(Condition::too_many_copy_targets, 2);
  }
  if (segments > kMaxCopySegments * kCopySegmentSize) {
    return at_byte(Condition::too_many_copy_segments, 8);
  }
  bytes = bytes.first(end);
  std::size_t at = kCopyListHeader;
  for (; at < kCopyListHeader + targets; at += kCopyTargetSize) {
    if (auto fault = read_target(bytes, at, list.targets.emplace_back())) return fault;
  }
  for (; at < end; at += kCopySegmentSize) {
    if (auto fault = read_segment(bytes, at, list.segments.emplace_back())) return fault;
  }
  return {};
}

}  // namespace openiser::target
