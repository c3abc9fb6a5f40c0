#include "target/scsi/medium_commands.h"

#include <utility>

#include "target/scsi/nexus_state.h"

namespace openiser::target {
namespace {

// Held by all that may still touch the store; the last to let go of it starts the work.
struct Starter {
  std::shared_ptr<LogicalUnit> unit;
  std::vector<MediumPass> passes;
  Starter(std::shared_ptr<LogicalUnit> its_unit, std::vector<MediumPass> its_passes)
      : unit(std::move(its_unit)), passes(std::move(its_passes)) {}
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;
  ~Starter() { unit->medium().start(std::move(passes), unit->blocks() * unit->block_size()); }
};

void medium_work_ended(Command& command) {
  if (const auto trouble = command.unit()->medium().trouble()) return command.fail(*trouble);
  command.good(command.work().transfer_length);
}

// SBC-3 section 4.11.2: what is under way ends with the sense data that commands get from now on.
void end_all_others(Command& command, const std::shared_ptr<void>& token, const Sense& sense) {
  Nexus& nexus = command.nexus();
  LogicalUnit& unit = *command.unit();
  const Nexus::Clearing clearing{token, Command::Ending::answered, sense};
  unit.post_to_nexuses(nexus.mailbox().get(),
                       [clearing, shared = unit.shared_from_this()](Nexus& other) {
                         other.clear_tasks(*shared, clearing);
                       });
  nexus.clear_tasks(unit, clearing, &command);
}

}  // namespace

void work_on_medium(Command& command, MediumWork work) {
  Medium& medium = command.unit()->medium();
  if (!medium.claim(work.working, work.failed)) {
    return command.fail(medium.trouble().value_or(Sense{Condition::internal_target_failure}));
  }
  if (work.immediate) {
    command.good(command.work().transfer_length);
  } else {
    medium.when_ended(command.wait_for_call(medium_work_ended));
  }
  const auto starter =
      std::make_shared<Starter>(command.unit_state()->unit, std::move(work.passes));
  end_all_others(command, starter, *medium.trouble());
}

}  // namespace openiser::target
