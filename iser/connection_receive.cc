// What the queue pair brings.
#include "iscsi/errors.h"
#include "iser/connection.h"
#include "iser/message.h"

namespace openiser::iser {

using iscsi::ControlPdu;
using iscsi::errc;
using iscsi::Opcode;
using Kind = rdmap::Completion::Kind;

void Connection::completions_ready() {
  while (const std::size_t n = queue_pair_->poll(batch_)) {
    for (std::size_t i = 0; i < n; ++i) {
      completed(batch_[i]);
      batch_[i].buffer.reset();
      batch_[i].body.reset();
    }
    finish_turn();
  }
}

void Connection::completed(rdmap::Completion& completion) {
  // Work that failed is lost: the end follows, if it is not under way already. What ended the
  // connection is disconnected()'s to say.
  if (completion.status && !over()) {
    ending_ = true;
    queue_pair_->disconnect(completion.status);
  }
  if (completion.kind == Kind::send) {
    if (completion.id == 0 || !full_) return;
    full_->initiator_tasks.sent(completion.id);
    completion.body.reset();
    return release_parked();
  }
  if (completion.kind != Kind::receive) return transferred(completion);
  receives_.taken();
  if (over()) return;
  if (enabled_) {
    received(completion);
  } else {
    received_login(completion);
  }
}

void Connection::transferred(rdmap::Completion& completion) {
  auto outcome = transfer_.completed(std::move(completion));
  if (outcome.reader && full_) full_->target_tasks.read_ended(*outcome.reader);
  if (outcome.data && client_) client_->data_completion_notify(std::move(*outcome.data));
  if (outcome.acknowledged && client_)
    client_->data_ack_notify(outcome.acknowledged->initiator_task_tag,
                             outcome.acknowledged->data_sn);
}

void Connection::received(rdmap::Completion& completion) {
  const Bytes message = completion.buffer.bytes();
  if (!pass_hello(message)) return recycle(completion);
  const auto layout =
      parse_message(message, settings_.dialect, full_->parameters.max_recv_data_segment_length);
  if (!layout) return fail(layout.error());
  ControlPdu pdu = take_pdu(*layout, completion);
  if (const ErrorCode error = admit(pdu, layout->header, completion.invalidated))
    return fail(error);
  if (parked_.empty() && !must_park(pdu)) return notify(std::move(pdu));
  parked_.push_back(std::move(pdu));
}

void Connection::notify(ControlPdu pdu) {
  if (client_ && !terminated_) client_->control_notify(std::move(pdu));
}

// The session may use the task's memory again when it hears of its response. What comes behind
// keeps its place.
bool Connection::must_park(const ControlPdu& pdu) const {
  return pdu.bhs.opcode() == Opcode::scsi_response &&
         full_->initiator_tasks.in_use(pdu.bhs.initiator_task_tag());
}

void Connection::release_parked() {
  while (!parked_.empty() && !must_park(parked_.front())) {
    ControlPdu pdu = std::move(parked_.front());
    parked_.pop_front();
    notify(std::move(pdu));
  }
}

// True when the message is a control-type PDU that may come now.
bool Connection::pass_hello(Bytes message) {
  const auto step = full_->hello->received(message);
  if (step.reply) post_announcement(*step.reply);
  if (step.error) {
    fail(step.error);
  } else if (!step.control) {
    note_reads();
    release_held();  // now, so that nothing the session sends next gets ahead
  }
  return step.control && !step.error;
}

void Connection::note_reads() {
  std::uint32_t& reads = is_target() ? negotiated_->capabilities.outbound_reads
                                     : negotiated_->capabilities.inbound_reads;
  reads = full_->hello->reads();
  transfer_.set_read_limit(negotiated_->capabilities.outbound_reads);
}

template <class Announcement>
void Connection::post_announcement(const Announcement& announcement) {
  Buffer head = take_small(pool_, facts(settings_.dialect).header_size);
  encode(announcement, settings_.dialect, head.bytes());
  queue_pair_->post_send({.id = 0,
                          .head = std::move(head),
                          .body = {},
                          .invalidate = {},
                          .solicited_event = settings_.send_solicited_events ||
                                             settings_.dialect == Dialect::rfc5046});
}
template void Connection::post_announcement(const Hello&);
template void Connection::post_announcement(const HelloReply&);

// Credit comes back by the posted buffer when nothing in it is kept, else by another when the batch
// is through.
ControlPdu Connection::take_pdu(const MessageLayout& layout, rdmap::Completion& completion) {
  ControlPdu pdu;
  pdu.bhs = layout.bhs;
  if (layout.ahs_size > 0) {
    pdu.ahs = take_small(pool_, layout.ahs_size);
    std::memcpy(pdu.ahs.data(), completion.buffer.data() + layout.ahs_at, layout.ahs_size);
  }
  if (layout.data_size > 0) {
    pdu.data = std::move(completion.buffer);
    pdu.data.trim_front(layout.data_at);
    pdu.data.resize(layout.data_size);
    if (completion.body) recycle(completion);
  } else {
    recycle(completion);
  }
  return pdu;
}

void Connection::recycle(rdmap::Completion& completion) {
  Buffer& posted = completion.body ? completion.body : completion.buffer;
  receives_.recycle(std::move(posted));
}

// Checks the PDU against the state of the connection, and notes what follows from it.
ErrorCode Connection::admit(const ControlPdu& pdu, const ControlHeader& header,
                            std::optional<rdmap::Stag> invalidated) {
  const Opcode opcode = pdu.bhs.opcode();
  // Data-type PDUs never travel as such (section 7.1).
  if (opcode == Opcode::data_in || opcode == Opcode::r2t) return errc::protocol_error;
  if (invalidated && opcode != Opcode::scsi_response) return errc::iser_invalidated_stag;
  if (!full_->received_unexpected.passes(pdu)) return errc::too_many_unexpected_pdus;
  full_->sent_unexpected.answered(pdu.bhs);
  return is_target() ? admit_request(pdu, header) : admit_answer(pdu, invalidated);
}

ErrorCode Connection::admit_answer(const ControlPdu& pdu, std::optional<rdmap::Stag> invalidated) {
  std::uint32_t& others = full_->other_requests;
  switch (pdu.bhs.opcode()) {
    case Opcode::scsi_response:
      return full_->initiator_tasks.conclude(pdu.bhs.initiator_task_tag(), invalidated);
    case Opcode::task_management_response:
    case Opcode::text_response:
    case Opcode::logout_response:
      if (others > 0) --others;
      return {};
    case Opcode::nop_in:
      if (others > 0 && pdu.bhs.initiator_task_tag() != iscsi::kReservedTag) --others;
      return {};
    case Opcode::reject: {
      // A rejected command is the session's to deallocate.
      const auto rejected = rejected_header(pdu);
      if (others > 0 && rejected && rejected->opcode() != Opcode::scsi_command &&
          awaits_answer(rejected->opcode()))
        --others;
      return {};
    }
    default:
      return {};
  }
}

ErrorCode Connection::admit_request(const ControlPdu& pdu, const ControlHeader& header) {
  switch (pdu.bhs.opcode()) {
    case Opcode::scsi_command:
      return full_->target_tasks.open(pdu, header);
    case Opcode::task_management_request:
      return is_task_reassign(pdu.bhs) ? full_->target_tasks.reassign(pdu, header) : ErrorCode();
    case Opcode::data_out:
      // Solicited data comes in RDMA Read Responses only (section 7.3.4).
      return target_transfer_tag(pdu.bhs) == iscsi::kReservedTag ? ErrorCode()
                                                                 : errc::protocol_error;
    case Opcode::scsi_response:
      return errc::wrong_opcode;
    default:
      return {};
  }
}

// Before authentication: one PDU at a time, within the limits of the login phase, and nothing else
// (RFC 7143 section 6.3).
void Connection::received_login(rdmap::Completion& completion) {
  const Bytes message = completion.buffer.bytes();
  const auto kind = message_kind(message);
  if (kind && *kind != MessageKind::control) return fail(errc::iser_hello);
  const auto layout = parse_message(message, settings_.dialect, kLoginDataSegment);
  if (!layout) return fail(layout.error());
  if (layout->ahs_size > 0) return fail(errc::ahs_too_long);
  if (completion.invalidated) return fail(errc::iser_invalidated_stag);
  if (!login_) return fail(errc::unexpected_pdu);
  ControlPdu pdu;
  pdu.bhs = layout->bhs;
  Buffer data = std::move(completion.buffer);
  data.trim_front(layout->data_at);
  data.resize(layout->data_size);
  pdu.data = std::move(data);
  login_->login_pdu(std::move(pdu));
}

}  // namespace openiser::iser
