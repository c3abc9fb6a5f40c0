#include "target/scsi/cdb.h"

#include <algorithm>

namespace openiser::target {
namespace {

// The one whose TRANSFER LENGTH has two bytes, behind those of ATOMIC BOUNDARY (SBC-4
// section 5.49).
constexpr std::uint8_t kWriteAtomic16 = 0x9c;

bool all_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

std::optional<std::uint32_t> decode_lun(const iscsi::Lun& lun) {
  const Bytes bytes(lun);
  const std::uint8_t first = load_u8(&lun[0]);
  switch (first >> 6) {
    case 0:  // peripheral device addressing; the bus identifier is in the low bits
      if (first != 0 || !all_zero(bytes.subspan(2))) return {};
      return load_u8(&lun[1]);
    case 1:  // flat space
      if (!all_zero(bytes.subspan(2))) return {};
      return load_be16(&lun[0]) & 0x3fffU;
    case 3:  // extended: length 1 (four bytes), method 2 is flat space
      if (first != 0xd2 || !all_zero(bytes.subspan(4))) return {};
      return load_be24(&lun[1]);
    default:
      return {};
  }
}

iscsi::Lun encode_lun(std::uint16_t lun) {
  iscsi::Lun encoded{};
  store_be16(encoded.data(), static_cast<std::uint16_t>(lun < 256 ? lun : 0x4000 | lun));
  return encoded;
}

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
