// PDUs that targets send. Offsets and bits are those of the figures in RFC 7143 section 11.
#include "iscsi/pdu/fields.h"

namespace openiser::iscsi {

using namespace fields;

namespace {

// Byte 1 of a SCSI Response (RFC 7143 section 11.4.1); O and U also of a Data-In (section 11.7.3).
constexpr std::uint8_t kBidiOverflow = 0x10;
constexpr std::uint8_t kBidiUnderflow = 0x08;
constexpr std::uint8_t kOverflow = 0x04;
constexpr std::uint8_t kUnderflow = 0x02;
// Byte 1 of a Data-In.
constexpr std::uint8_t kAcknowledge = 0x40;
constexpr std::uint8_t kStatus = 0x01;

}  // namespace

// --- RFC 7143 section 11.4 ---

Bhs encode(const ScsiResponse& pdu) {
  Bhs bhs = start(
      Opcode::scsi_response,
      static_cast<std::uint8_t>(kFinal | bit(pdu.bidi_overflow, kBidiOverflow) |
                                bit(pdu.bidi_underflow, kBidiUnderflow) |
                                bit(pdu.overflow, kOverflow) | bit(pdu.underflow, kUnderflow)));
  set_u8(bhs, 2, pdu.response);
  set_u8(bhs, 3, pdu.status);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, 20, pdu.snack_tag);
  set_response_numbers(bhs, pdu);
  set_u32(bhs, 36, pdu.exp_data_sn);
  set_u32(bhs, 40, pdu.bidi_residual_count);
  set_u32(bhs, 44, pdu.residual_count);
  return bhs;
}

template <>
Result<ScsiResponse> decode<ScsiResponse>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::scsi_response) return errc::wrong_opcode;
  ScsiResponse pdu;
  pdu.response = u8(bhs, 2);
  pdu.status = u8(bhs, 3);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.snack_tag = u32(bhs, 20);
  get_response_numbers(bhs, pdu);
  pdu.exp_data_sn = u32(bhs, 36);
  pdu.bidi_residual_count = u32(bhs, 40);
  pdu.residual_count = u32(bhs, 44);
  // The residual bits mean something only for a command completed at the target.
  if (pdu.response == 0) {
    pdu.bidi_overflow = flag(bhs, kBidiOverflow);
    pdu.bidi_underflow = flag(bhs, kBidiUnderflow);
    pdu.overflow = flag(bhs, kOverflow);
    pdu.underflow = flag(bhs, kUnderflow);
  }
  if (!bhs.final() || (pdu.overflow && pdu.underflow) || (pdu.bidi_overflow && pdu.bidi_underflow))
    return errc::bad_field;
  return pdu;
}

// --- RFC 7143 section 11.6 ---

Bhs encode(const TaskManagementResponse& pdu) {
  Bhs bhs = start(Opcode::task_management_response, kFinal);
  set_u8(bhs, 2, static_cast<std::uint8_t>(pdu.response));
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_response_numbers(bhs, pdu);
  return bhs;
}

template <>
Result<TaskManagementResponse> decode<TaskManagementResponse>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::task_management_response) return errc::wrong_opcode;
  if (!bhs.final() || !header_only(bhs)) return errc::bad_field;
  TaskManagementResponse pdu;
  pdu.response = static_cast<TaskManagementAnswer>(u8(bhs, 2));
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  get_response_numbers(bhs, pdu);
  return pdu;
}

// --- RFC 7143 section 11.7 ---

// StatSN, Status and residual mean something only with S, and are zero otherwise (section 11.7.3).
Bhs encode(const DataIn& pdu) {
  Bhs bhs = start(Opcode::data_in, static_cast<std::uint8_t>(bit(pdu.final, kFinal) |
                                                             bit(pdu.acknowledge, kAcknowledge) |
                                                             bit(pdu.has_status, kStatus)));
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, kTttAt, pdu.target_transfer_tag);
  set_u32(bhs, 28, pdu.exp_cmd_sn);
  set_u32(bhs, 32, pdu.max_cmd_sn);
  set_u32(bhs, 36, pdu.data_sn);
  set_u32(bhs, 40, pdu.buffer_offset);
  if (!pdu.has_status) return bhs;
  bhs.raw[1] |=
      static_cast<std::byte>(bit(pdu.overflow, kOverflow) | bit(pdu.underflow, kUnderflow));
  set_u8(bhs, 3, pdu.status);
  set_u32(bhs, 24, pdu.stat_sn);
  set_u32(bhs, 44, pdu.residual_count);
  return bhs;
}

template <>
Result<DataIn> decode<DataIn>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::data_in) return errc::wrong_opcode;
  DataIn pdu;
  pdu.final = bhs.final();
  pdu.acknowledge = flag(bhs, kAcknowledge);
  pdu.has_status = flag(bhs, kStatus);
  get(bhs, kLunAt, pdu.lun);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.target_transfer_tag = u32(bhs, kTttAt);
  pdu.exp_cmd_sn = bhs.exp_cmd_sn();
  pdu.max_cmd_sn = bhs.max_cmd_sn();
  pdu.data_sn = u32(bhs, 36);
  pdu.buffer_offset = u32(bhs, 40);
  if (!pdu.has_status) return pdu;
  pdu.overflow = flag(bhs, kOverflow);
  pdu.underflow = flag(bhs, kUnderflow);
  pdu.status = u8(bhs, 3);
  pdu.stat_sn = bhs.stat_sn();
  pdu.residual_count = u32(bhs, 44);
  if (!pdu.final || (pdu.overflow && pdu.underflow)) return errc::bad_field;
  return pdu;
}

// --- RFC 7143 section 11.8 ---

Bhs encode(const R2t& pdu) {
  Bhs bhs = start(Opcode::r2t, kFinal);
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, kTttAt, pdu.target_transfer_tag);
  set_response_numbers(bhs, pdu);
  set_u32(bhs, 36, pdu.r2t_sn);
  set_u32(bhs, 40, pdu.buffer_offset);
  set_u32(bhs, 44, pdu.desired_data_transfer_length);
  return bhs;
}

template <>
Result<R2t> decode<R2t>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::r2t) return errc::wrong_opcode;
  R2t pdu;
  get(bhs, kLunAt, pdu.lun);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.target_transfer_tag = u32(bhs, kTttAt);
  get_response_numbers(bhs, pdu);
  pdu.r2t_sn = u32(bhs, 36);
  pdu.buffer_offset = u32(bhs, 40);
  pdu.desired_data_transfer_length = u32(bhs, 44);
  // RFC 7143 sections 11.8.1, 11.8.4 and 11.8.5
  if (!bhs.final() || !header_only(bhs) || pdu.desired_data_transfer_length == 0 ||
      pdu.target_transfer_tag == kReservedTag)
    return errc::bad_field;
  return pdu;
}

// --- RFC 7143 section 11.9 ---

Bhs encode(const AsyncMessage& pdu) {
  Bhs bhs = start(Opcode::async_message, kFinal);
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, kReservedTag);
  set_response_numbers(bhs, pdu);
  set_u8(bhs, 36, pdu.event);
  set_u8(bhs, 37, pdu.vendor_code);
  set_u16(bhs, 38, pdu.parameter1);
  set_u16(bhs, 40, pdu.parameter2);
  set_u16(bhs, 42, pdu.parameter3);
  return bhs;
}

template <>
Result<AsyncMessage> decode<AsyncMessage>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::async_message) return errc::wrong_opcode;
  if (!bhs.final()) return errc::bad_field;
  AsyncMessage pdu;
  get(bhs, kLunAt, pdu.lun);
  get_response_numbers(bhs, pdu);
  pdu.event = u8(bhs, 36);
  pdu.vendor_code = u8(bhs, 37);
  pdu.parameter1 = u16(bhs, 38);
  pdu.parameter2 = u16(bhs, 40);
  pdu.parameter3 = u16(bhs, 42);
  return pdu;
}

// --- RFC 7143 section 11.11 ---

Bhs encode(const TextResponse& pdu) {
  Bhs bhs = start(Opcode::text_response, static_cast<std::uint8_t>(bit(pdu.final, kFinal) |
                                                                   bit(pdu.continues, kContinue)));
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, kTttAt, pdu.target_transfer_tag);
  set_response_numbers(bhs, pdu);
  return bhs;
}

template <>
Result<TextResponse> decode<TextResponse>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::text_response) return errc::wrong_opcode;
  TextResponse pdu;
  pdu.final = bhs.final();
  pdu.continues = flag(bhs, kContinue);
  get(bhs, kLunAt, pdu.lun);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  // RFC 7143 section 11.10.4: the initiator ignores the tag of a final response.
  pdu.target_transfer_tag = pdu.final ? kReservedTag : u32(bhs, kTttAt);
  get_response_numbers(bhs, pdu);
  // RFC 7143 sections 11.11.1 and 11.11.2
  if (pdu.final ? pdu.continues : pdu.target_transfer_tag == kReservedTag) return errc::bad_field;
  return pdu;
}

// --- RFC 7143 section 11.13 ---

Bhs encode(const LoginResponse& pdu) {
  Bhs bhs =
      start(Opcode::login_response,
            static_cast<std::uint8_t>(bit(pdu.transit, kFinal) | bit(pdu.continues, kContinue) |
                                      (pdu.current_stage & 3) << 2 | (pdu.next_stage & 3)));
  set_u8(bhs, 2, pdu.version_max);
  set_u8(bhs, 3, pdu.version_active);
  set(bhs, 8, pdu.isid);
  set_u16(bhs, 14, pdu.tsih);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_response_numbers(bhs, pdu);
  set_u8(bhs, 36, pdu.status_class);
  set_u8(bhs, 37, pdu.status_detail);
  return bhs;
}

template <>
Result<LoginResponse> decode<LoginResponse>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::login_response) return errc::wrong_opcode;
  LoginResponse pdu;
  pdu.transit = bhs.final();
  pdu.continues = flag(bhs, kContinue);
  pdu.current_stage = u8(bhs, 1) >> 2 & 3;
  pdu.next_stage = u8(bhs, 1) & 3;
  pdu.version_max = u8(bhs, 2);
  pdu.version_active = u8(bhs, 3);
  get(bhs, 8, pdu.isid);
  pdu.tsih = u16(bhs, 14);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  get_response_numbers(bhs, pdu);
  pdu.status_class = u8(bhs, 36);
  pdu.status_detail = u8(bhs, 37);
  if (pdu.transit && pdu.continues) return errc::bad_field;  // RFC 7143 section 11.13.7
  return pdu;
}

// --- RFC 7143 section 11.15 ---

Bhs encode(const LogoutResponse& pdu) {
  Bhs bhs = start(Opcode::logout_response, kFinal);
  set_u8(bhs, 2, pdu.response);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_response_numbers(bhs, pdu);
  set_u16(bhs, 40, pdu.time2wait);
  set_u16(bhs, 42, pdu.time2retain);
  return bhs;
}

template <>
Result<LogoutResponse> decode<LogoutResponse>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::logout_response) return errc::wrong_opcode;
  if (!bhs.final() || !header_only(bhs)) return errc::bad_field;
  LogoutResponse pdu;
  pdu.response = u8(bhs, 2);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  get_response_numbers(bhs, pdu);
  pdu.time2wait = u16(bhs, 40);
  pdu.time2retain = u16(bhs, 42);
  return pdu;
}

// --- RFC 7143 section 11.17 ---

Bhs encode(const Reject& pdu) {
  Bhs bhs = start(Opcode::reject, kFinal);
  set_u8(bhs, 2, static_cast<std::uint8_t>(pdu.reason));
  set_u32(bhs, kIttAt, kReservedTag);
  set_response_numbers(bhs, pdu);
  set_u32(bhs, 36, pdu.data_sn);
  return bhs;
}

template <>
Result<Reject> decode<Reject>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::reject) return errc::wrong_opcode;
  if (!bhs.final()) return errc::bad_field;
  Reject pdu;
  pdu.reason = static_cast<RejectReason>(u8(bhs, 2));
  get_response_numbers(bhs, pdu);
  pdu.data_sn = u32(bhs, 36);
  return pdu;
}

// --- RFC 7143 section 11.19 ---

Bhs encode(const NopIn& pdu) {
  Bhs bhs = start(Opcode::nop_in, kFinal);
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, kTttAt, pdu.target_transfer_tag);
  set_response_numbers(bhs, pdu);
  return bhs;
}

template <>
Result<NopIn> decode<NopIn>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::nop_in) return errc::wrong_opcode;
  NopIn pdu;
  get(bhs, kLunAt, pdu.lun);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.target_transfer_tag = u32(bhs, kTttAt);
  get_response_numbers(bhs, pdu);
  // RFC 7143 section 7.7: an answer (valid ITT) that asks for one (valid TTT) is a format error.
  if (!bhs.final() ||
      (pdu.initiator_task_tag != kReservedTag && pdu.target_transfer_tag != kReservedTag))
    return errc::bad_field;
  return pdu;
}

}  // namespace openiser::iscsi
