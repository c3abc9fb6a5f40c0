#include "iscsi/errors.h"

#include <array>

namespace openiser::iscsi {
namespace {

constexpr std::uint16_t kNoStatus = 0;

// One row an error. `status`: Status-Class and Status-Detail of a Login Response (RFC 7143
// section 11.13.5), kNoStatus where a login ends without a status of its own. `reject`: reason of a
// Reject (section 11.17.1).
struct Row {
  errc error;
  std::uint16_t status;
  std::optional<RejectReason> reject;
  const char* text;
  const char* section;  // of RFC 7143 unless it says otherwise
};

using enum RejectReason;
constexpr std::nullopt_t kNone = std::nullopt;

constexpr Row kTable[] = {
    {errc::connection_closed, kNoStatus, kNone, "connection closed by the peer", "7.14"},
    {errc::login_timeout, kNoStatus, kNone, "login timed out", "6.3"},
    {errc::nop_timeout, kNoStatus, kNone, "no answer to a NOP ping", "7.5.1"},
    {errc::terminated, kNoStatus, kNone, "connection ended on our own wish", "8.1"},
    {errc::reinstated, kNoStatus, kNone, "session reinstated by another login", "6.3.5"},
    {errc::logged_out, kNoStatus, kNone, "logged out", "11.14"},
    {errc::task_aborted, kNoStatus, kNone, "task aborted", "11.5.1"},
    {errc::not_logged_in, kNoStatus, kNone, "session is not logged in", "8.1"},
    {errc::target_failure, kNoStatus, kNone, "target failed to complete the command", "11.4.3"},

    {errc::truncated, kNoStatus, kNone, "PDU is shorter than its header says", "7.7"},
    {errc::wrong_opcode, 0x020b, command_not_supported, "opcode is unknown or not allowed here",
     "11.2.1.2"},
    {errc::header_digest, kNoStatus, kNone, "header digest is wrong", "7.8"},
    {errc::data_digest, kNoStatus, data_digest_error, "data digest is wrong", "7.8"},
    {errc::data_too_long, 0x0200, protocol_error, "data segment is longer than was declared",
     "13.12"},
    {errc::ahs_too_long, 0x0200, protocol_error, "additional header segments are too long",
     "11.2.1.5"},
    {errc::bad_ahs, kNoStatus, invalid_pdu_field, "additional header segment is malformed",
     "11.2.2"},
    {errc::bad_field, 0x0200, invalid_pdu_field, "PDU field has an illegal value", "7.7"},

    {errc::protocol_error, 0x0200, protocol_error, "protocol error", "7.13"},
    {errc::unexpected_pdu, 0x020b, protocol_error, "PDU is not allowed in this state", "7.13"},
    {errc::bad_target_transfer_tag, kNoStatus, invalid_pdu_field,
     "Target Transfer Tag is not of a transfer under way", "11.7.4"},
    {errc::bad_data_sn, kNoStatus, invalid_pdu_field, "DataSN is out of order", "7.9"},
    {errc::bad_buffer_offset, kNoStatus, invalid_pdu_field,
     "Buffer Offset or length is outside of the transfer", "11.7.6"},
    {errc::burst_too_long, kNoStatus, protocol_error,
     "burst is longer than was negotiated or asked for", "11.7.1"},
    {errc::too_many_unexpected_pdus, kNoStatus, kNone, "more unexpected PDUs than were declared",
     "RFC 7145 6.7"},

    {errc::iser_format, kNoStatus, kNone, "iSER message is malformed", "RFC 7145 10.1.3.3"},
    {errc::iser_hello, kNoStatus, kNone, "iSER Hello exchange failed", "RFC 7145 10.1.3.4"},
    {errc::iser_stag, kNoStatus, kNone, "iSER STag is missing or wrong", "RFC 7145 7.3"},
    {errc::iser_no_outbound_reads, kNoStatus, kNone, "no RDMA Read may be sent on this connection",
     "RFC 7145 5.1.3"},
    {errc::iser_invalidated_stag, kNoStatus, kNone,
     "peer invalidated an STag that was not the task's", "RFC 7145 7.3.2"},

    {errc::text_too_long, 0x0200, protocol_error, "text is longer than we take", "6.1"},
    {errc::bad_text, 0x0200, protocol_error, "text is not a list of key=value pairs", "6.1"},
    {errc::bad_key_name, 0x0200, protocol_error, "key name is malformed", "6.1"},
    {errc::duplicate_key, 0x0200, protocol_error, "key was negotiated before", "6.3"},
    {errc::negotiation_failed, 0x0200, protocol_error, "negotiation failed", "7.12"},

    {errc::login_redirected, 0x0101, kNone, "target moved temporarily", "11.13.5"},
    {errc::login_moved, 0x0102, kNone, "target moved permanently", "11.13.5"},
    {errc::login_authentication_failed, 0x0201, kNone, "authentication failed", "11.13.5"},
    {errc::login_authorization_failed, 0x0202, kNone, "initiator may not use the target",
     "11.13.5"},
    {errc::login_target_not_found, 0x0203, kNone, "target not found", "11.13.5"},
    {errc::login_target_removed, 0x0204, kNone, "target removed", "11.13.5"},
    {errc::login_unsupported_version, 0x0205, kNone, "unsupported version", "11.13.5"},
    {errc::login_too_many_connections, 0x0206, kNone, "too many connections", "11.13.5"},
    {errc::login_missing_parameter, 0x0207, kNone, "missing parameter", "11.13.5"},
    {errc::login_cannot_include, 0x0208, kNone, "session cannot include this connection",
     "11.13.5"},
    {errc::login_session_type, 0x0209, kNone, "session type not supported", "11.13.5"},
    {errc::login_session_missing, 0x020a, kNone, "session does not exist", "11.13.5"},
    {errc::login_invalid_request, 0x020b, kNone, "invalid request during login", "11.13.5"},
    {errc::login_initiator_error, 0x0200, kNone, "initiator error", "11.13.5"},
    {errc::login_target_error, 0x0300, kNone, "target error", "11.13.5"},
    {errc::login_service_unavailable, 0x0301, kNone, "service unavailable", "11.13.5"},
    {errc::login_out_of_resources, 0x0302, kNone, "out of resources", "11.13.5"},
};

constexpr int row_number(errc e) {
  return static_cast<int>(e) - 1;
}
constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kTable); ++i) {
    if (row_number(kTable[i].error) != static_cast<int>(i)) return false;
  }
  return row_number(errc::login_out_of_resources) + 1 == std::size(kTable);
}
static_assert(in_order(), "the table has one row an error, in the order of the enumeration");

const Row* row_of(int value) {
  if (value < 1 || value > static_cast<int>(std::size(kTable))) return nullptr;
  return &kTable[value - 1];
}
const Row* row_of(ErrorCode error) {
  return error.category() == error_category() ? row_of(error.value()) : nullptr;
}

class Category final : public ErrorCategory {
 public:
  const char* name() const noexcept override { return "iscsi"; }
  std::string message(int value) const override {
    const Row* row = row_of(value);
    if (!row) return "unknown error";
    const std::string section = row->section;
    return std::string(row->text) + (section.starts_with("RFC") ? " (" : " (RFC 7143 ") + section +
           ")";
  }
};

constexpr LoginStatus status_of(std::uint16_t code) {
  return {static_cast<std::uint8_t>(code >> 8), static_cast<std::uint8_t>(code)};
}

}  // namespace

const ErrorCategory& error_category() {
  static const Category category;
  return category;
}

LoginStatus login_status_of(ErrorCode error) {
  if (!error) return {};
  const Row* row = row_of(error);
  return status_of(row && row->status != kNoStatus ? row->status : 0x0200);
}

ErrorCode error_of_login_status(LoginStatus status) {
  // The rows of the login errors proper are the inverse of the table; the class alone decides for
  // details that have no row.
  for (auto i = row_number(errc::login_redirected); i < static_cast<int>(std::size(kTable)); ++i) {
    if (status_of(kTable[i].status) == status) return kTable[i].error;
  }
  switch (status.status_class) {
    case 0:
      return {};
    case 1:
      return errc::login_redirected;
    case 2:
      return errc::login_initiator_error;
    case 3:
      return errc::login_target_error;
    default:
      return errc::protocol_error;
  }
}

bool is_redirect(ErrorCode error) {
  return error == errc::login_redirected || error == errc::login_moved;
}

std::optional<RejectReason> reject_reason_of(ErrorCode error) {
  const Row* row = row_of(error);
  return row ? row->reject : std::nullopt;
}

bool is_fault(ErrorCode error) {
  return error.category() == error_category() &&
         (error.value() >= static_cast<int>(errc::truncated) || error == errc::nop_timeout);
}

}  // namespace openiser::iscsi
