// WRITE ATOMIC (16) (SBC-4 section 5.49): all of the blocks become the data, or none does, also
// over power cuts (atomic_writer.h). One at a time; other commands it does not hold back.
#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"
#include "target/scsi/nexus_state.h"

namespace openiser::target {
namespace {

class AtomicWriteJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    return write_job().prepare(command, slot);
  }
  // What goes with the process cannot be found torn: such a store is written to as ever.
  void submit(Command& command, StoreSlot& slot) const override {
    AtomicWriter* writer = command.unit()->atomic_writer();
    if (!writer) return Job::submit(command, slot);
    writer->submit(command.nexus().engine(), slot, command.nexus().mailbox());
  }
};
constexpr AtomicWriteJob kAtomicWrite;

void write_inside_gate(Command& command) {
  gather_pieces(command);
  command.run(kAtomicWrite);
}

void write_atomic_received(Command& command) {
  const Work& work = command.work();
  if (work.length == 0) return command.good(work.transfer_length);
  if (data_is_whole(command, work.length)) {
    command.wait_for_gate(command.unit()->gate(), write_inside_gate);
  }
}

}  // namespace

void write_atomic(Command& command) {
  if (!take_range(command, kMaxAtomicWrite)) return;
  constexpr std::size_t kAtomicBoundary = 10;
  if (command.cdb().be16(kAtomicBoundary) != 0) return command.fail(invalid_cdb(kAtomicBoundary));
  Work& work = command.work();
  work.force_unit_access |= command.cdb().bit(1, 3);
  cut_to_whole_blocks(command, command.data_out_size());
  command.receive(static_cast<std::uint32_t>(work.length), write_atomic_received);
}

}  // namespace openiser::target
