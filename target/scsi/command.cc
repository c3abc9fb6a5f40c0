#include "target/scsi/command.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "target/scsi/nexus_state.h"

namespace openiser::target {

// Sends a small answer, once there is memory for it.
class AnswerJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot&) const override {
    const std::size_t size = std::min<std::size_t>(command.answer_.size(), command.data_in_room());
    if (size == 0) return Step::done;
    Buffer buffer = command.take_buffer(size, size);
    if (!buffer) return Step::wait_for_memory;
    std::memcpy(buffer.data(), command.answer_.data(), size);
    command.send(std::move(buffer), 0);
    return Step::done;
  }
};

namespace {
constexpr AnswerJob kAnswer;
}

void StoreSlot::done() {
  complete_ = true;
  --command_->under_way_;
  command_->advance();
}

Sense Job::failure(Command& command, const StoreSlot& slot) const {
  return sense_of_store_error(slot.error, slot.operation,
                              slot.offset / command.unit()->block_size());
}

void Job::submit(Command& command, StoreSlot& slot) const {
  slot.unit->submit(command.nexus().engine(), slot);
}

void Job::finish(Command& command) const {
  command.good(command.work().transfer_length);
}

void Work::reset() {
  offset = length = position = consumed = transfer_length = 0;
  force_unit_access = discard = false;
  scratch.reset();
  space = {};
  ranges.clear();
  pieces.clear();
  copy.reset();
}

Command::Command(Nexus& nexus) : nexus_(nexus) {
  for (StoreSlot& slot : slots_) slot.command_ = this;
}

std::uint32_t Command::data_in_room() const {
  if (!task_->read) return 0;
  return task_->write ? task_->expected_bidi_read_length : task_->expected_data_transfer_length;
}

std::uint32_t Command::data_out_size() const {
  return task_->write ? task_->expected_data_transfer_length : 0;
}

bool Command::write_protected() const {
  return unit_ && (unit_->write_protected() || unit_state_->read_only);
}

std::uint64_t Command::presented(std::uint64_t length) const {
  return task_->write && !task_->read ? 0 : length;
}

void Command::good(std::uint64_t transfer_length) {
  if (ending_ != Ending::none) return;
  ending_ = Ending::answered;
  status_ = ScsiStatus::good;
  transfer_length_ = transfer_length;
}

void Command::condition_met() {
  if (ending_ != Ending::none) return;
  good();
  status_ = ScsiStatus::condition_met;
}

void Command::fail(const Sense& sense) {
  if (ending_ != Ending::none) return;
  ending_ = Ending::answered;
  status_ = ScsiStatus::check_condition;
  sense_ = sense;
}

void Command::refuse_for_reservation() {
  if (ending_ != Ending::none) return;
  ending_ = Ending::answered;
  status_ = ScsiStatus::reservation_conflict;
}

void Command::answer(Bytes data, std::uint64_t allocation_length) {
  const Bytes cut = data.first(std::min<std::uint64_t>(data.size(), allocation_length));
  answer_.assign(cut.begin(), cut.end());
  work_.transfer_length = presented(cut.size());
  run(kAnswer);
}

void Command::receive(std::uint32_t length, Handler then) {
  next_ = then;
  length = std::min(length, data_out_size());
  if (length == 0) return;
  awaiting_data_ = true;
  task_->receive_data(length);
}

void Command::wait_for_gate(Gate& gate, Handler then) {
  next_ = then;
  awaiting_call_ = true;
  const auto granted = [this, life = life_](Gate::Pass pass) {
    if (life != life_) return;  // aborted meanwhile; the pass goes on to the next
    pass_ = std::move(pass);
    awaiting_call_ = false;
    advance();
  };
  if (Gate::Pass pass = gate.enter(nexus_.mailbox(), granted)) granted(std::move(pass));
}

void Command::let_go() {
  --under_way_;
  advance();
}

std::shared_ptr<void> Command::good_when_let_go(std::uint64_t transfer_length) {
  return nexus_.call_when_let_go([this, life = life_, transfer_length] {
    if (life != life_) return;  // aborted meanwhile
    good(transfer_length);
    advance();
  });
}

std::function<void()> Command::wait_for_call(Handler then) {
  next_ = then;
  awaiting_call_ = true;
  return [this, life = life_, home = nexus_.mailbox()] {
    home->post([this, life](Nexus&) {
      if (life != life_) return;
      awaiting_call_ = false;
      advance();
    });
  };
}

std::vector<std::byte> Command::gather_data() const {
  std::vector<std::byte> all;
  for (const Buffer& piece : data_) {
    all.insert(all.end(), piece.bytes().begin(), piece.bytes().end());
  }
  return all;
}

Buffer Command::take_buffer(std::size_t size, std::size_t unit) {
  Buffer buffer = task_->take_buffer(size);
  while (!buffer && is_idle() && size > unit) {
    size = std::max(unit, size / 4 / unit * unit);
    buffer = task_->take_buffer(size);
  }
  return buffer;
}

void Command::send(Buffer data, std::uint64_t offset) {
  if (ending_ == Ending::none) {
    task_->send_data(std::move(data), static_cast<std::uint32_t>(offset));
  }
}

void Command::attach(iscsi::TargetTask& task, UnitState* state) {
  task_ = &task;
  unit_state_ = state;
  unit_ = state ? state->unit.get() : nullptr;
  task.handler_context = this;
}

void Command::start(Handler handler) {
  next_ = handler;
  advance();
}

void Command::data_received(iscsi::DataPieces& data) {
  awaiting_data_ = false;
  data_.swap(data);
  advance();
}

void Command::memory_freed() {
  awaiting_memory_ = false;
  advance();
}

void Command::abort() {
  ending_ = Ending::released;
  advance();
}

void Command::mark_cleared(std::shared_ptr<void> token, Ending how, const Sense& sense) {
  if (ending_ == Ending::none) {
    ending_ = how;
    if (how == Ending::answered) status_ = ScsiStatus::check_condition;
    sense_ = sense;
  }
  clear_tokens_.push_back(std::move(token));
}

// Runs until there is something to wait for. What happens meanwhile (requests done on the spot,
// data that was there already, an abort) only leaves marks, seen by the loop here.
void Command::advance() {
  if (advancing_) return;
  advancing_ = true;
  while (ending_ == Ending::none && turn()) {
  }
  advancing_ = false;
  if (ending_ != Ending::none) conclude();
}

bool Command::turn() {
  if (next_ && !awaiting_data_ && !awaiting_call_) {
    std::exchange(next_, nullptr)(*this);
    return true;
  }
  if (!job_) return false;
  if (consume() || prepare()) return true;
  if (!prepared_all_ || head_ != tail_) return false;
  prepared_all_ = false;
  std::exchange(job_, nullptr)->finish(*this);
  return true;
}

bool Command::consume() {
  if (head_ == tail_ || !slot(head_).complete_) return false;
  StoreSlot& oldest = slot(head_);
  if (oldest.error) {
    oldest.unit->health().count_error(oldest.operation == StoreRequest::Operation::read);
    if (oldest.error.value() == ENOSPC && oldest.unit == unit_)
      nexus_.count_change(*unit_state_, 0, true);
    fail(job_->failure(*this, oldest));
  } else {
    if (oldest.changes_data() && oldest.unit == unit_)
      nexus_.count_change(*unit_state_, oldest.length);
    job_->consume(*this, oldest);
  }
  oldest.buffer.reset();
  ++head_;
  awaiting_memory_ = false;  // perhaps what it held is enough
  return true;
}

bool Command::prepare() {
  if (prepared_all_ || awaiting_memory_ || tail_ - head_ == kSlots) return false;
  StoreSlot& next = slot(tail_);
  next.force_unit_access = false;
  next.is_hole = next.is_cached = false;
  next.pieces = {};
  next.unit = unit_;
  next.error = {};
  switch (job_->prepare(*this, next)) {
    case Job::Step::submit:
      next.complete_ = false;
      ++tail_;
      ++under_way_;
      job_->submit(*this, next);
      return true;
    case Job::Step::wait:
      ISER_ASSERT(head_ != tail_);
      return false;
    case Job::Step::wait_for_memory:
      // Called back by Nexus::memory_freed(), or by a request of this command that ends.
      awaiting_memory_ = true;
      nexus_.wait_for_memory(*this);
      return false;
    case Job::Step::done:
      prepared_all_ = true;
      return true;
  }
  return false;
}

void Command::conclude() {
  if (under_way_ != 0) return;
  clear_tokens_.clear();
  // A cleared task still gets its status, and that must not overtake its data
  // (RFC 7143 section 4.2.3.3).
  if (ending_ == Ending::cleared && awaiting_data_) return;
  nexus_.conclude(*this);
}

void Command::reset() {
  ISER_ASSERT(under_way_ == 0 && !advancing_);
  for (StoreSlot& slot : slots_) slot.buffer.reset();
  head_ = tail_ = 0;
  work_.reset();
  data_.clear();
  pass_.reset();
  ++life_;
  task_ = nullptr;
  unit_state_ = nullptr;
  unit_ = nullptr;
  next_ = nullptr;
  job_ = nullptr;
  enabled_ = awaiting_data_ = awaiting_memory_ = awaiting_call_ = prepared_all_ = false;
  ending_ = Ending::none;
  sense_ = {};
  transfer_length_ = 0;
}

}  // namespace openiser::target
