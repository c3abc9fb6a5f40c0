// Every iSCSI PDU as values: encode(x) makes the 48 bytes of its header, decode<X>(bhs) reads them.
// The data segment and the additional header segments travel beside the header, as in ControlPdu;
// data_segment_length and total_ahs_length are set by whoever sends. Decoding checks what the
// header alone can show (RFC 7143 section 11) and fails with iscsi::errc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "iscsi/pdu/bhs.h"

namespace openiser::iscsi {

// Eight bytes, addressed as SAM says; opaque to iSCSI.
using Lun = std::array<std::byte, 8>;

// RFC 7143 section 11.3.1.1
enum class TaskAttribute : std::uint8_t { untagged, simple, ordered, head_of_queue, aca };

// A control-type PDU on its way through the datamover seam, either direction.
struct ControlPdu {
  Bhs bhs;
  // Additional header segments, padded, as on the wire; usually empty.
  Buffer ahs;
  // The data segment without padding. For what was received, a window into the receive buffer.
  Buffer data;
};

// RFC 7143 section 11.3
struct ScsiCommand {
  bool immediate = false;
  bool final = true;
  bool read = false;
  bool write = false;
  TaskAttribute attribute = TaskAttribute::simple;
  Lun lun{};
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t expected_data_transfer_length = 0;
  std::uint32_t cmd_sn = 0;
  std::uint32_t exp_stat_sn = 0;
  std::array<std::byte, 16> cdb{};
};

// RFC 7143 section 11.4. Residuals: overflow and underflow exclude each other.
struct ScsiResponse {
  bool bidi_overflow = false;
  bool bidi_underflow = false;
  bool overflow = false;
  bool underflow = false;
  std::uint8_t response = 0;  // 0 command completed at target, 1 target failure
  std::uint8_t status = 0;    // SAM status
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t snack_tag = 0;
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
  std::uint32_t exp_data_sn = 0;
  std::uint32_t bidi_residual_count = 0;
  std::uint32_t residual_count = 0;
};

// RFC 7143 section 11.5.1
enum class TaskManagementFunction : std::uint8_t {
  abort_task = 1,
  abort_task_set = 2,
  clear_aca = 3,
  clear_task_set = 4,
  logical_unit_reset = 5,
  target_warm_reset = 6,
  target_cold_reset = 7,
  task_reassign = 8,
  query_task = 9,
  query_task_set = 10,
  i_t_nexus_reset = 11,
  query_async_event = 12,
};

// RFC 7143 section 11.6.1
enum class TaskManagementAnswer : std::uint8_t {
  complete = 0,
  no_task = 1,
  no_lun = 2,
  still_allegiant = 3,
  reassign_not_supported = 4,
  not_supported = 5,
  authorization_failed = 6,
  function_succeeded = 7,  // RFC 7144
  rejected = 255,
};

struct TaskManagementRequest {
  bool immediate = true;
  std::uint8_t function = 0;  // TaskManagementFunction, or a value we do not know
  Lun lun{};
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t referenced_task_tag = kReservedTag;
  std::uint32_t cmd_sn = 0;
  std::uint32_t exp_stat_sn = 0;
  std::uint32_t ref_cmd_sn = 0;
  std::uint32_t exp_data_sn = 0;
};

struct TaskManagementResponse {
  TaskManagementAnswer response = TaskManagementAnswer::complete;
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
};

// RFC 7143 section 11.7
struct DataOut {
  bool final = false;
  Lun lun{};
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t target_transfer_tag = kReservedTag;
  std::uint32_t exp_stat_sn = 0;
  std::uint32_t data_sn = 0;
  std::uint32_t buffer_offset = 0;
};

// RFC 7143 section 11.7
struct DataIn {
  bool final = false;
  bool acknowledge = false;
  bool overflow = false;
  bool underflow = false;
  bool has_status = false;
  std::uint8_t status = 0;
  Lun lun{};
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t target_transfer_tag = kReservedTag;
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
  std::uint32_t data_sn = 0;
  std::uint32_t buffer_offset = 0;
  std::uint32_t residual_count = 0;
};

// RFC 7143 section 11.8
struct R2t {
  Lun lun{};
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t target_transfer_tag = 0;
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
  std::uint32_t r2t_sn = 0;
  std::uint32_t buffer_offset = 0;
  std::uint32_t desired_data_transfer_length = 0;
};

// RFC 7143 section 11.9
struct AsyncMessage {
  Lun lun{};
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
  std::uint8_t event = 0;
  std::uint8_t vendor_code = 0;
  std::uint16_t parameter1 = 0;
  std::uint16_t parameter2 = 0;
  std::uint16_t parameter3 = 0;
};

// RFC 7143 sections 11.10 and 11.11
struct TextRequest {
  bool immediate = false;
  bool final = true;
  bool continues = false;
  Lun lun{};
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t target_transfer_tag = kReservedTag;
  std::uint32_t cmd_sn = 0;
  std::uint32_t exp_stat_sn = 0;
};

struct TextResponse {
  bool final = true;
  bool continues = false;
  Lun lun{};
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t target_transfer_tag = kReservedTag;
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
};

// RFC 7143 section 11.12.3
enum class Stage : std::uint8_t { security = 0, operational = 1, full_feature = 3 };

using Isid = std::array<std::byte, 6>;

// RFC 7143 section 11.12
struct LoginRequest {
  bool transit = false;
  bool continues = false;
  std::uint8_t current_stage = 0;  // Stage, or 2, which is reserved
  std::uint8_t next_stage = 0;
  std::uint8_t version_max = 0;
  std::uint8_t version_min = 0;
  Isid isid{};
  std::uint16_t tsih = 0;
  std::uint32_t initiator_task_tag = 0;
  std::uint16_t cid = 0;
  std::uint32_t cmd_sn = 0;
  std::uint32_t exp_stat_sn = 0;
};

// RFC 7143 section 11.13
struct LoginResponse {
  bool transit = false;
  bool continues = false;
  std::uint8_t current_stage = 0;
  std::uint8_t next_stage = 0;
  std::uint8_t version_max = 0;
  std::uint8_t version_active = 0;
  Isid isid{};
  std::uint16_t tsih = 0;
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
  std::uint8_t status_class = 0;
  std::uint8_t status_detail = 0;
};

// RFC 7143 sections 11.14 and 11.15
struct LogoutRequest {
  bool immediate = false;
  std::uint8_t reason = 0;  // 0 close session, 1 close connection, 2 remove connection for recovery
  std::uint32_t initiator_task_tag = 0;
  std::uint16_t cid = 0;
  std::uint32_t cmd_sn = 0;
  std::uint32_t exp_stat_sn = 0;
};

struct LogoutResponse {
  std::uint8_t response = 0;
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
  std::uint16_t time2wait = 0;    // seconds
  std::uint16_t time2retain = 0;  // seconds
};

// RFC 7143 section 11.16
struct SnackRequest {
  std::uint8_t type = 0;
  Lun lun{};
  std::uint32_t initiator_task_tag = 0;
  std::uint32_t target_transfer_tag = kReservedTag;
  std::uint32_t exp_stat_sn = 0;
  std::uint32_t beg_run = 0;
  std::uint32_t run_length = 0;
};

// RFC 7143 section 11.17.1
enum class RejectReason : std::uint8_t {
  data_digest_error = 0x02,
  snack_reject = 0x03,
  protocol_error = 0x04,
  command_not_supported = 0x05,
  immediate_command_reject = 0x06,
  task_in_progress = 0x07,
  invalid_data_ack = 0x08,
  invalid_pdu_field = 0x09,
  long_op_reject = 0x0a,
  negotiation_reset = 0x0b,
  waiting_for_logout = 0x0c,
};

// RFC 7143 section 11.17. The data segment is the header of the rejected PDU.
struct Reject {
  RejectReason reason = RejectReason::protocol_error;
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
  std::uint32_t data_sn = 0;
};

// RFC 7143 sections 11.18 and 11.19
struct NopOut {
  bool immediate = true;
  Lun lun{};
  std::uint32_t initiator_task_tag = kReservedTag;
  std::uint32_t target_transfer_tag = kReservedTag;
  std::uint32_t cmd_sn = 0;
  std::uint32_t exp_stat_sn = 0;
};

struct NopIn {
  Lun lun{};
  std::uint32_t initiator_task_tag = kReservedTag;
  std::uint32_t target_transfer_tag = kReservedTag;
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
};

Bhs encode(const ScsiCommand&);
Bhs encode(const ScsiResponse&);
Bhs encode(const TaskManagementRequest&);
Bhs encode(const TaskManagementResponse&);
Bhs encode(const DataOut&);
Bhs encode(const DataIn&);
Bhs encode(const R2t&);
Bhs encode(const AsyncMessage&);
Bhs encode(const TextRequest&);
Bhs encode(const TextResponse&);
Bhs encode(const LoginRequest&);
Bhs encode(const LoginResponse&);
Bhs encode(const LogoutRequest&);
Bhs encode(const LogoutResponse&);
Bhs encode(const SnackRequest&);
Bhs encode(const Reject&);
Bhs encode(const NopOut&);
Bhs encode(const NopIn&);

// Specialised for each of the above in pdu.cc. Fails with errc::wrong_opcode or a field error.
template <class T>
Result<T> decode(const Bhs& bhs);

}  // namespace openiser::iscsi
