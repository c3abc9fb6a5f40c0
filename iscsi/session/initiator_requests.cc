// What the initiator's session asks besides SCSI commands, and what it is told.
#include <algorithm>
#include <utility>

#include "iscsi/session/admissible.h"
#include "iscsi/session/initiator_session_impl.h"
#include "iscsi/session/send_targets.h"

namespace openiser::iscsi {
namespace {

// RFC 7143 section 11.9.1
constexpr std::uint8_t kEventLogoutRequest = 1;
constexpr std::uint8_t kEventConnectionDrop = 2;
constexpr std::uint8_t kEventSessionDrop = 3;
constexpr std::uint8_t kEventNegotiationRequest = 4;

// RFC 7143 section 11.19.2: an Initiator Task Tag says whether a NOP-In counts.
bool advances_stat_sn(const Bhs& bhs) {
  return bhs.opcode() != Opcode::nop_in || bhs.initiator_task_tag() != kReservedTag;
}

}  // namespace

// --- asking ---

std::uint32_t InitiatorSessionImpl::fresh_tag() {
  return std::uint32_t{next_tag_++} << 16 | CommandTable::kForeignSlot;
}

// Immediate, so it does not wait for the window and takes no CmdSN.
template <class Request>
void InitiatorSessionImpl::send_immediate(Request request, Buffer data) {
  request.immediate = true;
  request.cmd_sn = credit_.cmd_sn();
  request.exp_stat_sn = exp_stat_sn_;
  urgent_ = true;
  datamover_.send_control({encode(request), {}, std::move(data)}, nullptr);
}

// Numbered while the window is open. Under iSER an immediate PDU counts as outstanding until a
// numbered one has followed it and been acknowledged (RFC 7145 section 8.1.1.3): a session that
// only ever pinged would run out of what the target allows.
template <class Request>
void InitiatorSessionImpl::send_numbered(Request request, Buffer data) {
  if (!credit_.is_open()) return send_immediate(request, std::move(data));
  request.immediate = false;
  request.cmd_sn = credit_.take();
  request.exp_stat_sn = exp_stat_sn_;
  urgent_ = true;
  datamover_.send_control({encode(request), {}, std::move(data)}, nullptr);
}

void InitiatorSessionImpl::manage(TaskManagementFunction function, const Lun& lun, Answer answer) {
  const Inside inside(*this);
  TaskManagementRequest request;
  request.function = static_cast<std::uint8_t>(function);
  request.lun = lun;
  send_management(request, std::move(answer));
}

// RFC 7143 section 11.5.5
void InitiatorSessionImpl::send_abort(const Command& command, Answer answer) {
  TaskManagementRequest request;
  request.function = static_cast<std::uint8_t>(TaskManagementFunction::abort_task);
  request.lun = command.task->lun;
  request.referenced_task_tag = command.tag;
  request.ref_cmd_sn = command.cmd_sn;
  send_management(request, std::move(answer));
}

void InitiatorSessionImpl::send_management(TaskManagementRequest request, Answer answer) {
  if (!is_running()) {
    return management_ended({request, std::move(answer)}, errc::not_logged_in,
                            TaskManagementAnswer::rejected);
  }
  request.initiator_task_tag = fresh_tag();
  request.cmd_sn = credit_.cmd_sn();
  managements_.push_back({request, std::move(answer)});
  send_immediate(request);
}

void InitiatorSessionImpl::ping(Bytes data, std::function<void(ErrorCode error, Bytes echo)> done) {
  const Inside inside(*this);
  if (!is_running()) return ping_ended({kReservedTag, std::move(done)}, errc::not_logged_in, {});
  send_ping(data, std::move(done));
}

// RFC 7143 section 11.18. The data is cut to what can be sent and come back.
void InitiatorSessionImpl::send_ping(Bytes data,
                                     std::function<void(ErrorCode error, Bytes echo)> done) {
  const std::size_t most =
      std::min(datamover_.max_send_data_segment(), parameters_.max_recv_data_segment_length);
  data = data.first(std::min(data.size(), most));
  NopOut request;
  request.initiator_task_tag = fresh_tag();
  pings_.push_back({request.initiator_task_tag, std::move(done)});
  send_numbered(request, data.empty() ? Buffer() : Buffer::copy_of(data));
}

void InitiatorSessionImpl::ping_ended(const PingRequest& ping, ErrorCode error, Buffer echo) {
  if (!ping.done) {
    keep_alive_.answered();
    return host_.deadline_changed();
  }
  calls_.push_back([done = ping.done, error, echo = std::make_shared<Buffer>(std::move(echo))] {
    done(error, echo->bytes());
  });
}

void InitiatorSessionImpl::send_targets(
    std::string what, std::function<void(ErrorCode error, std::vector<TargetRecord>)> done) {
  const Inside inside(*this);
  if (!is_running()) {
    calls_.push_back([done = std::move(done)] { done(errc::not_logged_in, {}); });
    return;
  }
  TextWriter text;
  text.add("SendTargets", what);
  add_text_job({text.take(), std::move(done)});
}

void InitiatorSessionImpl::add_text_job(TextJob job) {
  texts_.push_back(std::move(job));
  if (texts_.size() == 1) start_text();
}

void InitiatorSessionImpl::start_text() {
  TextJob& job = texts_.front();
  if (job.text.size() > datamover_.max_send_data_segment()) return finish_text(errc::text_too_long);
  TextRequest request;
  request.initiator_task_tag = job.tag = fresh_tag();
  send_numbered(request, job.text.empty() ? Buffer() : Buffer::copy_of(as_bytes(job.text)));
}

void InitiatorSessionImpl::finish_text(ErrorCode error, std::vector<TargetRecord> records) {
  TextJob job = std::move(texts_.front());
  texts_.pop_front();
  if (job.done) {
    calls_.push_back([done = std::move(job.done), error, records = std::move(records)] {
      done(error, records);
    });
  }
  if (is_running() && !texts_.empty()) start_text();
}

// T9, T10
void InitiatorSessionImpl::logout() {
  if (!is_running()) return;
  const Inside inside(*this);
  state_ = next_state(state_, ConnectionEvent::logout_started);
  LogoutRequest request;
  request.initiator_task_tag = logout_tag_ = fresh_tag();
  request.cid = parameters_.cid;
  send_immediate(request);
  ending_deadline_ = host_.now() + limits_.logout_timeout;
  host_.deadline_changed();
}

// --- being told ---

void InitiatorSessionImpl::control_notify(ControlPdu pdu) {
  const Inside inside(*this);
  begin_turn();
  if (is_over() || logged_out_) return;
  if (!admit_response(pdu.bhs.opcode())) return end(errc::unexpected_pdu);
  note_numbers(pdu.bhs);
  dispatch(pdu);
}

// RFC 7143 sections 4.2.2.1 and 4.2.2.2. Transports neither lose nor reorder, so a StatSN that
// jumps is the target's way of counting, not a loss.
void InitiatorSessionImpl::note_numbers(const Bhs& bhs) {
  credit_.update(bhs.exp_cmd_sn(), bhs.max_cmd_sn());
  if (!advances_stat_sn(bhs)) return;
  const std::uint32_t next = bhs.stat_sn() + 1;
  if (serial_less(exp_stat_sn_, next)) exp_stat_sn_ = next;
}

void InitiatorSessionImpl::dispatch(ControlPdu& pdu) {
  switch (pdu.bhs.opcode()) {
    case Opcode::scsi_response:
      return scsi_response(pdu);
    case Opcode::task_management_response:
      return management_response(pdu);
    case Opcode::nop_in:
      return nop_in(pdu);
    case Opcode::text_response:
      return text_response(pdu);
    case Opcode::logout_response:
      return logout_response(pdu);
    case Opcode::async_message:
      return async_message(pdu);
    case Opcode::reject:
      return rejected(pdu);
    default:  // admit_response() lets no other through
      return end(errc::unexpected_pdu);
  }
}

std::optional<InitiatorSessionImpl::ManagementRequest> InitiatorSessionImpl::take_management(
    std::uint32_t tag) {
  const auto found = std::ranges::find_if(managements_, [tag](const ManagementRequest& request) {
    return request.pdu.initiator_task_tag == tag;
  });
  if (found == managements_.end()) return {};
  ManagementRequest request = std::move(*found);
  managements_.erase(found);
  return request;
}

std::optional<InitiatorSessionImpl::PingRequest> InitiatorSessionImpl::take_ping(
    std::uint32_t tag) {
  const auto found = std::ranges::find(pings_, tag, &PingRequest::tag);
  if (found == pings_.end()) return {};
  PingRequest request = std::move(*found);
  pings_.erase(found);
  return request;
}

// RFC 7143 section 11.6
void InitiatorSessionImpl::management_response(const ControlPdu& pdu) {
  const auto response = decode_or_end<TaskManagementResponse>(pdu);
  if (!response) return;
  auto request = take_management(response->initiator_task_tag);
  if (!request) return end(errc::protocol_error);
  management_ended(*std::move(request), {}, response->response);
}

void InitiatorSessionImpl::management_ended(ManagementRequest ended, ErrorCode error,
                                            TaskManagementAnswer answer) {
  const bool complete = !error && answer == TaskManagementAnswer::complete;
  if (ended.pdu.function == static_cast<std::uint8_t>(TaskManagementFunction::abort_task)) {
    Command* command = commands_.find(ended.pdu.referenced_task_tag);
    // "Task does not exist": its response should have come before. It never will now.
    const bool gone = complete || (!error && answer == TaskManagementAnswer::no_task);
    if (command && (gone || command->fate))
      conclude(*command, command->fate ? command->fate : make_error_code(errc::task_aborted));
  } else if (complete) {
    conclude_affected(ended.pdu);
  }
  if (!ended.answer) return;
  calls_.push_back([call = std::move(ended.answer), error, answer] { call(error, answer); });
}

// RFC 7143 section 11.19
void InitiatorSessionImpl::nop_in(ControlPdu& pdu) {
  const auto nop = decode_or_end<NopIn>(pdu);
  if (!nop) return;
  if (nop->initiator_task_tag != kReservedTag) {
    const auto ping = take_ping(nop->initiator_task_tag);
    if (!ping) return end(errc::protocol_error);
    return ping_ended(*ping, {}, std::move(pdu.data));
  }
  if (nop->target_transfer_tag == kReservedTag) return;  // it only carried numbers
  NopOut answer;
  answer.lun = nop->lun;
  answer.target_transfer_tag = nop->target_transfer_tag;
  if (!terminated_) send_immediate(answer);
}

// RFC 7143 section 11.11
void InitiatorSessionImpl::text_response(const ControlPdu& pdu) {
  const auto response = decode_or_end<TextResponse>(pdu);
  if (!response) return;
  if (texts_.empty() || texts_.front().tag != response->initiator_task_tag)
    return end(errc::protocol_error);
  TextJob& job = texts_.front();
  if (!job.answer.add(pdu.data.bytes()) || ++job.pdus > kMaxTextPdus)
    return finish_text(errc::text_too_long);
  if (response->final) {
    const auto segment = declared_data_segment(job.answer.text(), parameters_);
    if (!segment) return finish_text(segment.error());
    if (*segment) datamover_.notice_max_send_data_segment(**segment);
    auto records = parse_target_records(job.answer.text());
    return records ? finish_text({}, *std::move(records)) : finish_text(records.error());
  }
  if (is_running()) continue_text(*response);
}

// The rest of an answer is fetched with empty requests, some targets cutting theirs without the C
// bit. Where we asked nothing (Async Message 4) the target may have something to negotiate.
void InitiatorSessionImpl::continue_text(const TextResponse& response) {
  TextJob& job = texts_.front();
  std::string answers;
  if (job.text.empty() && !response.continues) {
    auto made = answer_target(job.answer.text().subspan(job.answered));
    if (!made) return finish_text(made.error());
    answers = *std::move(made);
    job.answered = job.answer.text().size();
  }
  if (answers.size() > datamover_.max_send_data_segment()) return finish_text(errc::text_too_long);
  TextRequest more;
  more.initiator_task_tag = job.tag;
  more.target_transfer_tag = response.target_transfer_tag;
  more.lun = response.lun;
  send_numbered(more, answers.empty() ? Buffer() : Buffer::copy_of(as_bytes(answers)));
}

// RFC 7143 section 11.15
void InitiatorSessionImpl::logout_response(const ControlPdu& pdu) {
  const auto response = decode_or_end<LogoutResponse>(pdu);
  if (!response) return;
  if (logout_tag_ == kReservedTag || response->initiator_task_tag != logout_tag_)
    return end(errc::protocol_error);
  if (response->response != 0) return end(errc::terminated);  // T17
  logged_out_ = true;                                         // T13
  why_ = errc::logged_out;
  // The target closes first (RFC 7143 section 11.14, RFC 7145 section 5.2.1). Linux's, over siw,
  // trips over an initiator that is quicker.
  ending_deadline_ = host_.now() + limits_.close_timeout;
  host_.deadline_changed();
}

// RFC 7143 section 11.9
void InitiatorSessionImpl::async_message(const ControlPdu& pdu) {
  const auto message = decode_or_end<AsyncMessage>(pdu);
  if (!message) return;
  host_.async_message(*message, pdu.data.bytes());
  switch (message->event) {
    case kEventLogoutRequest:
      return logout();
    case kEventConnectionDrop:
    case kEventSessionDrop:
      return end(errc::connection_closed);  // T15, T16
    case kEventNegotiationRequest:
      // To be honoured with a Text Request, which may be empty.
      if (is_running() && texts_.empty()) add_text_job(TextJob());
      return;
    default:
      return;
  }
}

// RFC 7143 sections 7.3 and 11.17: the data segment says what was rejected.
void InitiatorSessionImpl::rejected(const ControlPdu& pdu) {
  const auto reject = decode_or_end<Reject>(pdu);
  if (!reject) return;
  if (pdu.data.size() < kBhsSize) return end(errc::protocol_error);
  Bhs bhs;
  std::copy_n(pdu.data.bytes().begin(), kBhsSize, bhs.raw.begin());
  if (bhs.opcode() == Opcode::scsi_command) {
    Command* command = commands_.find(bhs.initiator_task_tag());
    if (command) command_rejected(*command, reject->reason);
  } else if (bhs.opcode() != Opcode::data_out) {
    // Of a Data-Out it only tells what went wrong: a response follows.
    request_rejected(bhs.initiator_task_tag());
  }
}

// Its CmdSN counts as not received. ABORT TASK plugs the gap (sections 7.3 and 7.11).
void InitiatorSessionImpl::command_rejected(Command& command, RejectReason reason) {
  const bool closing = reason == RejectReason::waiting_for_logout;
  command.fate = closing ? errc::not_logged_in : errc::protocol_error;
  if (is_running()) send_abort(command, {});
}

bool InitiatorSessionImpl::request_rejected(std::uint32_t tag) {
  if (auto request = take_management(tag)) {
    management_ended(*std::move(request), errc::protocol_error, TaskManagementAnswer::rejected);
  } else if (const auto ping = take_ping(tag)) {
    ping_ended(*ping, errc::protocol_error, {});
  } else if (!texts_.empty() && texts_.front().tag == tag) {
    finish_text(errc::protocol_error);
  } else if (tag == logout_tag_ && tag != kReservedTag) {
    end(errc::protocol_error);
  } else {
    return false;
  }
  return true;
}

}  // namespace openiser::iscsi
