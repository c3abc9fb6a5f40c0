#include "iser/transfer.h"

#include "iscsi/errors.h"

namespace openiser::iser {

using iscsi::DataCompletion;
using iscsi::errc;

void Transfer::put(const iscsi::DataIn& pdu, Buffer data, bool notify, rdmap::RemoteMemory sink,
                   std::uint32_t data_in_pdus) {
  std::uint32_t index = kNone;
  if (notify)
    index = add({.kind = Kind::put,
                 .notify = true,
                 .started = true,
                 .initiator_task_tag = pdu.initiator_task_tag,
                 .sequence_number = pdu.data_sn});
  queue_pair_.post_write({.id = index, .data = std::move(data), .sink = sink});
  if (!pdu.acknowledge) return;
  // Completes when the initiator's RDMAP has handled the write before it (section 7.3.5).
  wait(add({.kind = Kind::acknowledge,
            .initiator_task_tag = pdu.initiator_task_tag,
            .sequence_number = pdu.data_sn + data_in_pdus,
            .remote = sink}));
  start_reads();
}

void Transfer::get(const iscsi::R2t& pdu, Buffer sink, rdmap::RemoteMemory source) {
  wait(add({.kind = Kind::get,
            .notify = true,
            .initiator_task_tag = pdu.initiator_task_tag,
            .sequence_number = pdu.r2t_sn,
            .buffer = std::move(sink),
            .remote = source}));
  start_reads();
}

Transfer::Outcome Transfer::completed(rdmap::Completion completion) {
  const bool read = completion.kind == rdmap::Completion::Kind::read;
  Outcome outcome;
  if (read) --reads_;
  if (completion.id < operations_.size()) {
    Operation& operation = operations_[completion.id];
    if (read && operation.aborted) --aborted_reads_;
    const ErrorCode status = operation.aborted ? errc::task_aborted : completion.status;
    if (operation.notify)
      outcome.data = completion_of(operation, std::move(completion.buffer), status);
    if (operation.kind == Kind::acknowledge && !status)
      outcome.acknowledged = {operation.initiator_task_tag, operation.sequence_number};
    if (operation.kind == Kind::get && !operation.aborted)
      outcome.reader = operation.initiator_task_tag;
    remove(static_cast<std::uint32_t>(completion.id));
  }
  if (read) start_reads();
  return outcome;
}

void Transfer::abort(std::uint32_t initiator_task_tag, std::vector<DataCompletion>& done) {
  for (Operation& operation : operations_) {
    if (operation.kind == Kind::free || operation.aborted ||
        operation.initiator_task_tag != initiator_task_tag)
      continue;
    operation.aborted = true;
    if (operation.started && operation.kind != Kind::put) ++aborted_reads_;
  }
  std::uint32_t index = std::exchange(first_waiting_, kNone);
  last_waiting_ = kNone;
  while (index != kNone) {
    Operation& operation = operations_[index];
    const std::uint32_t next = operation.next;
    if (!operation.aborted) {
      wait(index);
    } else {
      if (operation.notify)
        done.push_back(completion_of(operation, std::move(operation.buffer), errc::task_aborted));
      remove(index);
    }
    index = next;
  }
}

void Transfer::abandon(ErrorCode why, std::vector<DataCompletion>& done) {
  while (first_waiting_ != kNone) {
    const std::uint32_t index = first_waiting_;
    Operation& operation = operations_[index];
    first_waiting_ = operation.next;
    if (operation.notify)
      done.push_back(completion_of(operation, std::move(operation.buffer), why));
    remove(index);
  }
  last_waiting_ = kNone;
}

DataCompletion Transfer::completion_of(const Operation& operation, Buffer buffer,
                                       ErrorCode status) {
  return {
      .kind = operation.kind == Kind::put ? DataCompletion::Kind::put : DataCompletion::Kind::get,
      .initiator_task_tag = operation.initiator_task_tag,
      .sequence_number = operation.sequence_number,
      .status = status,
      .buffer = std::move(buffer)};
}

void Transfer::start_reads() {
  while (reads_ < read_limit_ && first_waiting_ != kNone) {
    const std::uint32_t index = first_waiting_;
    Operation& operation = operations_[index];
    first_waiting_ = operation.next;
    if (first_waiting_ == kNone) last_waiting_ = kNone;
    operation.started = true;
    ++reads_;
    queue_pair_.post_read(
        {.id = index, .sink = std::move(operation.buffer), .source = operation.remote});
  }
}

void Transfer::wait(std::uint32_t index) {
  operations_[index].next = kNone;
  if (last_waiting_ == kNone) {
    first_waiting_ = index;
  } else {
    operations_[last_waiting_].next = index;
  }
  last_waiting_ = index;
}

std::uint32_t Transfer::add(Operation operation) {
  if (free_ == kNone) {
    operations_.push_back(std::move(operation));
    return static_cast<std::uint32_t>(operations_.size() - 1);
  }
  const std::uint32_t index = free_;
  free_ = operations_[index].next;
  // That of the next one: with many connections it has left the cache.
  if (free_ != kNone) __builtin_prefetch(&operations_[free_]);
  operations_[index] = std::move(operation);
  return index;
}

void Transfer::remove(std::uint32_t index) {
  operations_[index] = {};
  operations_[index].next = free_;
  free_ = index;
}

}  // namespace openiser::iser
