// The inside of a nexus (nexus.h): its logical units, the commands under way, and what other
// nexuses ask of it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "target/scsi/command.h"
#include "target/scsi/copy/copy_records.h"
#include "target/scsi/mailbox.h"
#include "target/scsi/nexus.h"
#include "target/scsi/task_set.h"

namespace openiser::target {

// On its loop's thread, all of it.
class Nexus final : public iscsi::TaskHandler {
 public:
  Nexus(std::shared_ptr<const TargetDevice> device, NexusIdentity identity, rdmap::EventLoop& loop,
        StoreEngine& engine);
  ~Nexus() override;
  Nexus(const Nexus&) = delete;
  Nexus& operator=(const Nexus&) = delete;

  // --- TaskHandler ---
  void execute(iscsi::TargetTask& task) override;
  void data_received(iscsi::TargetTask& task, iscsi::DataPieces& data) override;
  void abort(iscsi::TargetTask& task) override;
  void manage(iscsi::TaskManagementFunction function, const iscsi::Lun& lun,
              std::function<void(iscsi::TaskManagementAnswer)> done) override;
  void memory_freed() override;
  void nexus_lost() override;

  // --- for commands ---
  const NexusIdentity& identity() const { return identity_; }
  const ItNexus& i_t_nexus() const { return i_t_nexus_; }
  const TargetDevice& device() const { return *device_; }
  // How many units it has addressed, and keeps something about.
  std::size_t units_kept() const { return units_.size() + removed_.size(); }
  // The condition is over, whichever unit it was raised for.
  void clear_attention(Condition condition);
  StoreEngine& engine() { return engine_; }
  CopyRecords& copies() { return copies_; }
  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
  void wait_for_memory(Command& command);
  // That many bytes of the unit have been changed, or (`full`) found no room.
  void count_change(UnitState& state, std::uint64_t length, bool full = false);
  // Runs `done` on this nexus's thread when the last copy of what is returned has gone, wherever
  // that is; also when a copy was posted to a nexus that was gone before it looked.
  std::shared_ptr<void> call_when_let_go(std::function<void()> done);
  // The command is over: answers the task and takes the command back.
  void conclude(Command& command);

  // --- posted by others; `lun`: LogicalUnit::lun() ---
  void raise(std::uint16_t lun, Condition condition);
  struct Clearing {
    std::shared_ptr<void> token;  // let go of by tasks when they no longer touch the store
    Command::Ending how;
    Sense sense = {};  // with Ending::answered
  };
  // Clears this nexus's tasks of a unit, also of one it no longer sees, but `except`; whether there
  // were any.
  bool clear_tasks(const LogicalUnit& unit, const Clearing& clearing,
                   const Command* except = nullptr);
  // The same by another nexus, with `how` from ending_for_others().
  void clear_for_another(const LogicalUnit& unit, const std::shared_ptr<void>& token,
                         Command::Ending how);
  // The session sees this now; see change_devices().
  void change_device(std::shared_ptr<const TargetDevice> next);

 private:
  Command& take_command();
  UnitState* find_unit(const iscsi::Lun& lun);
  std::vector<Command*> tasks_of(const LogicalUnit& unit) const;
  UnitState& state_of(std::uint16_t lun, const std::shared_ptr<LogicalUnit>& unit);
  void remove(UnitState& state);
  void forget_removed();
  void leave(const UnitState& state);
  void start_waiting(UnitState& state);
  void clear_others(LogicalUnit& unit, const std::shared_ptr<void>& token, bool reset);
  void reset(LogicalUnit& unit, const std::shared_ptr<void>& token);

  std::shared_ptr<const TargetDevice> device_;
  const std::shared_ptr<NexusList> sessions_;  // of the target, this one among them
  const NexusIdentity identity_;
  const ItNexus i_t_nexus_;
  StoreEngine& engine_;
  // Of the units this nexus has addressed, by LogicalUnit::lun(): made by the first command, as a
  // target may have 16384 of them.
  std::map<std::uint16_t, UnitState> units_;
  // Of units it no longer sees, until their last task has ended.
  std::multimap<std::uint16_t, UnitState> removed_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::vector<std::unique_ptr<Command>> commands_;  // all ever made; as many as ran at one time
  std::vector<Command*> idle_;
  std::deque<Command*> short_of_memory_;
  CopyRecords copies_;
  bool memory_is_being_offered_ = false;
};

// How tasks end that another nexus clears, as a mode page of the unit has it now.
Command::Ending ending_for_others(const LogicalUnit& unit);
// The first handler of every command (dispatch.cc): looks at what holds for all of them, then calls
// the handler of the opcode.
void dispatch(Command& command);
// How the unit, which there has to be, is accessed through the port the command came in at.
AccessState access_state(const Command& command);
// Whether a command of this kind conflicts with a reservation of the unit, which there has to be.
bool conflicts_with_reservation(const Command& command, ConflictsWith kind);

}  // namespace openiser::target
