#include "target/scsi/cdb.h"

namespace openiser::target {
namespace {

// The one whose TRANSFER LENGTH has two bytes, behind those of ATOMIC BOUNDARY (SBC-4
// section 5.49).
constexpr std::uint8_t kWriteAtomic16 = 0x9c;

}  // namespace

std::size_t cdb_length_of_group(std::uint8_t opcode) {
  constexpr std::array<std::size_t, 8> kLengths{6, 10, 10, 0, 16, 12, 0, 0};
  return kLengths[opcode >> 5];
}

BlockRange decode_block_range(const Cdb& cdb) {
  switch (cdb_length_of_group(cdb.opcode())) {
    case 6: {
      const std::uint32_t lba = (cdb.u8(1) & 0x1fU) << 16 | cdb.be16(2);
      return {lba, cdb.u8(4) == 0 ? 256U : cdb.u8(4)};
    }
    case 10:
      return {cdb.be32(2), cdb.be16(7)};
    case 12:
      return {cdb.be32(2), cdb.be32(6)};
    default:
      if (cdb.opcode() == kWriteAtomic16) return {cdb.be64(2), cdb.be16(12)};
      return {cdb.be64(2), cdb.be32(10)};
  }
}

std::uint16_t transfer_length_position(std::uint8_t opcode) {
  switch (cdb_length_of_group(opcode)) {
    case 6:
      return 4;
    case 10:
      return 7;
    case 12:
      return 6;
    default:
      return opcode == kWriteAtomic16 ? 12 : 10;
  }
}

}  // namespace openiser::target
