// PRE-FETCH (SBC-3 sections 5.8 and 5.9): advice to the store, which it may take.
#include <algorithm>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"

namespace openiser::target {
namespace {

// As much of a range as the store is told of; for more there is no room in its cache.
constexpr std::uint64_t kMaxPrefetch = std::uint64_t{64} << 20;

// CONDITION MET says that all of the range is in memory; GOOD, that it may not be.
class PrefetchJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    if (work.position == work.length) return Step::done;
    slot.operation = StoreRequest::Operation::prefetch;
    slot.offset = work.offset;
    slot.length = std::min(work.length, kMaxPrefetch);
    work.position = work.length;
    return Step::submit;
  }
  void consume(Command& command, StoreSlot& slot) const override {
    if (slot.is_cached) command.work().consumed = slot.length;
  }
  void finish(Command& command) const override {
    const Work& work = command.work();
    if (work.consumed == work.length) return command.condition_met();
    command.good();
  }
};
constexpr PrefetchJob kPrefetch;

}  // namespace

// IMMED makes no difference: nothing is waited for. A length of 0 means to the end.
void prefetch(Command& command) {
  const BlockRange range = decode_block_range(command.cdb());
  const LogicalUnit& unit = *command.unit();
  if (range.blocks == 0 ? range.lba >= unit.blocks() : !unit.contains(range)) {
    return command.fail(lba_out_of_range({.byte = 2}));
  }
  Work& work = command.work();
  const std::uint64_t blocks = range.blocks == 0 ? unit.blocks() - range.lba : range.blocks;
  work.offset = range.lba * unit.block_size();
  work.length = blocks * unit.block_size();
  command.run(kPrefetch);
}

}  // namespace openiser::target
