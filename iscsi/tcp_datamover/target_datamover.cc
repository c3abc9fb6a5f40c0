#include "iscsi/tcp_datamover/target_datamover.h"

#include <algorithm>

#include "base/assert.h"
#include "iscsi/pdu/ahs.h"

namespace openiser::iscsi {
namespace {

constexpr std::size_t kOutputLimit = std::size_t{8} << 20;
constexpr std::size_t kAbortedGets = 1024;

}  // namespace

TargetDatamover::TargetDatamover(StreamStart start)
    : StreamDatamover(std::move(start), kOutputLimit) {}

// --- Put_Data ---

std::uint32_t TargetDatamover::data_in_pdus(std::uint32_t length) const {
  if (length == 0) return 1;
  return length / data_segment() + (length % data_segment() != 0);
}

// The F bit also ends a sequence within the run wherever the next PDU would take it beyond
// MaxBurstLength (RFC 7143 section 11.7.1). Status goes with the last PDU.
void TargetDatamover::put_data(const DataIn& run, Buffer data, bool notify) {
  const PduWriter::Notice notice{notify, run.initiator_task_tag, run.data_sn, false};
  if (!open()) {
    if (notify)
      defer({DataCompletion::Kind::put, run.initiator_task_tag, run.data_sn, end_reason(),
             std::move(data)});
    return;
  }
  bool referred = false;
  std::size_t burst = 0;
  Bytes rest = data.bytes();
  DataIn pdu = run;
  do {
    const Bytes segment = rest.first(std::min<std::size_t>(rest.size(), data_segment()));
    rest = rest.subspan(segment.size());
    burst += segment.size();
    const bool last = rest.empty();
    const std::size_t next = std::min<std::size_t>(rest.size(), data_segment());
    pdu.final = last ? run.final : burst + next > parameters_.max_burst_length;
    pdu.has_status = last && run.has_status;
    pdu.acknowledge = last && run.acknowledge;
    if (pdu.final) burst = 0;
    referred |= writer_.write(encode(pdu), {}, segment);
    ++pdu.data_sn;
    pdu.buffer_offset += static_cast<std::uint32_t>(segment.size());
  } while (!rest.empty());
  if (referred || notify) writer_.keep(std::move(data), notice);
}

// --- Get_Data ---

void TargetDatamover::get_data(const R2t& pdu, Buffer sink) {
  ISER_ASSERT(sink.size() == pdu.desired_data_transfer_length);
  Get get{pdu.initiator_task_tag, pdu.r2t_sn, pdu.buffer_offset, 0, 0, std::move(sink), false};
  if (!open()) return complete(get, end_reason());
  if (get.sink.empty()) return complete(get, {});  // an R2T for nothing is not allowed
  R2t r2t = pdu;
  r2t.target_transfer_tag = new_transfer_tag();
  gets_.insert(r2t.target_transfer_tag, std::move(get));
  writer_.write(encode(r2t), {}, {});
}

// Not the reserved tag (RFC 7143 section 11.8.5), and none that is in use.
std::uint32_t TargetDatamover::new_transfer_tag() {
  do {
    ++last_transfer_tag_;
  } while (last_transfer_tag_ == kReservedTag || gets_.find(last_transfer_tag_));
  return last_transfer_tag_;
}

void TargetDatamover::complete(Get& get, ErrorCode status) {
  defer(
      {DataCompletion::Kind::get, get.initiator_task_tag, get.r2t_sn, status, std::move(get.sink)});
}

// --- end of a task ---

void TargetDatamover::deallocate_task_resources(std::uint32_t initiator_task_tag) {
  // A run already queued goes out whole, from the lease we hold: the stream has to stay in step.
  writer_.mark_aborted(initiator_task_tag);
  for (auto& [tag, get] : gets_) {
    if (get.initiator_task_tag == initiator_task_tag && !get.aborted) abort(tag, get);
  }
  while (aborted_.size() > kAbortedGets) {
    gets_.erase(aborted_.front());
    aborted_.pop_front();
  }
}

void TargetDatamover::abort(std::uint32_t target_transfer_tag, Get& get) {
  if (arriving_ == target_transfer_tag) framer_.drop_rest();
  get.aborted = true;
  complete(get, errc::task_aborted);
  aborted_.push_back(target_transfer_tag);
}

void TargetDatamover::abandon_transfers(ErrorCode why) {
  for (auto& [tag, get] : gets_) {
    if (!get.aborted) complete(get, why);
  }
  gets_ = {};
}

// --- what comes ---

Result<Placement> TargetDatamover::header_arrived(const Bhs& bhs) {
  // Only a SCSI Command has additional header segments (RFC 7143 section 11.2.2).
  if (bhs.total_ahs_length() > 0 && bhs.opcode() != Opcode::scsi_command) return errc::ahs_too_long;
  if (bhs.opcode() == Opcode::data_out) return data_out_arrives(bhs);
  return Placement();
}

Result<Placement> TargetDatamover::data_out_arrives(const Bhs& bhs) {
  const Result<DataOut> pdu = decode<DataOut>(bhs);
  if (!pdu) return pdu.error();
  if (pdu->target_transfer_tag == kReservedTag) return Placement();  // unsolicited
  Get* get = gets_.find(pdu->target_transfer_tag);
  if (!get || get->initiator_task_tag != pdu->initiator_task_tag)
    return errc::bad_target_transfer_tag;
  arriving_ = pdu->target_transfer_tag;
  if (get->aborted) return Placement{Placement::Kind::drop, {}};

  // With DataPDUInOrder=Yes, which we always end with, and on a stream that loses nothing, every
  // PDU has one right DataSN and one right offset (RFC 7143 sections 11.7.5 and 11.7.6).
  const std::uint32_t length = bhs.data_segment_length();
  if (pdu->data_sn != get->next_data_sn) return errc::bad_data_sn;
  if (pdu->buffer_offset != get->buffer_offset + get->received) return errc::bad_buffer_offset;
  if (length > get->sink.size() - get->received) return errc::burst_too_long;
  // The last PDU of the sequence has the F bit; it may be an empty one.
  if (pdu->final && length != get->sink.size() - get->received) return errc::protocol_error;
  return Placement{Placement::Kind::place, get->sink.bytes().subspan(get->received, length)};
}

Status TargetDatamover::pdu_arrived(ControlPdu pdu, Placement::Kind kind) {
  if (kind != Placement::Kind::collect) return data_out_arrived(pdu.bhs);
  notify_control(std::move(pdu));
  return {};
}

Status TargetDatamover::data_out_arrived(const Bhs& bhs) {
  const std::uint32_t tag = std::exchange(arriving_, kReservedTag);
  Get* get = gets_.find(tag);
  if (!get) return {};  // aborted and forgotten while this PDU was coming
  ++get->next_data_sn;
  get->received += bhs.data_segment_length();
  if (!bhs.final()) return {};
  Get done = std::move(*get);
  gets_.erase(tag);
  if (done.aborted) {
    std::erase(aborted_, tag);
    return {};
  }
  up().data_completion_notify({DataCompletion::Kind::get, done.initiator_task_tag, done.r2t_sn,
                               ErrorCode(), std::move(done.sink)});
  return {};
}

}  // namespace openiser::iscsi
