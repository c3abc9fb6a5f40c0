// What the session asks for.
#include "base/assert.h"
#include "iscsi/errors.h"
#include "iscsi/pdu/ahs.h"
#include "iser/connection.h"
#include "iser/message.h"

namespace openiser::iser {

using iscsi::ControlPdu;
using iscsi::errc;
using iscsi::Opcode;

// A login PDU. RFC 7145 section 4.2 has it in the byte stream; where the connection starts in RDMA
// mode it goes behind a header like any other.
void Connection::send(ControlPdu pdu) {
  if (over()) return;
  receives_.replenish();
  post_message({}, std::move(pdu), {});
  queue_pair_->flush();
}

void Connection::send_control(ControlPdu pdu, const iscsi::TaskMemory* memory) {
  if (over() || !enabled_) return;
  if ((held_.empty() || may_overtake(pdu)) && !must_wait(pdu)) {
    post_control(std::move(pdu), memory);
    return;
  }
  Held& held = held_.emplace_back();
  held.pdu = std::move(pdu);
  if (memory) held.memory = *memory;
}

bool Connection::must_wait(const ControlPdu& pdu) {
  if (!full_->hello || !full_->hello->open()) return true;
  if (is_unexpected(pdu, settings_.role)) {
    if (is_target() && awaiting_first_message()) return true;
    return !full_->sent_unexpected.room_to_send(pdu);
  }
  if (!is_target()) return false;
  // An answer after which the initiator takes its memory back comes behind all reads from it.
  switch (pdu.bhs.opcode()) {
    case Opcode::scsi_response:
      return full_->target_tasks.reading(pdu.bhs.initiator_task_tag());
    case Opcode::task_management_response:
      return transfer_.aborted_reads() > 0;
    default:
      return false;
  }
}

// Whether it may be sent before what is held. A target's PDUs are numbered by StatSN and keep their
// order, but for pings, which take no number. At an initiator only immediate PDUs are held, which
// take no CmdSN: all others may go first.
bool Connection::may_overtake(const ControlPdu& pdu) const {
  if (is_target()) return is_nop_in_ping(pdu.bhs);
  return !is_unexpected(pdu, Role::initiator);
}

void Connection::release_held() {
  if (held_.empty()) return;
  std::deque<Held> held;
  held.swap(held_);
  for (Held& one : held) {
    if (over()) return;
    if ((held_.empty() || may_overtake(one.pdu)) && !must_wait(one.pdu)) {
      post_control(std::move(one.pdu), one.memory ? &*one.memory : nullptr);
    } else {
      held_.push_back(std::move(one));
    }
  }
}

// Before a graceful end: everything but what the peer would not take.
void Connection::send_rest() {
  if (!full_ || !full_->hello || !full_->hello->open()) return;
  for (Held& one : held_) {
    if (over()) return;
    if (is_unexpected(one.pdu, settings_.role) && !full_->sent_unexpected.room_to_send(one.pdu))
      continue;
    post_control(std::move(one.pdu), one.memory ? &*one.memory : nullptr);
  }
}

void Connection::drop_held_of(std::uint32_t initiator_task_tag) {
  std::erase_if(held_, [&](const Held& held) {
    const iscsi::Bhs& bhs = held.pdu.bhs;
    return bhs.initiator_task_tag() == initiator_task_tag &&
           (bhs.opcode() == Opcode::scsi_command || bhs.opcode() == Opcode::data_out);
  });
}

void Connection::post_control(ControlPdu pdu, const iscsi::TaskMemory* memory) {
  ControlHeader header;
  std::optional<rdmap::Stag> invalidate;
  if (is_target()) {
    invalidate = prepare_answer(pdu);
  } else {
    const auto prepared = prepare_request(pdu, memory);
    if (!prepared) return fail(prepared.error());
    header = *prepared;
    provide_for_answer(pdu.bhs.opcode());
  }
  full_->sent_unexpected.passes(pdu);
  full_->received_unexpected.answered(pdu.bhs);
  const bool from_task_memory =
      !pdu.data.empty() && !is_target() &&
      (pdu.bhs.opcode() == Opcode::scsi_command || pdu.bhs.opcode() == Opcode::data_out);
  const rdmap::WorkId id =
      from_task_memory ? full_->initiator_tasks.sending(pdu.bhs.initiator_task_tag()) : 0;
  post_message(header, std::move(pdu), invalidate, id);
}

// RFC 7145 sections 7.3.1 and 7.3.3.
Result<ControlHeader> Connection::prepare_request(const ControlPdu& pdu,
                                                  const iscsi::TaskMemory* memory) {
  using rdmap::Access;
  if (pdu.bhs.opcode() == Opcode::scsi_command)
    return full_->initiator_tasks.open(pdu.bhs.initiator_task_tag(), memory, full_->base_offset,
                                       Access::remote_write_fresh);
  if (!is_task_reassign(pdu.bhs)) return ControlHeader{};
  // What came before the reassignment stays.
  constexpr Access kKept = Access::remote_write;
  if (!memory) return full_->initiator_tasks.open(referenced_task_tag(pdu.bhs), nullptr, {}, kKept);
  // Section 9.2: all but the immediate data may be asked for now, at its offset in the whole.
  iscsi::TaskMemory all = *memory;
  all.unsolicited_size = all.immediate_size;
  return full_->initiator_tasks.open(referenced_task_tag(pdu.bhs), &all, BaseOffset::whole_buffer,
                                     kKept);
}

// RFC 7145 section 7.3.2: the Remote Mapping goes before the response does.
std::optional<rdmap::Stag> Connection::prepare_answer(const ControlPdu& pdu) {
  full_->target_tasks.rejected(pdu);
  if (pdu.bhs.opcode() != Opcode::scsi_response) return {};
  const auto stag = full_->target_tasks.conclude(pdu.bhs.initiator_task_tag());
  return invalidate_remotely_ ? stag : std::nullopt;
}

// RFC 7145 section 8.1.1.1: no request without a receive for its answer.
void Connection::provide_for_answer(Opcode opcode) {
  if (!awaits_answer(opcode)) return;
  if (opcode != Opcode::scsi_command) ++full_->other_requests;
  const std::size_t answers = full_->initiator_tasks.size() + full_->other_requests;
  const std::size_t wanted = answers + full_->receives.spare;
  if (wanted > full_->receives.count) {
    full_->receives.count = static_cast<std::uint32_t>(wanted);
    receives_.provide(full_->receives.count);
  }
}

void Connection::post_message(const ControlHeader& header, ControlPdu pdu,
                              std::optional<rdmap::Stag> invalidate, rdmap::WorkId id) {
  ISER_ASSERT(pdu.data.size() < (1u << 24) && pdu.ahs.size() <= iscsi::kMaxTotalAhs);
  pdu.bhs.set_data_segment_length(static_cast<std::uint32_t>(pdu.data.size()));
  pdu.bhs.set_total_ahs_length(pdu.ahs.size());
  queue_pair_->post_send({.id = id,
                          .head = make_head(header, pdu, settings_.dialect, pool_),
                          .body = std::move(pdu.data),
                          .invalidate = invalidate,
                          .solicited_event = solicits_event(pdu.bhs)});
}

// RFC 5046 section 7.3 has SendSE for all but Data-Outs that others follow; RFC 7145 section 1.5.2
// leaves it open.
bool Connection::solicits_event(const iscsi::Bhs& bhs) const {
  const bool more_follows = bhs.opcode() == Opcode::data_out && !bhs.final();
  return !more_follows &&
         (settings_.send_solicited_events || settings_.dialect == Dialect::rfc5046);
}

void Connection::put_data(const iscsi::DataIn& pdu, Buffer data, bool notify) {
  ISER_ASSERT(is_target());
  const auto sink = enabled_ && !over() ? full_->target_tasks.sink(pdu.initiator_task_tag,
                                                                   pdu.buffer_offset, data.size())
                                        : Result<rdmap::RemoteMemory>(errc::connection_closed);
  ErrorCode error = sink ? ErrorCode() : sink.error();
  if (!error && pdu.acknowledge && transfer_.read_limit() == 0)
    error = errc::iser_no_outbound_reads;
  if (!error) {
    const std::uint32_t pdus = data_in_pdus(static_cast<std::uint32_t>(data.size()));
    return transfer_.put(pdu, std::move(data), notify, *sink, pdus);
  }
  if (notify)
    defer({.kind = iscsi::DataCompletion::Kind::put,
           .initiator_task_tag = pdu.initiator_task_tag,
           .sequence_number = pdu.data_sn,
           .status = error,
           .buffer = std::move(data)});
  if (error != errc::task_aborted) fail(error);
}

// An RDMA Write has no DataSegmentLength to exceed.
std::uint32_t Connection::data_in_pdus(std::uint32_t) const {
  return 1;
}

void Connection::get_data(const iscsi::R2t& pdu, Buffer sink) {
  ISER_ASSERT(is_target() && sink.size() == pdu.desired_data_transfer_length);
  const auto source =
      enabled_ && !over()
          ? full_->target_tasks.source(pdu.initiator_task_tag, pdu.buffer_offset, sink.size())
          : Result<rdmap::RemoteMemory>(errc::connection_closed);
  ErrorCode error = source ? ErrorCode() : source.error();
  // Section 7.3.6 item 3.
  if (!error && transfer_.read_limit() == 0) error = errc::iser_no_outbound_reads;
  if (!error) {
    full_->target_tasks.read_started(pdu.initiator_task_tag);
    return transfer_.get(pdu, std::move(sink), *source);
  }
  defer({.kind = iscsi::DataCompletion::Kind::get,
         .initiator_task_tag = pdu.initiator_task_tag,
         .sequence_number = pdu.r2t_sn,
         .status = error,
         .buffer = std::move(sink)});
  if (error != errc::task_aborted) fail(error);
}

void Connection::deallocate_task_resources(std::uint32_t initiator_task_tag) {
  if (!full_) return;
  drop_held_of(initiator_task_tag);
  full_->initiator_tasks.close(initiator_task_tag);
  full_->target_tasks.close(initiator_task_tag);
  transfer_.abort(initiator_task_tag, deferred_);
}

void Connection::flush() {
  if (!over() && enabled_) receives_.replenish();
  queue_pair_->flush();
  look_at_deadline();
}

std::uint32_t Connection::max_send_data_segment() const {
  return full_ ? full_->parameters.max_send_data_segment_length : kLoginDataSegment;
}

}  // namespace openiser::iser
