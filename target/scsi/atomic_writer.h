// Atomic writes to a store that can be found half written after a crash. The data is first saved in
// a state file, the journal; then it is written in place; then the journal is removed, for good,
// and only then does the write end. A journal that the next start finds is written in place again.
// That cannot undo what came later: no command that began after this write had ended finds a
// journal. One that wrote to the same blocks meanwhile may turn out to have come first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "target/scsi/mailbox.h"
#include "target/state_file.h"
#include "target/store/store.h"

namespace openiser::target {

class LogicalUnit;

// The journal of a unit. Content: offset in the store (8 bytes), length of the store's description
// (2 bytes), description, data; big endian.
StateFile atomic_journal(const StateFolder& folder, const std::string& target_name,
                         std::uint16_t lun);

// Finishes the write that a crash has interrupted, if there was one; blocks. Throws StartError
// where it cannot, also when the journal is that of another store.
void finish_atomic_write(Store& store, const StateFile& journal);

// Of one unit, for one write at a time (Gate), on the thread of its nexus.
class AtomicWriter final : private StoreRequest {
 public:
  // Both outlive it.
  AtomicWriter(LogicalUnit& unit, StateFile journal, StateWriter& writer)
      : unit_(unit), journal_(std::move(journal)), writer_(writer) {}

  // As Store::submit(), for a write of at most kMaxAtomicWrite bytes; `home` is that of the thread.
  // With an error the blocks hold what they did; EIO where that is the journal's, which is logged.
  // Should neither the old nor the new data find its way to the blocks, or the journal not go, then
  // the unit refuses to be written to (unit_flag::unfinished_write) until a restart finishes it.
  void submit(StoreEngine& engine, StoreRequest& request, std::shared_ptr<Mailbox> home);

 private:
  enum class Step : std::uint8_t { read_old, write_new, write_old, flush_old, read_back };

  void start(Step step, Operation operation, std::span<const MutableBytes> pieces);
  void start(Step step, Operation operation, std::vector<std::byte>& bytes);
  void done() override;
  void save();
  void saved(ErrorCode save, ErrorCode removal);
  void remove();
  void removed(ErrorCode removal);
  void leave_unfinished(const std::string& why);
  void end(ErrorCode error);
  std::vector<std::byte> content() const;

  LogicalUnit& unit_;
  const StateFile journal_;
  StateWriter& writer_;

  // Of the write under way.
  StoreEngine* engine_ = nullptr;
  StoreRequest* request_ = nullptr;
  std::shared_ptr<Mailbox> home_;
  Step step_ = Step::read_old;
  MutableBytes piece_;
  std::vector<std::byte> old_;    // what the blocks held
  std::vector<std::byte> saved_;  // the journal's content; then what is read back
  ErrorCode failure_;             // of the write in place
};

}  // namespace openiser::target
