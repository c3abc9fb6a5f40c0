// ORWRITE (SBC-3 section 5.7): the blocks become what they were, or'ed with the data. Atomic among
// commands of this kind and COMPARE AND WRITE; other writes are not held back.
#include <algorithm>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"

namespace openiser::target {
namespace {

// Ors `bytes` into the write data from `at` on.
void or_into(const iscsi::DataPieces& data, std::uint64_t at, Bytes bytes) {
  for (const Buffer& piece : data) {
    if (at >= piece.size()) {
      at -= piece.size();
      continue;
    }
    const MutableBytes here = piece.bytes().subspan(at);
    const std::size_t size = std::min(here.size(), bytes.size());
    for (std::size_t i = 0; i < size; ++i) here[i] |= bytes[i];
    bytes = bytes.subspan(size);
    at = 0;
    if (bytes.empty()) return;
  }
}

class OrJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    return prepare_comparison(command, slot);
  }
  void consume(Command& command, StoreSlot& slot) const override {
    or_into(command.data(), command.work().consumed, slot.piece);
    command.work().consumed += slot.length;
  }
  void finish(Command& command) const override {
    command.work().position = 0;
    gather_pieces(command);
    command.run(write_job());
  }
};
constexpr OrJob kOr;

void or_blocks(Command& command) {
  command.run(kOr);
}

void orwrite_received(Command& command) {
  if (data_is_whole(command, command.work().length))
    command.wait_for_gate(command.unit()->gate(), or_blocks);
}

}  // namespace

void orwrite(Command& command) {
  if (!take_range(command, kMaxTransfer)) return;
  Work& work = command.work();
  work.force_unit_access |= command.cdb().bit(1, 3);
  cut_to_whole_blocks(command, command.data_out_size());
  command.receive(static_cast<std::uint32_t>(work.length), orwrite_received);
}

}  // namespace openiser::target
