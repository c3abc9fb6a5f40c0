// One SCSI command from execute() to its end: what handlers work with. A handler looks at the CDB
// and calls one of good(), fail(), answer(), receive() and run(); none of them takes effect before
// the handler has returned.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "iscsi/session/target_session.h"
#include "target/scsi/cdb.h"
#include "target/scsi/opcode_table.h"
#include "target/scsi/sense.h"
#include "target/scsi/unit.h"

namespace openiser::target {

class Command;
class CopyOperation;
class Nexus;
struct UnitState;

// SAM-5 section 5.3.1
enum class ScsiStatus : std::uint8_t {
  good = 0x00,
  check_condition = 0x02,
  condition_met = 0x04,
  reservation_conflict = 0x18,
  task_aborted = 0x40,
};

// One store request of a command, with the buffer it works on.
class StoreSlot final : public StoreRequest {
 public:
  void done() override;

  Buffer buffer;
  // For requests on one stretch of memory.
  MutableBytes piece;
  // Whose store it is for: the command's unit, if a job sets none.
  LogicalUnit* unit = nullptr;

 private:
  friend class Command;
  Command* command_ = nullptr;
  bool complete_ = false;
};

// The store work of a command, a row of requests; stateless, its state is in the command.
class Job {
 public:
  // wait: for a request under way, of which there has to be one.
  enum class Step : std::uint8_t { submit, wait, wait_for_memory, done };

  // Fills in the next request, or says why there is none. Called again after waiting.
  virtual Step prepare(Command& command, StoreSlot& slot) const = 0;
  // Has the request carried out; by the store, unless a job says otherwise.
  virtual void submit(Command& command, StoreSlot& slot) const;
  // A request has succeeded. Called in the order of preparation.
  virtual void consume(Command& command, StoreSlot& slot) const { (void)command, (void)slot; }
  // A request has failed; what the command fails with.
  virtual Sense failure(Command& command, const StoreSlot& slot) const;
  // All have. Ends the command or runs another job.
  virtual void finish(Command& command) const;

 protected:
  ~Job() = default;
};

// The progress of a job.
struct Work {
  std::uint64_t offset = 0;    // in the store, bytes
  std::uint64_t length = 0;    // to be done, bytes
  std::uint64_t position = 0;  // of the next request, from 0 to length
  std::uint64_t consumed = 0;  // what consume() has seen
  // What the command was to transfer by its CDB: for residuals (RFC 7143 section 11.4.5.2).
  std::uint64_t transfer_length = 0;
  bool force_unit_access = false;
  bool discard = false;
  Buffer scratch;
  StoreSpace space;
  std::vector<BlockRange> ranges;    // of UNMAP
  std::vector<MutableBytes> pieces;  // the write data
  std::shared_ptr<CopyOperation> copy;
  void reset();
};

class Command {
 public:
  explicit Command(Nexus& nexus);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // --- for handlers and jobs ---
  Cdb cdb() const { return Cdb(task_->cdb); }
  const iscsi::TargetTask& task() const { return *task_; }
  Nexus& nexus() const { return nexus_; }
  // Null only for commands that answer for any LUN.
  LogicalUnit* unit() const { return unit_; }
  UnitState* unit_state() const { return unit_state_; }
  // There is a unit, and this nexus may not write to it.
  bool write_protected() const;
  // Bytes of data the initiator takes, and gives.
  std::uint32_t data_in_room() const;
  std::uint32_t data_out_size() const;
  // The transfer length of `length` bytes of read data: none of them are even presented when the
  // initiator has sent the command as a write.
  std::uint64_t presented(std::uint64_t length) const;

  // GOOD. `transfer_length`: as in TargetTask::finish().
  void good(std::uint64_t transfer_length = 0);
  // CONDITION MET, which is another GOOD.
  void condition_met();
  // CHECK CONDITION.
  void fail(const Sense& sense);
  // RESERVATION CONFLICT.
  void refuse_for_reservation();
  // GOOD with the first `allocation_length` bytes of `data` as read data.
  void answer(Bytes data, std::uint64_t allocation_length);
  // Fetches the first `length` bytes of write data, or what there is, then calls `then`; data() has
  // them.
  void receive(std::uint32_t length, Handler then);
  void run(const Job& job) { job_ = &job; }
  // Calls `then` when no other command is inside the gate; the pass is held to the end.
  void wait_for_gate(Gate& gate, Handler then);
  // Something outside of the store is under way for the command, until let_go(): it does not end
  // before, whatever comes.
  void hold() { ++under_way_; }
  void let_go();
  // GOOD, as good(), when the last copy of what is returned has gone, wherever that is.
  std::shared_ptr<void> good_when_let_go(std::uint64_t transfer_length);

  // Calls `then` once what is returned has been called, from any thread; if the command has ended
  // by then, nothing happens.
  std::function<void()> wait_for_call(Handler then);

  Work& work() { return work_; }
  const iscsi::DataPieces& data() const { return data_; }
  // Copies the write data together; for parameter lists and the like.
  std::vector<std::byte> gather_data() const;
  // Up to `size` bytes of the connection's memory. When the session is short of it: less, as long
  // as that is a multiple of `unit`, if the command has nothing under way that will end; else
  // empty.
  Buffer take_buffer(std::size_t size, std::size_t unit);
  // No store request is under way or waits to be consumed.
  bool is_idle() const { return head_ == tail_; }
  void send(Buffer data, std::uint64_t offset);

  // --- for the nexus ---
  void attach(iscsi::TargetTask& task, UnitState* state);
  void start(Handler handler);
  void data_received(iscsi::DataPieces& data);
  void memory_freed();
  // The session wants the task back: release() as soon as the store has let go of it.
  void abort();
  enum class Ending : std::uint8_t { none, answered, cleared, dropped, released };
  // The task set was cleared by another nexus: the command ends at the next advance(), with TASK
  // ABORTED (`how` is cleared), without a word (dropped) or with `sense` (answered). `token` is
  // held for as long as it can touch the store.
  void mark_cleared(std::shared_ptr<void> token, Ending how, const Sense& sense = {});
  // Goes as far as it can. Harmless at any time.
  void advance();
  void set_enabled(bool enabled) { enabled_ = enabled; }
  bool enabled() const { return enabled_; }
  // Back to where the constructor left it.
  void reset();

  Ending ending() const { return ending_; }
  iscsi::TargetTask& task() { return *task_; }
  ScsiStatus status() const { return status_; }
  const Sense& sense() const { return sense_; }
  std::uint64_t transfer_length() const { return transfer_length_; }

 private:
  friend class StoreSlot;
  static constexpr unsigned kSlots = 4;

  bool turn();
  bool consume();
  bool prepare();
  void conclude();
  StoreSlot& slot(unsigned n) { return slots_[n % kSlots]; }

  Nexus& nexus_;
  iscsi::TargetTask* task_ = nullptr;
  UnitState* unit_state_ = nullptr;
  LogicalUnit* unit_ = nullptr;

  Handler next_ = nullptr;  // to be called when there is neither data nor gate to wait for
  const Job* job_ = nullptr;
  bool enabled_ = false;  // its turn has come (TaskSet)
  bool advancing_ = false;
  bool awaiting_data_ = false;
  bool awaiting_memory_ = false;
  bool awaiting_call_ = false;
  bool prepared_all_ = false;
  Ending ending_ = Ending::none;

  ScsiStatus status_ = ScsiStatus::good;
  Sense sense_;
  std::uint64_t transfer_length_ = 0;

  // Requests head_ to tail_ - 1 have been prepared and not consumed; under_way_ of them are with
  // the store.
  std::array<StoreSlot, kSlots> slots_;
  unsigned head_ = 0;
  unsigned tail_ = 0;
  unsigned under_way_ = 0;

  Work work_;
  iscsi::DataPieces data_;
  std::vector<std::byte> answer_;
  std::vector<std::shared_ptr<void>> clear_tokens_;
  Gate::Pass pass_;
  std::uint64_t life_ = 0;  // which use of this object this is

  friend class AnswerJob;
};

}  // namespace openiser::target
