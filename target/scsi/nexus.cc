#include "target/scsi/nexus.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "target/scsi/nexus_state.h"

namespace openiser::target {

using iscsi::TaskManagementAnswer;
using iscsi::TaskManagementFunction;

Command::Ending ending_for_others(const LogicalUnit& unit) {
  return unit.has_flag(unit_flag::task_aborted_status) ? Command::Ending::cleared
                                                       : Command::Ending::dropped;
}

Nexus::Nexus(std::shared_ptr<const TargetDevice> device, NexusIdentity identity,
             rdmap::EventLoop& loop, StoreEngine& engine)
    : device_(std::move(device)),
      sessions_(device_->nexuses),
      identity_(std::move(identity)),
      i_t_nexus_{identity_.initiator_port, identity_.relative_target_port},
      engine_(engine),
      mailbox_(std::make_shared<Mailbox>(loop, *this, i_t_nexus_)) {
  sessions_->attach(mailbox_);
}

Nexus::~Nexus() {
  ISER_ASSERT(idle_.size() == commands_.size());
  for (auto& [lun, state] : units_) leave(state);
  for (auto& [lun, state] : removed_) leave(state);
  sessions_->detach(*mailbox_);
  mailbox_->close();
}

void Nexus::nexus_lost() {
  for (auto& [lun, state] : units_) state.unit->reservations().nexus_lost(i_t_nexus_);
}

void Nexus::execute(iscsi::TargetTask& task) {
  Command& command = take_command();
  UnitState* state = find_unit(task.lun);
  command.attach(task, state);
  if (!state || state->tasks.admit(command)) command.start(dispatch);
}

void Nexus::data_received(iscsi::TargetTask& task, iscsi::DataPieces& data) {
  static_cast<Command*>(task.handler_context)->data_received(data);
}

void Nexus::abort(iscsi::TargetTask& task) {
  static_cast<Command*>(task.handler_context)->abort();
}

void Nexus::wait_for_memory(Command& command) {
  if (std::ranges::find(short_of_memory_, &command) == short_of_memory_.end()) {
    short_of_memory_.push_back(&command);
  }
}

void Nexus::count_change(UnitState& state, std::uint64_t length, bool full) {
  const std::uint64_t interval = state.unit->space_watch().interval();
  if (interval == 0) return;
  state.changed_bytes += length;
  if (state.changed_bytes < interval && !full) return;
  state.changed_bytes = 0;
  state.unit->space_watch().look(engine_);
}

// Each of those waiting gets one try; who is still short waits again, behind the others.
void Nexus::memory_freed() {
  if (memory_is_being_offered_) return;
  memory_is_being_offered_ = true;
  for (std::size_t tries = short_of_memory_.size(); tries != 0 && !short_of_memory_.empty();
       --tries) {
    Command* command = short_of_memory_.front();
    short_of_memory_.pop_front();
    command->memory_freed();
  }
  memory_is_being_offered_ = false;
}

Command& Nexus::take_command() {
  if (idle_.empty()) {
    commands_.push_back(std::make_unique<Command>(*this));
    idle_.reserve(commands_.size());
    return *commands_.back();
  }
  Command& command = *idle_.back();
  idle_.pop_back();
  return command;
}

UnitState* Nexus::find_unit(const iscsi::Lun& lun) {
  const auto number = decode_lun(lun);
  if (!number || *number > UINT16_MAX) return nullptr;
  const auto found = device_->units.find(static_cast<std::uint16_t>(*number));
  return found == device_->units.end() ? nullptr : &state_of(found->first, found->second);
}

// The unit attention of a new nexus covers whatever happened to the unit before it was addressed.
UnitState& Nexus::state_of(std::uint16_t lun, const std::shared_ptr<LogicalUnit>& unit) {
  const auto [place, fresh] = units_.try_emplace(unit->lun());
  UnitState& state = place->second;
  if (fresh) {
    state.unit = unit;
    state.read_only = device_->read_only.contains(lun);
    state.port_group = unit->port_groups().find(identity_.relative_target_port);
    state.attentions.raise(Condition::power_on);
    unit->attach(mailbox_);
  }
  return state;
}

void Nexus::clear_attention(Condition condition) {
  for (auto& [number, state] : units_) state.attentions.clear(condition);
}

void Nexus::conclude(Command& command) {
  iscsi::TargetTask& task = command.task();
  UnitState* state = command.unit_state();
  const Command::Ending ending = command.ending();
  const ScsiStatus status = command.status();
  const Sense sense = command.sense();
  const std::uint64_t transfer_length = command.transfer_length();
  const std::uint32_t flags = state ? state->unit->flags() : 0;
  const SenseFormat format =
      (flags & unit_flag::descriptor_sense) != 0 ? SenseFormat::descriptor : SenseFormat::fixed;

  if (state) state->tasks.remove(command);
  std::erase(short_of_memory_, &command);
  command.reset();
  idle_.push_back(&command);

  // Each of these may bring the next command in.
  if (ending == Command::Ending::released || ending == Command::Ending::dropped) {
    task.release();
  } else if (ending == Command::Ending::cleared) {
    task.finish(static_cast<std::uint8_t>(ScsiStatus::task_aborted), {}, 0);
  } else if (status == ScsiStatus::check_condition) {
    task.finish(static_cast<std::uint8_t>(status), EncodedSense(sense, format).bytes(), 0);
  } else {
    task.finish(static_cast<std::uint8_t>(status), {}, transfer_length);
  }
  if (state) start_waiting(*state);
  // Not here: whoever called may be busy with the same unit.
  if (state && state->removed && state->tasks.empty())
    mailbox_->post([](Nexus& nexus) { nexus.forget_removed(); });
  memory_freed();
}

void Nexus::start_waiting(UnitState& state) {
  if (state.starting) return;
  state.starting = true;
  while (Command* command = state.tasks.next()) command->start(dispatch);
  state.starting = false;
}

void Nexus::raise(std::uint16_t lun, Condition condition) {
  const auto found = units_.find(lun);
  if (found != units_.end()) found->second.attentions.raise(condition);
}

// By the unit, as what has its number may be another.
std::vector<Command*> Nexus::tasks_of(const LogicalUnit& unit) const {
  std::vector<Command*> tasks;
  const auto take = [&](const UnitState& state) {
    if (state.unit.get() != &unit) return;
    const std::vector<Command*> all = state.tasks.all();
    tasks.insert(tasks.end(), all.begin(), all.end());
  };
  if (const auto seen = units_.find(unit.lun()); seen != units_.end()) take(seen->second);
  const auto [first, last] = removed_.equal_range(unit.lun());
  for (auto each = first; each != last; ++each) take(each->second);
  return tasks;
}

bool Nexus::clear_tasks(const LogicalUnit& unit, const Clearing& clearing, const Command* except) {
  std::vector<Command*> tasks = tasks_of(unit);
  std::erase(tasks, except);
  for (Command* command : tasks) {
    command->mark_cleared(clearing.token, clearing.how, clearing.sense);
  }
  // The end of one may end others and bring new ones in: these are only pushed a little.
  for (Command* command : tasks) command->advance();
  return !tasks.empty();
}

// Without TASK ABORTED status a unit attention has to tell (SAM-5 section 5.14).
void Nexus::clear_for_another(const LogicalUnit& unit, const std::shared_ptr<void>& token,
                              Command::Ending how) {
  const bool had_tasks = clear_tasks(unit, {token, how});
  if (had_tasks && how == Command::Ending::dropped) raise(unit.lun(), Condition::commands_cleared);
}

std::shared_ptr<void> Nexus::call_when_let_go(std::function<void()> done) {
  struct Token {
    std::shared_ptr<Mailbox> home;
    std::function<void()> done;
    ~Token() {
      home->post([call = std::move(done)](Nexus&) { call(); });
    }
  };
  return std::shared_ptr<Token>(new Token{mailbox_, std::move(done)});
}

void Nexus::clear_others(LogicalUnit& unit, const std::shared_ptr<void>& token, bool reset) {
  const auto how = ending_for_others(unit);
  unit.post_to_nexuses(mailbox_.get(),
                       [shared = unit.shared_from_this(), token, reset, how](Nexus& nexus) {
                         if (!reset) return nexus.clear_for_another(*shared, token, how);
                         nexus.clear_tasks(*shared, {token, how});
                         nexus.raise(shared->lun(), Condition::device_reset);
                       });
}

// SAM-5 section 6.3.3: the tasks of every nexus end and every nexus, this one too, is told.
void Nexus::reset(LogicalUnit& unit, const std::shared_ptr<void>& token) {
  unit.reservations().unit_reset();
  clear_others(unit, token, true);
  raise(unit.lun(), Condition::device_reset);
  unit.change_flags(unit_flag::mode_fields, unit.default_flags());
}

// --- what is seen changes ---

void Nexus::change_device(std::shared_ptr<const TargetDevice> next) {
  const auto before = std::exchange(device_, std::move(next));
  if (before->units == device_->units && before->read_only == device_->read_only) return;
  std::map<const LogicalUnit*, std::uint16_t> seen;
  for (const auto& [lun, unit] : device_->units) seen.emplace(unit.get(), lun);
  for (auto place = units_.begin(); place != units_.end();) {
    UnitState& state = (place++)->second;
    const auto found = seen.find(state.unit.get());
    if (found == seen.end()) {
      remove(state);
      continue;
    }
    state.read_only = device_->read_only.contains(found->second);
    if (before->units != device_->units) state.attentions.raise(Condition::reported_luns_changed);
  }
}

// Tasks keep pointers to their state: it stays where it is.
void Nexus::remove(UnitState& state) {
  state.removed = true;
  removed_.insert(units_.extract(state.unit->lun()));
  forget_removed();
}

void Nexus::leave(const UnitState& state) {
  state.unit->detach(*mailbox_);
  state.unit->reservations().nexus_lost(i_t_nexus_);
}

void Nexus::forget_removed() {
  std::erase_if(removed_, [this](const auto& entry) {
    const UnitState& state = entry.second;
    if (!state.tasks.empty()) return false;
    leave(state);
    return true;
  });
}

void Nexus::manage(TaskManagementFunction function, const iscsi::Lun& lun,
                   std::function<void(TaskManagementAnswer)> done) {
  UnitState* state = find_unit(lun);
  const auto complete = [&done] {
    return [done = std::move(done)] { done(TaskManagementAnswer::complete); };
  };
  switch (function) {
    case TaskManagementFunction::abort_task_set:
      return done(state ? TaskManagementAnswer::complete : TaskManagementAnswer::no_lun);
    case TaskManagementFunction::clear_task_set:
      if (!state) return done(TaskManagementAnswer::no_lun);
      return clear_others(*state->unit, call_when_let_go(complete()), false);
    case TaskManagementFunction::logical_unit_reset:
      if (!state) return done(TaskManagementAnswer::no_lun);
      return reset(*state->unit, call_when_let_go(complete()));
    case TaskManagementFunction::target_warm_reset:
    case TaskManagementFunction::target_cold_reset: {
      const auto token = call_when_let_go(complete());
      for (const auto& [number, unit] : device_->units) reset(*unit, token);
      return;
    }
    case TaskManagementFunction::i_t_nexus_reset:
      for (auto& [number, each] : units_) {
        each.attentions.raise(Condition::nexus_loss);
        each.unit->reservations().nexus_lost(i_t_nexus_);
      }
      return done(TaskManagementAnswer::complete);
    case TaskManagementFunction::task_reassign:
      return done(TaskManagementAnswer::reassign_not_supported);
    default:
      return done(TaskManagementAnswer::not_supported);
  }
}

std::unique_ptr<iscsi::TaskHandler> make_nexus(std::shared_ptr<const TargetDevice> device,
                                               NexusIdentity identity, rdmap::EventLoop& loop,
                                               StoreEngine& engine) {
  return std::make_unique<Nexus>(std::move(device), std::move(identity), loop, engine);
}

}  // namespace openiser::target
