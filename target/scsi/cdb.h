// Reading command descriptor blocks (SPC-4 section 4.2).
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "iscsi/pdu/lun.h"

namespace openiser::target {

using iscsi::decode_lun;
using iscsi::encode_lun;

// A CDB as the opcode table found it whole: fields are read where the standards put them for its
// length.
class Cdb {
 public:
  explicit Cdb(Bytes cdb) : cdb_(cdb) {}

  std::uint8_t opcode() const { return u8(0); }
  std::uint8_t u8(std::size_t at) const { return load_u8(&cdb_[at]); }
  std::uint16_t be16(std::size_t at) const { return load_be16(&cdb_[at]); }
  std::uint32_t be32(std::size_t at) const { return load_be32(&cdb_[at]); }
  std::uint64_t be64(std::size_t at) const { return load_be64(&cdb_[at]); }
  bool bit(std::size_t at, unsigned bit) const { return (u8(at) >> bit & 1) != 0; }

 private:
  Bytes cdb_;
};

// The logical blocks that a 6, 10, 12 or 16 byte command of SBC-3 names. A transfer length of 0
// means 256 blocks in a 6-byte CDB, and none in others.
struct BlockRange {
  std::uint64_t lba = 0;
  std::uint32_t blocks = 0;
};
BlockRange decode_block_range(const Cdb& cdb);
// Where decode_block_range() finds the number of blocks.
std::uint16_t transfer_length_position(std::uint8_t opcode);

// The length the group code gives (SPC-4 section 4.2.5.1); 0 for groups without one.
std::size_t cdb_length_of_group(std::uint8_t opcode);

}  // namespace openiser::target
