// Faults of the iSCSI layer, in one table (errors.cc) with the login status (RFC 7143
// section 11.13.5) or reject reason that reports each, and the section it comes from.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi {

enum class errc {
  // Of ours, or of the transport.
  connection_closed = 1,  // the peer ended the connection
  login_timeout,
  nop_timeout,
  terminated,      // ended on our own wish
  reinstated,      // another login took the place of this session (RFC 7143 section 6.3.5)
  logged_out,      // ended by a Logout
  task_aborted,    // the task ended by task management
  not_logged_in,   // the session cannot take the request now
  target_failure,  // a SCSI Response that says the command was not completed
  // Format errors: the connection ends (RFC 7143 sections 7.7 and 7.8).
  truncated,
  wrong_opcode,
  header_digest,
  data_digest,
  data_too_long,  // DataSegmentLength beyond what was declared
  ahs_too_long,
  bad_ahs,
  bad_field,
  // Protocol errors (RFC 7143 section 7.13).
  protocol_error,
  unexpected_pdu,
  bad_target_transfer_tag,
  bad_data_sn,
  bad_buffer_offset,
  burst_too_long,
  too_many_unexpected_pdus,
  // iSER (RFC 7145 section 10.1).
  iser_format,
  iser_hello,
  iser_stag,
  iser_no_outbound_reads,
  iser_invalidated_stag,
  // Text and negotiation.
  text_too_long,
  bad_text,
  bad_key_name,
  duplicate_key,
  negotiation_failed,
  // Login failed with the status the peer sent or we send.
  login_redirected,  // for now
  login_moved,       // for good
  login_authentication_failed,
  login_authorization_failed,
  login_target_not_found,
  login_target_removed,
  login_unsupported_version,
  login_too_many_connections,
  login_missing_parameter,
  login_cannot_include,
  login_session_type,
  login_session_missing,
  login_invalid_request,
  login_initiator_error,
  login_target_error,
  login_service_unavailable,
  login_out_of_resources,
};

const ErrorCategory& error_category();
inline ErrorCode make_error_code(errc e) {
  return {static_cast<int>(e), error_category()};
}

// RFC 7143 section 11.13.5
struct LoginStatus {
  std::uint8_t status_class = 0;
  std::uint8_t status_detail = 0;
  friend bool operator==(LoginStatus, LoginStatus) = default;
};

// The status a target answers with when `error` ends a login; initiator error (0x0200) when the
// table has none.
LoginStatus login_status_of(ErrorCode error);
// What a received status means; no error for success.
ErrorCode error_of_login_status(LoginStatus status);
// Whether a login ended because the peer is elsewhere: with a TargetAddress.
bool is_redirect(ErrorCode error);
// The reason of the Reject PDU that reports `error` in full feature phase, if it is reported by
// one.
std::optional<RejectReason> reject_reason_of(ErrorCode error);
// Whether the peer broke a rule, or fell silent; connections also end in ways of every day.
bool is_fault(ErrorCode error);

}  // namespace openiser::iscsi

template <>
struct boost::system::is_error_code_enum<openiser::iscsi::errc> : std::true_type {};
