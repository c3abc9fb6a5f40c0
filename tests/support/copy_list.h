// Parameter lists of EXTENDED COPY(LID1), byte by byte as SPC-4 has them.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/bytes.h"

namespace openiser::test {

struct CopyTargetBytes {
  ByteVector designator;
  std::uint8_t code_set = 1;
  std::uint8_t type = 3;  // NAA
  std::uint32_t block_length = 512;
  std::uint8_t descriptor_type = 0xe4;
  std::uint8_t flags = 0;  // byte 1: LU ID TYPE, NUL, device type

  ByteVector bytes() const {
    ByteVector all(32);
    store_u8(&all[0], descriptor_type);
    store_u8(&all[1], flags);
    store_u8(&all[4], code_set);
    store_u8(&all[5], type);
    store_u8(&all[7], static_cast<std::uint8_t>(designator.size()));
    std::copy_n(designator.begin(), std::min<std::size_t>(designator.size(), 20), &all[8]);
    store_be24(&all[29], block_length);
    return all;
  }
};

struct CopySegmentBytes {
  std::uint16_t source = 0;
  std::uint16_t destination = 1;
  std::uint64_t source_lba = 0;
  std::uint64_t destination_lba = 0;
  std::uint16_t blocks = 1;
  std::uint8_t flags = 0;  // DC 2, CAT 1
  std::uint8_t type = 0x02;
  std::uint16_t length = 24;

  ByteVector bytes() const {
    ByteVector all(28);
    store_u8(&all[0], type);
    store_u8(&all[1], flags);
    store_be16(&all[2], length);
    store_be16(&all[4], source);
    store_be16(&all[6], destination);
    store_be16(&all[10], blocks);
    store_be64(&all[12], source_lba);
    store_be64(&all[20], destination_lba);
    return all;
  }
};

inline ByteVector copy_list(const std::vector<CopyTargetBytes>& targets,
                            const std::vector<CopySegmentBytes>& segments, std::uint8_t id = 0,
                            std::uint8_t usage = 3) {
  ByteVector all(16);
  store_u8(&all[0], id);
  store_u8(&all[1], static_cast<std::uint8_t>(usage << 3));
  store_be16(&all[2], static_cast<std::uint16_t>(targets.size() * 32));
  store_be32(&all[8], static_cast<std::uint32_t>(segments.size() * 28));
  for (const auto& target : targets) all = all + target.bytes();
  for (const auto& segment : segments) all = all + segment.bytes();
  return all;
}

// EXTENDED COPY(LID1), or of 84h that service action of RECEIVE COPY RESULTS.
inline ByteVector copy_cdb(std::uint8_t opcode, std::uint32_t length, std::uint8_t action = 0,
                           std::uint8_t id = 0) {
  ByteVector cdb(16);
  store_u8(&cdb[0], opcode);
  store_u8(&cdb[1], action);
  store_u8(&cdb[2], id);
  store_be32(&cdb[10], length);
  return cdb;
}

}  // namespace openiser::test
