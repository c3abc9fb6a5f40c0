// READ, WRITE and SYNCHRONIZE CACHE (SBC-3 sections 5.10 to 5.13, 5.28 and following).
#include <algorithm>
#include <utility>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"

namespace openiser::target {
namespace {

// A read is cut into pieces, up to four of which are under way: the first can go out while the
// next are being read, and a long read takes little memory.
class ReadJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    const Work& work = command.work();
    if (work.position == work.length) return Step::done;
    return read_piece(command, slot, take_piece(command));
  }
  void consume(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    const std::uint64_t at = work.consumed;
    work.consumed += slot.length;
    command.send(std::move(slot.buffer), at);
  }
};
constexpr ReadJob kRead;

// FUA on a read: the data has to come from the medium, so what is in the cache goes there first
// (SBC-3 section 5.10).
class FlushThenReadJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    return flush_job().prepare(command, slot);
  }
  void finish(Command& command) const override {
    command.work().position = 0;
    command.run(kRead);
  }
};
constexpr FlushThenReadJob kFlushThenRead;

void write_received(Command& command) {
  if (!data_is_whole(command, command.work().length)) return;
  gather_pieces(command);
  command.run(write_job());
}

bool force_unit_access(const Cdb& cdb) {
  return cdb_length_of_group(cdb.opcode()) != 6 && cdb.bit(1, 3);
}

}  // namespace

void read_blocks(Command& command) {
  if (!take_range(command, kMaxTransfer)) return;
  Work& work = command.work();
  // No more is read than will be sent, in whole blocks.
  const std::uint64_t block = command.unit()->block_size();
  const std::uint64_t room = (command.data_in_room() + block - 1) / block * block;
  work.length = std::min(work.length, room);
  work.transfer_length = command.presented(work.transfer_length);
  const bool fua = force_unit_access(command.cdb()) && command.unit()->volatile_cache();
  command.run(fua && work.length != 0 ? static_cast<const Job&>(kFlushThenRead) : kRead);
}

void write_blocks(Command& command) {
  if (!take_range(command, kMaxTransfer)) return;
  Work& work = command.work();
  work.force_unit_access |= force_unit_access(command.cdb());
  cut_to_whole_blocks(command, command.data_out_size());
  command.receive(static_cast<std::uint32_t>(work.length), write_received);
}

// The whole cache is flushed, whatever the range; with IMMED, too, status comes when that is done.
void synchronize_cache(Command& command) {
  const BlockRange range = decode_block_range(command.cdb());
  if (!command.unit()->contains(range)) {
    return command.fail(lba_out_of_range({.byte = 2}));
  }
  command.run(flush_job());
}

}  // namespace openiser::target
