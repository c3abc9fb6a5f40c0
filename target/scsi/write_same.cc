// WRITE SAME (SBC-3 sections 5.43 and 5.44).
#include <algorithm>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"

namespace openiser::target {
namespace {

constexpr std::size_t kPattern = std::size_t{256} << 10;

// Writes the one block over and over, many copies of it at a time.
class WriteSameJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    if (work.position == work.length) return Step::done;
    if (!work.scratch && !make_pattern(command)) return Step::wait_for_memory;
    slot.operation = StoreRequest::Operation::write;
    slot.force_unit_access = work.force_unit_access;
    slot.offset = work.offset + work.position;
    slot.length = std::min<std::uint64_t>(work.scratch.size(), work.length - work.position);
    slot.piece = work.scratch.bytes().first(slot.length);
    slot.pieces = {&slot.piece, 1};
    work.position += slot.length;
    return Step::submit;
  }

 private:
  static bool make_pattern(Command& command) {
    Work& work = command.work();
    const std::size_t block = command.unit()->block_size();
    work.scratch = command.take_buffer(std::min<std::uint64_t>(kPattern, work.length), block);
    if (!work.scratch) return false;
    const std::vector<std::byte> data = command.gather_data();
    for (std::size_t at = 0; at < work.scratch.size(); at += block) {
      std::memcpy(work.scratch.data() + at, data.data(), block);
    }
    return true;
  }
};
constexpr WriteSameJob kWriteSame;

bool all_zero(const iscsi::DataPieces& data, std::size_t length) {
  for (const Buffer& piece : data) {
    const Bytes bytes = Bytes(piece.bytes()).first(std::min(length, piece.size()));
    length -= bytes.size();
    if (!std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; })) return false;
  }
  return true;
}

// UNMAP asks for deallocation where that reads as the data does, and with LBPRZ zeros do; other
// data is written. (SBC-3 section 4.7.3.4)
void write_same_received(Command& command) {
  const std::size_t block = command.unit()->block_size();
  if (!data_is_whole(command, block)) return;
  command.run(all_zero(command.data(), block) ? zero_job() : kWriteSame);
}

}  // namespace

void write_same(Command& command) {
  const Cdb cdb = command.cdb();
  const std::uint32_t block = command.unit()->block_size();
  if (!take_range(command, std::uint64_t{kMaxWriteSameBlocks} * block)) return;
  Work& work = command.work();
  if (work.length == 0) return command.fail(invalid_cdb(transfer_length_position(cdb.opcode())));
  if (cdb.bit(1, 4)) return command.fail(invalid_cdb(1, 4));  // ANCHOR
  work.discard = cdb.bit(1, 3);
  if (work.discard && !command.unit()->can_discard()) return command.fail(invalid_cdb(1, 3));
  const bool no_data = cdb.opcode() == 0x93 && cdb.bit(1, 0);  // NDOB
  if (no_data) {
    work.transfer_length = 0;
    return command.run(zero_job());
  }
  // One block is what the command is about: less or more means that the initiator thinks of another
  // block size.
  if (command.data_out_size() != block) {
    return command.fail({.condition = Condition::invalid_field_in_cdb});
  }
  work.transfer_length = block;
  command.receive(block, write_same_received);
}

}  // namespace openiser::target
