#include "iscsi/tcp_datamover/initiator_datamover.h"

#include <algorithm>

#include "base/assert.h"

namespace openiser::iscsi {
namespace {

// Data-Out is cut only this far ahead of what is sent, so that commands and answers queued later
// do not wait long, and each PDU carries a recent ExpStatSN.
constexpr std::size_t kOutputAhead = std::size_t{1} << 20;
// Far beyond what a full command window of immediate data takes. If an initiator stopped reading as
// early as a target does, two that wait for each other to read could wait for ever.
constexpr std::size_t kOutputLimit = std::size_t{64} << 20;

}  // namespace

InitiatorDatamover::InitiatorDatamover(StreamStart start)
    : StreamDatamover(std::move(start), kOutputLimit) {}

void InitiatorDatamover::put_data(const DataIn&, Buffer, bool) {
  ISER_ASSERT(!"Put_Data is of targets");
}
std::uint32_t InitiatorDatamover::data_in_pdus(std::uint32_t) const {
  ISER_ASSERT(!"Put_Data is of targets");
  return 0;
}
void InitiatorDatamover::get_data(const R2t&, Buffer) {
  ISER_ASSERT(!"Get_Data is of targets");
}

// --- tasks ---

void InitiatorDatamover::send_control(ControlPdu pdu, const TaskMemory* memory) {
  if (!open()) return;
  const std::uint32_t tag = pdu.bhs.initiator_task_tag();
  const Opcode opcode = pdu.bhs.opcode();
  const bool with_data = !pdu.data.empty();
  if (memory) tasks_.insert(tag, {memory->out, memory->in, 0, 0});
  StreamDatamover::send_control(std::move(pdu), memory);
  if (!with_data || (opcode != Opcode::scsi_command && opcode != Opcode::data_out)) return;
  if (Task* task = tasks_.find(tag)) task->output_end = writer_.output().end();
}

void InitiatorDatamover::deallocate_task_resources(std::uint32_t initiator_task_tag) {
  if (arriving_ == initiator_task_tag) framer_.drop_rest();
  release_task(initiator_task_tag);
}

void InitiatorDatamover::release_task(std::uint32_t initiator_task_tag) {
  Task* task = tasks_.find(initiator_task_tag);
  if (!task) return;
  if (task->output_end > writer_.output().sent_total()) writer_.output().detach(task->out);
  if (task->open_r2ts > 0) {
    std::erase_if(transfers_, [&](const Transfer& transfer) {
      return transfer.initiator_task_tag == initiator_task_tag;
    });
  }
  tasks_.erase(initiator_task_tag);
}

void InitiatorDatamover::abandon_transfers(ErrorCode) {
  transfers_.clear();
  tasks_ = {};
}

// --- what comes ---

Result<Placement> InitiatorDatamover::header_arrived(const Bhs& bhs) {
  // No PDU of a target has additional header segments (RFC 7143 section 11.2.2).
  if (bhs.total_ahs_length() > 0) return errc::ahs_too_long;
  if (bhs.opcode() == Opcode::data_in) return data_in_arrives(bhs);
  return Placement();
}

Result<Placement> InitiatorDatamover::data_in_arrives(const Bhs& bhs) {
  const Result<DataIn> pdu = decode<DataIn>(bhs);
  if (!pdu) return pdu.error();
  const Task* task = tasks_.find(pdu->initiator_task_tag);
  // Its task was aborted: data may still have been on the way.
  if (!task) return Placement{Placement::Kind::drop, {}};
  const std::size_t length = bhs.data_segment_length();
  if (pdu->buffer_offset > task->in.size() || length > task->in.size() - pdu->buffer_offset)
    return errc::bad_buffer_offset;
  arriving_ = pdu->initiator_task_tag;
  return Placement{Placement::Kind::place, task->in.subspan(pdu->buffer_offset, length)};
}

Status InitiatorDatamover::pdu_arrived(ControlPdu pdu, Placement::Kind) {
  switch (pdu.bhs.opcode()) {
    case Opcode::data_in:
      return data_in_arrived(pdu.bhs);
    case Opcode::r2t:
      return r2t_arrived(pdu.bhs);
    case Opcode::scsi_response:
      release_task(pdu.bhs.initiator_task_tag());
      break;
    default:
      break;
  }
  notify_control(std::move(pdu));
  return {};
}

// Status that came with data (RFC 7143 section 11.7.3) becomes the SCSI Response it stands for.
Status InitiatorDatamover::data_in_arrived(const Bhs& bhs) {
  arriving_ = kReservedTag;
  const Result<DataIn> pdu = decode<DataIn>(bhs);
  if (!pdu) return pdu.error();
  if (pdu->acknowledge) acknowledge(*pdu);
  if (!pdu->has_status) {
    up().window_notify(pdu->exp_cmd_sn, pdu->max_cmd_sn);
    return {};
  }
  ScsiResponse response;
  response.overflow = pdu->overflow;
  response.underflow = pdu->underflow;
  response.status = pdu->status;
  response.initiator_task_tag = pdu->initiator_task_tag;
  response.stat_sn = pdu->stat_sn;
  response.exp_cmd_sn = pdu->exp_cmd_sn;
  response.max_cmd_sn = pdu->max_cmd_sn;
  response.exp_data_sn = pdu->data_sn + 1;
  response.residual_count = pdu->residual_count;
  release_task(pdu->initiator_task_tag);
  notify_control({encode(response), {}, {}});
  return {};
}

// With ErrorRecoveryLevel 0 the A bit is to be ignored (RFC 7143 section 11.7.2).
void InitiatorDatamover::acknowledge(const DataIn& pdu) {
  if (parameters_.error_recovery_level == 0) return;
  SnackRequest ack;
  ack.type = 2;  // DataACK
  ack.lun = pdu.lun;
  ack.initiator_task_tag = kReservedTag;
  ack.target_transfer_tag = pdu.target_transfer_tag;
  ack.exp_stat_sn = client().exp_stat_sn();
  ack.beg_run = pdu.data_sn + 1;
  writer_.write(encode(ack), {}, {});
}

Status InitiatorDatamover::r2t_arrived(const Bhs& bhs) {
  const Result<R2t> pdu = decode<R2t>(bhs);
  if (!pdu) return pdu.error();
  up().window_notify(pdu->exp_cmd_sn, pdu->max_cmd_sn);
  Task* task = tasks_.find(pdu->initiator_task_tag);
  if (!task) return {};  // aborted meanwhile
  const std::size_t length = pdu->desired_data_transfer_length;
  if (pdu->buffer_offset > task->out.size() || length > task->out.size() - pdu->buffer_offset)
    return errc::bad_buffer_offset;
  // RFC 7143 section 13.17. Answered ones no longer count, though the target may not know yet.
  if (task->open_r2ts >= parameters_.max_outstanding_r2t) return errc::protocol_error;
  ++task->open_r2ts;
  transfers_.push_back({pdu->initiator_task_tag, pdu->target_transfer_tag, pdu->lun,
                        pdu->buffer_offset, 0, task->out.subspan(pdu->buffer_offset, length)});
  return {};
}

// --- Data-Out ---

void InitiatorDatamover::refill_output() {
  while (open() && !transfers_.empty() && writer_.output().size() < kOutputAhead)
    send_next_data_out();
}

// DataSN starts from 0 for each R2T (RFC 7143 section 11.7.5).
void InitiatorDatamover::send_next_data_out() {
  Transfer& transfer = transfers_.front();
  Task* task = tasks_.find(transfer.initiator_task_tag);
  ISER_ASSERT(task);
  const Bytes segment =
      transfer.rest.first(std::min<std::size_t>(transfer.rest.size(), data_segment()));
  transfer.rest = transfer.rest.subspan(segment.size());
  DataOut pdu;
  pdu.final = transfer.rest.empty();
  pdu.lun = transfer.lun;
  pdu.initiator_task_tag = transfer.initiator_task_tag;
  pdu.target_transfer_tag = transfer.target_transfer_tag;
  pdu.exp_stat_sn = client().exp_stat_sn();
  pdu.data_sn = transfer.data_sn++;
  pdu.buffer_offset = transfer.buffer_offset;
  transfer.buffer_offset += static_cast<std::uint32_t>(segment.size());
  if (writer_.write(encode(pdu), {}, segment)) task->output_end = writer_.output().end();
  if (!pdu.final) return;
  --task->open_r2ts;
  transfers_.pop_front();
}

}  // namespace openiser::iscsi
