// COMPARE AND WRITE (SBC-3 section 5.3): the data is what the blocks have to hold, and what they
// hold from then on. Commands of this kind exclude each other; other writes they do not exclude.
#include <algorithm>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"

namespace openiser::target {
namespace {

// Drops the first `length` bytes from the write data's pieces.
void skip_pieces(std::vector<MutableBytes>& pieces, std::uint64_t length) {
  auto piece = pieces.begin();
  for (; length >= piece->size(); ++piece) length -= piece->size();
  *piece = piece->subspan(length);
  pieces.erase(pieces.begin(), piece);
}

class CompareFirstHalf final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    return prepare_comparison(command, slot);
  }
  // SBC-3: INFORMATION is where in the data the first difference is.
  void consume(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    const std::uint64_t at = work.consumed;
    work.consumed += slot.length;
    if (const auto offset = first_difference(command.data(), at, slot.piece)) {
      command.fail({.condition = Condition::miscompare, .information = at + *offset});
    }
  }
  void finish(Command& command) const override {
    Work& work = command.work();
    work.position = 0;
    gather_pieces(command);
    skip_pieces(work.pieces, work.length);
    command.run(write_job());
  }
};
constexpr CompareFirstHalf kCompare;

void compare(Command& command) {
  command.run(kCompare);
}

void compare_and_write_received(Command& command) {
  if (data_is_whole(command, command.work().transfer_length))
    command.wait_for_gate(command.unit()->gate(), compare);
}

}  // namespace

void compare_and_write(Command& command) {
  if (!take_range(command,
                  std::uint64_t{kMaxCompareAndWriteBlocks} * command.unit()->block_size())) {
    return;
  }
  Work& work = command.work();
  work.force_unit_access |= command.cdb().bit(1, 3);
  work.transfer_length = 2 * work.length;
  if (command.data_out_size() != work.transfer_length) {
    return command.fail({.condition = Condition::invalid_field_in_cdb});
  }
  if (work.length == 0) return command.good();
  command.receive(static_cast<std::uint32_t>(work.transfer_length), compare_and_write_received);
}

}  // namespace openiser::target
