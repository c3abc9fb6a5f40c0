// READ CAPACITY (SBC-3 sections 5.15 and 5.16).
#include <algorithm>
#include <array>
#include <bit>

#include "target/scsi/command.h"
#include "target/scsi/handlers.h"

namespace openiser::target {

void read_capacity_10(Command& command) {
  const Cdb cdb = command.cdb();
  const bool pmi = cdb.bit(8, 0);
  if (!pmi && cdb.be32(2) != 0) return command.fail(invalid_cdb(2));
  const LogicalUnit& unit = *command.unit();
  std::array<std::byte, 8> data;
  // All ones tell the initiator to ask with READ CAPACITY(16).
  store_be32(&data[0],
             static_cast<std::uint32_t>(std::min<std::uint64_t>(unit.blocks() - 1, UINT32_MAX)));
  store_be32(&data[4], unit.block_size());
  command.answer(data, data.size());
}

void read_capacity_16(Command& command) {
  const Cdb cdb = command.cdb();
  const bool pmi = cdb.bit(14, 0);
  if (!pmi && cdb.be64(2) != 0) return command.fail(invalid_cdb(2));
  const LogicalUnit& unit = *command.unit();
  std::array<std::byte, 32> data{};
  store_be64(&data[0], unit.blocks() - 1);
  store_be32(&data[8], unit.block_size());
  // Blocks in a physical block, as a power of two; the first is aligned.
  store_u8(&data[13], static_cast<std::uint8_t>(std::countr_zero(unit.physical_blocks())));
  if (unit.can_discard()) store_u8(&data[14], 0xc0);  // LBPME, LBPRZ
  command.answer(data, cdb.be32(10));
}

}  // namespace openiser::target
