// SCSI commands of the initiator's session.
#include <algorithm>
#include <utility>

#include "iscsi/pdu/ahs.h"
#include "iscsi/pdu/lun.h"
#include "iscsi/session/condition.h"
#include "iscsi/session/initiator_session_impl.h"

namespace openiser::iscsi {
namespace {

// RFC 7143 sections 4.2.5.2, 13.10, 13.11 and 13.14: what may go without being asked for.
void plan_unsolicited(const Parameters& parameters, std::uint32_t segment, TaskMemory& memory) {
  const auto expected = static_cast<std::uint32_t>(memory.out.size());
  const std::uint32_t burst = std::min(parameters.first_burst_length, expected);
  memory.immediate_size = parameters.immediate_data ? std::min(burst, segment) : 0;
  // Over iSER what is asked for is read straight into its place, so where the target has to ask
  // anyway it may have all but the immediate data so.
  const bool rest_is_asked_for =
      parameters.initial_r2t || (parameters.rdma_extensions && burst < expected);
  memory.unsolicited_size = rest_is_asked_for ? memory.immediate_size : burst;
}

ScsiCommand describe(const InitiatorTask& task) {
  ScsiCommand pdu;
  pdu.read = !task.data_in.empty();
  pdu.write = !task.data_out.empty();
  pdu.attribute = task.attribute;
  pdu.lun = task.lun;
  pdu.cdb = task.cdb;
  pdu.expected_data_transfer_length =
      static_cast<std::uint32_t>(pdu.write ? task.data_out.size() : task.data_in.size());
  return pdu;
}

bool too_long(const InitiatorTask& task) {
  return task.data_out.size() > UINT32_MAX || task.data_in.size() > UINT32_MAX;
}

}  // namespace

void InitiatorSessionImpl::submit(InitiatorTask& task) {
  const Inside inside(*this);
  task.initiator_task_tag = kReservedTag;
  task.error = {};
  task.residual = 0;
  task.sense.clear();
  if (!is_running()) return finish(task, errc::not_logged_in);
  if (too_long(task)) return finish(task, errc::bad_field);
  waiting_.push_back(&task);
}

void InitiatorSessionImpl::pump() {
  while (is_running() && !waiting_.empty() && credit_.is_open() && !commands_.is_full()) {
    InitiatorTask& task = *waiting_.front();
    waiting_.pop_front();
    send_command(task);
  }
}

void InitiatorSessionImpl::send_command(InitiatorTask& task) {
  const Command& command = commands_.open(task, credit_.take());
  task.initiator_task_tag = command.tag;
  TaskMemory memory{task.data_out, task.data_in, 0, 0};
  plan_unsolicited(parameters_, datamover_.max_send_data_segment(), memory);

  ScsiCommand pdu = describe(task);
  pdu.initiator_task_tag = command.tag;
  pdu.cmd_sn = command.cmd_sn;
  pdu.exp_stat_sn = exp_stat_sn_;
  pdu.final = memory.immediate_size == memory.unsolicited_size;
  ControlPdu control{encode(pdu), {}, {}};
  if (pdu.read && pdu.write) {
    CommandAhs ahs;
    ahs.bidirectional_read_length = static_cast<std::uint32_t>(task.data_in.size());
    control.ahs = build_command_ahs(ahs);
  }
  if (memory.immediate_size != 0)
    control.data = Buffer::wrap(task.data_out.first(memory.immediate_size));
  datamover_.send_control(std::move(control), pdu.read || pdu.write ? &memory : nullptr);
  send_unsolicited(command, memory);
}

// RFC 7143 section 11.7; RFC 7145 section 7.3.4: all but the last PDU are full.
void InitiatorSessionImpl::send_unsolicited(const Command& command, const TaskMemory& memory) {
  const std::uint32_t segment = datamover_.max_send_data_segment();
  DataOut pdu;
  pdu.initiator_task_tag = command.tag;
  pdu.exp_stat_sn = exp_stat_sn_;
  for (std::uint32_t offset = memory.immediate_size; offset < memory.unsolicited_size;) {
    const std::uint32_t length = std::min(segment, memory.unsolicited_size - offset);
    pdu.buffer_offset = offset;
    pdu.final = offset + length == memory.unsolicited_size;
    datamover_.send_control({encode(pdu), {}, Buffer::wrap(memory.out.subspan(offset, length))},
                            nullptr);
    ++pdu.data_sn;
    offset += length;
  }
}

// RFC 7143 section 11.4
void InitiatorSessionImpl::scsi_response(const ControlPdu& pdu) {
  const auto response = decode_or_end<ScsiResponse>(pdu);
  if (!response) return;
  Command* command = commands_.find(response->initiator_task_tag);
  if (!command) return end(errc::protocol_error);
  InitiatorTask& task = *command->task;
  commands_.close(*command);
  if (response->response != 0) return finish(task, errc::target_failure);
  task.status = response->status;
  const Bytes sense = sense_in(pdu.data.bytes());
  task.sense.assign(sense.begin(), sense.end());
  if (response->underflow) task.residual = -std::int64_t{response->residual_count};
  if (response->overflow) task.residual = response->residual_count;
  finish(task, {});
}

void InitiatorSessionImpl::finish(InitiatorTask& task, ErrorCode error) {
  task.error = error;
  finished_.push_back(&task);
}

void InitiatorSessionImpl::conclude(Command& command, ErrorCode error) {
  InitiatorTask& task = *command.task;
  if (!terminated_ && !connection_gone_) datamover_.deallocate_task_resources(command.tag);
  commands_.close(command);
  finish(task, error);
}

void InitiatorSessionImpl::abort(InitiatorTask& task, Answer answer) {
  const Inside inside(*this);
  const auto waiting = std::ranges::find(waiting_, &task);
  if (waiting != waiting_.end()) {
    waiting_.erase(waiting);
    finish(task, errc::task_aborted);
    calls_.push_back([answer] { answer({}, TaskManagementAnswer::complete); });
    return;
  }
  const Command* command = commands_.find(task.initiator_task_tag);
  if (!command || command->task != &task) {
    calls_.push_back([answer] { answer({}, TaskManagementAnswer::no_task); });
    return;
  }
  send_abort(*command, std::move(answer));
}

// RFC 7143 section 4.2.3.3 c): the tasks a function covered are over with its response.
void InitiatorSessionImpl::conclude_affected(const TaskManagementRequest& request) {
  using Function = TaskManagementFunction;
  const auto function = static_cast<Function>(request.function);
  const bool whole_session = function == Function::target_warm_reset ||
                             function == Function::target_cold_reset ||
                             function == Function::i_t_nexus_reset;
  const bool one_lun = function == Function::abort_task_set ||
                       function == Function::clear_task_set ||
                       function == Function::logical_unit_reset;
  if (!whole_session && !one_lun) return;
  commands_.for_each([&](Command& command) {
    const bool covered = whole_session || same_lun(command.task->lun, request.lun);
    if (covered && serial_less(command.cmd_sn, request.cmd_sn))
      conclude(command, errc::task_aborted);
  });
}

}  // namespace openiser::iscsi
