#include "target/scsi/task_set.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace openiser::target {
namespace {

// By weight, as in the enumeration: one bit each.
constexpr auto kFirst = static_cast<unsigned>(Condition::power_on);
constexpr std::uint32_t kResets = 0b111;  // the first of them

std::uint32_t bit_of(Condition condition) {
  const unsigned place = static_cast<unsigned>(condition) - kFirst;
  ISER_ASSERT(place < 32);
  return 1U << place;
}

bool is_ordered(const Command& command) {
  return command.task().attribute == iscsi::TaskAttribute::ordered;
}

}  // namespace

bool TaskSet::may_start(const Command& command) const {
  return !ordered_enabled_ && !(is_ordered(command) && enabled_ != 0);
}

void TaskSet::enable(Command& command) {
  ++enabled_;
  if (is_ordered(command)) ordered_enabled_ = true;
  command.set_enabled(true);
}

bool TaskSet::admit(Command& command) {
  all_.push_back(&command);
  const bool head = command.task().attribute == iscsi::TaskAttribute::head_of_queue;
  if (!head && (!waiting_.empty() || !may_start(command))) {
    waiting_.push_back(&command);
    return false;
  }
  enable(command);
  return true;
}

void TaskSet::remove(Command& command) {
  const auto place = std::ranges::find(all_, &command);
  *place = all_.back();
  all_.pop_back();
  if (!command.enabled()) {
    std::erase(waiting_, &command);
    return;
  }
  --enabled_;
  if (is_ordered(command)) ordered_enabled_ = false;
}

Command* TaskSet::next() {
  if (waiting_.empty() || !may_start(*waiting_.front())) return nullptr;
  Command* command = waiting_.front();
  waiting_.pop_front();
  enable(*command);
  return command;
}

void UnitAttentions::raise(Condition condition) {
  if (condition == Condition::device_reset && (pending_ & 1) != 0) return;
  pending_ |= bit_of(condition);
}

void UnitAttentions::clear(Condition condition) {
  pending_ &= ~bit_of(condition);
}

std::optional<Condition> UnitAttentions::take() {
  return take_among(~0U);
}

std::optional<Condition> UnitAttentions::take_reset() {
  return take_among(kResets);
}

std::optional<Condition> UnitAttentions::take_among(std::uint32_t which) {
  const std::uint32_t waiting = pending_ & which;
  if (waiting == 0) return {};
  const auto place = static_cast<unsigned>(std::countr_zero(waiting));
  pending_ &= ~(1U << place);
  return static_cast<Condition>(kFirst + place);
}

}  // namespace openiser::target
