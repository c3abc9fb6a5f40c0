#include "iscsi/session/admissible.h"

namespace openiser::iscsi {
namespace {

constexpr Admission kAccept{};
constexpr Admission kDrop{Admission::Kind::drop, RejectReason::protocol_error};
constexpr Admission reject(RejectReason reason) {
  return {Admission::Kind::reject, reason};
}

struct Row {
  Opcode opcode;
  bool numbered;
  // RFC 7143 section 4.3: a discovery session takes Text and Logout only.
  bool in_discovery;
  Admission in_full_feature_phase;
};

constexpr Row kRequests[] = {
    {Opcode::nop_out, true, false, kAccept},
    {Opcode::scsi_command, true, false, kAccept},
    {Opcode::task_management_request, true, false, kAccept},
    // RFC 7143 section 4.2.4: login is over, and was for good.
    {Opcode::login_request, false, false, reject(RejectReason::protocol_error)},
    {Opcode::text_request, true, true, kAccept},
    {Opcode::data_out, false, false, kAccept},
    {Opcode::logout_request, true, true, kAccept},
    // There is none at ErrorRecoveryLevel 0 (section 11.16).
    {Opcode::snack_request, false, false, reject(RejectReason::snack_reject)},
};

const Row* row_of(Opcode opcode) {
  for (const Row& row : kRequests) {
    if (row.opcode == opcode) return &row;
  }
  return nullptr;
}

}  // namespace

Admission admit_request(ConnectionState state, SessionType type, bool rdma, Opcode opcode) {
  if (state != ConnectionState::logged_in && state != ConnectionState::logout_requested)
    return kDrop;
  const Row* row = row_of(opcode);
  if (!row) return reject(RejectReason::command_not_supported);
  if (type == SessionType::discovery && !row->in_discovery)
    return reject(RejectReason::protocol_error);
  // RFC 7145 section 7.3.11
  if (rdma && opcode == Opcode::snack_request) return reject(RejectReason::protocol_error);
  return row->in_full_feature_phase;
}

bool is_numbered(Opcode opcode) {
  const Row* row = row_of(opcode);
  return row && row->numbered;
}

bool admit_response(Opcode opcode) {
  switch (opcode) {
    case Opcode::nop_in:
    case Opcode::scsi_response:
    case Opcode::task_management_response:
    case Opcode::text_response:
    case Opcode::logout_response:
    case Opcode::async_message:
    case Opcode::reject:
      return true;
    default:  // Data-In and R2T are the datamover's
      return false;
  }
}

}  // namespace openiser::iscsi
