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
  const char* text;
  std::uint16_t status;
  std::optional<RejectReason> reject;
  const char* section;  // of RFC 7143 unless it says otherwise
};

using enum RejectReason;
constexpr std::nullopt_t kNone = std::nullopt;

constexpr Row kTable[] = {
    {errc::connection_closed, "connection closed by the peer", kNoStatus, kNone, "7.14"},
    {errc::login_timeout, "login timed out", kNoStatus, kNone, "6.3"},
    {errc::nop_timeout, "no answer to a NOP ping", kNoStatus, kNone, "7.5.1"},
    {errc::terminated, "connection ended on our own wish", kNoStatus, kNone, "5.3"},
    {errc::reinstated, "session reinstated by another login", kNoStatus, kNone, "6.3.5"},
    {errc::logged_out, "logged out", kNoStatus, kNone, "11.14"},
    {errc::task_aborted, "task aborted", kNoStatus, kNone, "11.5.1"},
    {errc::not_logged_in, "session is not logged in", kNoStatus, kNone, "5.3"},
    {errc::target_failure, "target failed to complete the command", kNoStatus, kNone, "11.4.3"},

    {errc::truncated, "PDU is shorter than its header says", kNoStatus, kNone, "7.7"},
    {errc::wrong_opcode, "opcode is unknown or not allowed here", 0x020b, command_not_supported,
     "11.2.1.2"},
    {errc::header_digest, "header digest is wrong", kNoStatus, kNone, "7.8"},
    {errc::data_digest, "data digest is wrong", kNoStatus, data_digest_error, "7.8"},
    {errc::data_too_long, "data segment is longer than was declared", 0x0200, protocol_error,
     "13.12"},
    {errc::ahs_too_long, "additional header segments are too long", 0x0200, protocol_error,
     "11.2.1.5"},
    {errc::bad_ahs, "additional header segment is malformed", kNoStatus, invalid_pdu_field,
     "11.2.2"},
    {errc::bad_field, "PDU field has an illegal value", 0x0200, invalid_pdu_field, "7.7"},

    {errc::protocol_error, "protocol error", 0x0200, protocol_error, "7.13"},
    {errc::unexpected_pdu, "PDU is not allowed in this state", 0x020b, protocol_error, "7.13"},
    {errc::bad_target_transfer_tag, "Target Transfer Tag is not of a transfer under way", kNoStatus,
     invalid_pdu_field, "11.7.4"},
    {errc::bad_data_sn, "DataSN is out of order", kNoStatus, invalid_pdu_field, "7.9"},
    {errc::bad_buffer_offset, "Buffer Offset or length is outside of the transfer", kNoStatus,
     invalid_pdu_field, "11.7.6"},
    {errc::burst_too_long, "burst is longer than was negotiated or asked for", kNoStatus,
     protocol_error, "11.7.1"},
    {errc::too_many_unexpected_pdus, "more unexpected PDUs than were declared", kNoStatus, kNone,
     "RFC 7145 6.7"},

    {errc::iser_format, "iSER message is malformed", kNoStatus, kNone, "RFC 7145 10.1.3.3"},
    {errc::iser_hello, "iSER Hello exchange failed", kNoStatus, kNone, "RFC 7145 10.1.3.4"},
    {errc::iser_stag, "iSER STag is missing or wrong", kNoStatus, kNone, "RFC 7145 7.3"},
    {errc::iser_no_outbound_reads, "no RDMA Read may be sent on this connection", kNoStatus, kNone,
     "RFC 7145 5.1.3"},
    {errc::iser_invalidated_stag, "peer invalidated an STag that was not the task's", kNoStatus,
     kNone, "RFC 7145 7.3.2"},

    {errc::text_too_long, "text is longer than we take", 0x0200, protocol_error, "6.1"},
    {errc::bad_text, "text is not a list of key=value pairs", 0x0200, protocol_error, "6.1"},
    {errc::bad_key_name, "key name is malformed", 0x0200, protocol_error, "6.1"},
    {errc::duplicate_key, "key was negotiated before", 0x0200, protocol_error, "6.3"},
    {errc::negotiation_failed, "negotiation failed", 0x0200, protocol_error, "7.12"},

    {errc::login_redirected, "target moved", 0x0101, kNone, "11.13.5"},
    {errc::login_authentication_failed, "authentication failed", 0x0201, kNone, "11.13.5"},
    {errc::login_authorization_failed, "initiator may not use the target", 0x0202, kNone,
     "11.13.5"},
    {errc::login_target_not_found, "target not found", 0x0203, kNone, "11.13.5"},
    {errc::login_target_removed, "target removed", 0x0204, kNone, "11.13.5"},
    {errc::login_unsupported_version, "unsupported version", 0x0205, kNone, "11.13.5"},
    {errc::login_too_many_connections, "too many connections", 0x0206, kNone, "11.13.5"},
    {errc::login_missing_parameter, "missing parameter", 0x0207, kNone, "11.13.5"},
    {errc::login_cannot_include, "session cannot include this connection", 0x0208, kNone,
     "11.13.5"},
    {errc::login_session_type, "session type not supported", 0x0209, kNone, "11.13.5"},
    {errc::login_session_missing, "session does not exist", 0x020a, kNone, "11.13.5"},
    {errc::login_invalid_request, "invalid request during login", 0x020b, kNone, "11.13.5"},
    {errc::login_initiator_error, "initiator error", 0x0200, kNone, "11.13.5"},
    {errc::login_target_error, "target error", 0x0300, kNone, "11.13.5"},
    {errc::login_service_unavailable, "service unavailable", 0x0301, kNone, "11.13.5"},
    {errc::login_out_of_resources, "out of resources", 0x0302, kNone, "11.13.5"},
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
  // details that have no row (0x0102 among them: permanently moved).
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

std::optional<RejectReason> reject_reason_of(ErrorCode error) {
  const Row* row = row_of(error);
  return row ? row->reject : std::nullopt;
}

}  // namespace openiser::iscsi
