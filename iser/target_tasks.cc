#include "iser/target_tasks.h"

#include <algorithm>

#include "iscsi/errors.h"
#include "iscsi/pdu/ahs.h"
#include "iser/message.h"

namespace openiser::iser {

using iscsi::errc;

namespace {

// Base offset plus `skip`, for `length` bytes of a buffer of `whole` bytes; no sum may wrap, the
// base offset is of the peer's choosing.
Result<rdmap::RemoteMemory> place(const std::optional<rdmap::RemoteMemory>& base,
                                  std::uint64_t offset, std::uint64_t skip, std::size_t length,
                                  std::uint64_t whole) {
  if (!base || offset < skip || offset > whole || length > whole - offset) return errc::iser_stag;
  const std::uint64_t distance = offset - skip;
  if (base->offset > UINT64_MAX - distance || base->offset + distance > UINT64_MAX - length)
    return errc::iser_stag;
  return rdmap::RemoteMemory{.stag = base->stag, .offset = base->offset + distance};
}

// Nothing where the command does not say: the session will have the same opinion of it.
std::uint32_t bidirectional_read_length(const Buffer& ahs) {
  const auto parsed = iscsi::parse_command_ahs(ahs.bytes());
  return parsed ? parsed->bidirectional_read_length.value_or(0) : 0;
}

}  // namespace

TargetTasks::TargetTasks(const iscsi::Parameters& parameters, BaseOffset base_offset,
                         std::size_t limit)
    : initial_r2t_(parameters.initial_r2t),
      first_burst_length_(parameters.first_burst_length),
      base_offset_(base_offset),
      limit_(limit),
      tasks_(limit / 4) {}

ErrorCode TargetTasks::open(const iscsi::ControlPdu& command, const ControlHeader& header) {
  const iscsi::Bhs& bhs = command.bhs;
  if (tasks_.find(bhs.initiator_task_tag())) return {};
  if (tasks_.size() >= limit_) return errc::protocol_error;
  const std::uint32_t expected = expected_data_transfer_length(bhs);
  Task task{.write = header.write, .read = header.read, .cmd_sn = bhs.cmd_sn()};
  if (writes(bhs)) task.write_length = expected;
  if (reads(bhs))
    task.read_length = writes(bhs) ? bidirectional_read_length(command.ahs) : expected;
  task.unsolicited = unsolicited_length(bhs);
  tasks_.insert(bhs.initiator_task_tag(), task);
  return {};
}

// Immediate data, and up to FirstBurstLength when F=0 says that Data-Outs follow (RFC 7143
// sections 11.3.1 and 13.14).
std::uint32_t TargetTasks::unsolicited_length(const iscsi::Bhs& command) const {
  const std::uint32_t expected = expected_data_transfer_length(command);
  if (command.final() || initial_r2t_) return std::min(command.data_segment_length(), expected);
  return std::min(first_burst_length_, expected);
}

ErrorCode TargetTasks::reassign(const iscsi::ControlPdu& request, const ControlHeader& header) {
  const std::uint32_t tag = referenced_task_tag(request.bhs);
  Task* task = tasks_.find(tag);
  if (!task) {
    if (tasks_.size() >= limit_) return errc::protocol_error;
    // Of another connection: its lengths are the session's to know.
    task = &tasks_.insert(tag, {.write_length = UINT32_MAX, .read_length = UINT32_MAX});
  }
  task->write = header.write;
  task->read = header.read;
  task->unsolicited = 0;  // the whole write buffer is advertised
  return {};
}

void TargetTasks::rejected(const iscsi::ControlPdu& reject) {
  const auto command = rejected_header(reject);
  if (!command || command->opcode() != iscsi::Opcode::scsi_command) return;
  const Task* task = tasks_.find(command->initiator_task_tag());
  // Not the task that had the tag before a second command came with it.
  if (task && task->cmd_sn == command->cmd_sn()) close(command->initiator_task_tag());
}

std::optional<rdmap::Stag> TargetTasks::conclude(std::uint32_t initiator_task_tag) {
  const Task* task = tasks_.find(initiator_task_tag);
  if (!task) return {};
  std::optional<rdmap::Stag> stag;
  if (task->read) {
    stag = task->read->stag;
  } else if (task->write) {
    stag = task->write->stag;
  }
  close(initiator_task_tag);
  return stag;
}

Result<rdmap::RemoteMemory> TargetTasks::sink(std::uint32_t initiator_task_tag,
                                              std::uint32_t offset, std::size_t length) {
  const Task* task = tasks_.find(initiator_task_tag);
  if (!task) return errc::task_aborted;
  return place(task->read, offset, 0, length, task->read_length);
}

Result<rdmap::RemoteMemory> TargetTasks::source(std::uint32_t initiator_task_tag,
                                                std::uint32_t offset, std::size_t length) {
  const Task* task = tasks_.find(initiator_task_tag);
  if (!task) return errc::task_aborted;
  const std::uint32_t skip = base_offset_ == BaseOffset::solicited_part ? task->unsolicited : 0;
  return place(task->write, offset, skip, length, task->write_length);
}

void TargetTasks::read_started(std::uint32_t initiator_task_tag) {
  if (Task* task = tasks_.find(initiator_task_tag)) ++task->reads;
}

void TargetTasks::read_ended(std::uint32_t initiator_task_tag) {
  Task* task = tasks_.find(initiator_task_tag);
  if (task && task->reads > 0) --task->reads;
}

bool TargetTasks::reading(std::uint32_t initiator_task_tag) {
  const Task* task = tasks_.find(initiator_task_tag);
  return task && task->reads > 0;
}

}  // namespace openiser::iser
