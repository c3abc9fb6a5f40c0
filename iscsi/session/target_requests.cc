// PDUs from the initiator, in full feature phase.
#include <algorithm>
#include <utility>

#include "iscsi/session/target_session_impl.h"

namespace openiser::iscsi {
namespace {

// RFC 7143 section 11.14.1
constexpr std::uint8_t kCloseConnection = 1;
constexpr std::uint8_t kRemoveForRecovery = 2;
// RFC 7143 section 11.15.1
constexpr std::uint8_t kCidNotFound = 1;
constexpr std::uint8_t kRecoveryNotSupported = 2;

}  // namespace

void TargetSessionImpl::control_notify(ControlPdu pdu) {
  const Inside inside(*this);
  begin_turn();
  const Opcode opcode = pdu.bhs.opcode();
  const Admission admission =
      admit_request(state_, parameters_.session_type, parameters_.rdma_extensions, opcode);
  if (admission.kind == Admission::Kind::drop) return;
  if (admission.kind == Admission::Kind::reject) {
    refuse(pdu, admission.reason);
  } else if (opcode == Opcode::data_out) {
    data_out(std::move(pdu));
  } else if (pdu.bhs.immediate()) {
    accept(pdu);
  } else {
    numbered(std::move(pdu));
  }
}

// RFC 7143 section 4.2.2.1. What waited for it goes on in settle().
void TargetSessionImpl::numbered(ControlPdu pdu) {
  const std::uint32_t cmd_sn = pdu.bhs.cmd_sn();
  switch (window_.judge(cmd_sn)) {
    case CommandWindow::Verdict::drop:
      return;
    case CommandWindow::Verdict::hold:
      return window_.hold(cmd_sn, std::move(pdu));
    case CommandWindow::Verdict::deliver:
      accept(pdu);
  }
}

void TargetSessionImpl::deliver_held() {
  while (is_running()) {
    auto pdu = window_.next_held();
    if (!pdu || !accept(*pdu)) return;
  }
}

bool TargetSessionImpl::accept(ControlPdu& pdu) {
  switch (pdu.bhs.opcode()) {
    case Opcode::scsi_command:
      return scsi_command(pdu);
    case Opcode::task_management_request:
      return task_management(pdu);
    case Opcode::nop_out:
      return nop_out(pdu);
    case Opcode::text_request:
      return text_request(pdu);
    case Opcode::logout_request:
      return logout_request(pdu);
    default:  // admit_request() lets no other through
      return refuse(pdu, RejectReason::command_not_supported);
  }
}

bool TargetSessionImpl::refuse(const ControlPdu& pdu, RejectReason reason) {
  sender_.reject(pdu.bhs, reason);
  return false;
}

template <class Request>
std::optional<Request> TargetSessionImpl::decode_or_reject(const ControlPdu& pdu) {
  const auto request = decode<Request>(pdu.bhs);
  if (request) return *request;
  refuse(pdu, reject_reason_of(request.error()).value_or(RejectReason::protocol_error));
  return {};
}

bool TargetSessionImpl::tag_in_use(std::uint32_t initiator_task_tag) const {
  return tasks_.find(initiator_task_tag) || management_.is_open(initiator_task_tag) ||
         text_.is_open(initiator_task_tag);
}

void TargetSessionImpl::take_place(bool immediate) {
  if (!immediate) window_.advance();
}
void TargetSessionImpl::free_place(bool immediate) {
  if (!immediate) window_.retire();
}

// RFC 7143 section 11.3
bool TargetSessionImpl::scsi_command(ControlPdu& pdu) {
  const auto command = decode_or_reject<ScsiCommand>(pdu);
  if (!command) return false;
  const auto ahs = parse_command_ahs(pdu.ahs.bytes());
  // Section 11.3.4: a bidirectional command brings its read length in an AHS.
  const bool length_missing =
      command->read && command->write && ahs && !ahs->bidirectional_read_length;
  if (!ahs || length_missing) return refuse(pdu, RejectReason::invalid_pdu_field);
  if (tag_in_use(command->initiator_task_tag)) return refuse(pdu, RejectReason::task_in_progress);
  if (command->immediate && immediate_tasks_ >= limits_.immediate_commands)
    return refuse(pdu, RejectReason::immediate_command_reject);
  take_place(command->immediate);
  busy_ = keep_alive_.last_heard();
  open_task(*command, *ahs).execute(std::move(pdu.data));
  return true;
}

// RFC 7143 section 11.5
bool TargetSessionImpl::task_management(const ControlPdu& pdu) {
  const auto request = decode_or_reject<TaskManagementRequest>(pdu);
  if (!request) return false;
  if (tag_in_use(request->initiator_task_tag)) return refuse(pdu, RejectReason::task_in_progress);
  if (request->immediate && management_.open() >= limits_.immediate_commands)
    return refuse(pdu, RejectReason::immediate_command_reject);
  // A CmdSN the initiator cannot have reached: the function would wait for good.
  if (serial_less(window_.max_cmd_sn() + 1, request->cmd_sn))
    return refuse(pdu, RejectReason::invalid_pdu_field);
  take_place(request->immediate);
  management_.start(*request);
  return true;
}

void TargetSessionImpl::management_done(const TaskManagementRequest& request,
                                        TaskManagementAnswer answer) {
  free_place(request.immediate);
  TaskManagementResponse response;
  response.response = answer;
  response.initiator_task_tag = request.initiator_task_tag;
  sender_.respond(response);
  // Section 11.5.1: a power-on event; RFC 7144 section 6.3: all connections of the session go.
  const auto function = static_cast<TaskManagementFunction>(request.function);
  const bool ends_session = function == TaskManagementFunction::target_cold_reset ||
                            function == TaskManagementFunction::i_t_nexus_reset;
  if (ends_session && answer == TaskManagementAnswer::complete) end(errc::terminated);
}

bool TargetSessionImpl::abort_text(std::uint32_t initiator_task_tag) {
  if (!text_.is_open(initiator_task_tag)) return false;
  text_.reset();
  return true;
}

// RFC 7143 sections 11.18 and 11.19
bool TargetSessionImpl::nop_out(ControlPdu& pdu) {
  const auto request = decode_or_reject<NopOut>(pdu);
  if (!request) return false;
  if (request->initiator_task_tag == kReservedTag) {
    if (request->target_transfer_tag == ping_tag_) {
      keep_alive_.answered();
      host_.deadline_changed();
    }
    return true;
  }
  if (tag_in_use(request->initiator_task_tag)) return refuse(pdu, RejectReason::task_in_progress);
  take_place(request->immediate);
  free_place(request->immediate);
  NopIn echo;
  echo.lun = request->lun;
  echo.initiator_task_tag = request->initiator_task_tag;
  const std::size_t most = sender_.max_data_segment();
  if (pdu.data.size() > most) pdu.data.resize(most);
  sender_.respond(echo, std::move(pdu.data));
  return true;
}

// RFC 7143 section 11.10
bool TargetSessionImpl::text_request(const ControlPdu& pdu) {
  const auto request = decode_or_reject<TextRequest>(pdu);
  if (!request) return false;
  const std::uint32_t tag = request->initiator_task_tag;
  if (tag_in_use(tag) && !text_.is_open(tag)) return refuse(pdu, RejectReason::task_in_progress);
  if (request->target_transfer_tag == kReservedTag) declared_data_segment_.reset();
  const auto piece = text_.receive(*request, pdu.data.bytes(), sender_.max_data_segment(),
                                   sender_.fresh_transfer_tag());
  if (!piece)
    return refuse(pdu, reject_reason_of(piece.error()).value_or(RejectReason::protocol_error));
  busy_ = keep_alive_.last_heard();
  take_place(request->immediate);
  free_place(request->immediate);
  sender_.respond(piece->response, piece->text.empty() ? Buffer() : Buffer::copy_of(piece->text));
  if (piece->response.final && declared_data_segment_) {
    datamover_.notice_max_send_data_segment(*declared_data_segment_);
    declared_data_segment_.reset();
  }
  return true;
}

// RFC 7143 section 11.14
bool TargetSessionImpl::logout_request(const ControlPdu& pdu) {
  const auto request = decode_or_reject<LogoutRequest>(pdu);
  if (!request) return false;
  if (request->reason > kRemoveForRecovery) return refuse(pdu, RejectReason::invalid_pdu_field);
  if (tag_in_use(request->initiator_task_tag)) return refuse(pdu, RejectReason::task_in_progress);
  take_place(request->immediate);

  LogoutResponse response;
  response.initiator_task_tag = request->initiator_task_tag;
  if (request->reason == kRemoveForRecovery) {
    response.response = kRecoveryNotSupported;
  } else if (request->reason == kCloseConnection && request->cid != parameters_.cid) {
    response.response = kCidNotFound;
  } else {
    // T9, T10. The last connection takes its session along.
    logout_ = *request;
    state_ = next_state(state_, ConnectionEvent::logout_started);
    management_.clear();
    text_.reset();
    window_.clear();
    limit_logout();
    abort_tasks();
    return true;  // finish_logout() answers
  }
  free_place(request->immediate);
  sender_.respond(response);
  return true;
}

// RFC 7143 section 11.7, unsolicited. What answers an R2T is the datamover's; if it passes one on,
// it does not know the tag.
void TargetSessionImpl::data_out(ControlPdu pdu) {
  const auto header = decode_or_reject<DataOut>(pdu);
  if (!header) return;
  ScsiTask* task = find_task(header->initiator_task_tag);
  if (task && header->target_transfer_tag == kReservedTag)
    return task->data_out(*header, std::move(pdu.data));
  // On their way when their task was aborted.
  if ((task && task->aborted()) ||
      std::ranges::find(aborted_tags_, header->initiator_task_tag) != aborted_tags_.end())
    return;
  refuse(pdu, RejectReason::invalid_pdu_field);
}

}  // namespace openiser::iscsi
