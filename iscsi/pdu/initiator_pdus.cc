// PDUs that initiators send. Offsets and bits are those of the figures in RFC 7143 section 11.
#include "iscsi/pdu/fields.h"

namespace openiser::iscsi {

using namespace fields;

namespace {

// Byte 1 of a SCSI Command (RFC 7143 section 11.3.1).
constexpr std::uint8_t kRead = 0x40;
constexpr std::uint8_t kWrite = 0x20;
constexpr std::uint8_t kAttribute = 0x07;
constexpr std::uint8_t kSevenBits = 0x7f;  // Function, Reason Code
constexpr std::uint8_t kSnackType = 0x0f;

// A task has a tag other than the reserved one (RFC 7143 section 11.2.1.8).
bool has_tag(const Bhs& bhs) {
  return bhs.initiator_task_tag() != kReservedTag;
}

}  // namespace

// --- RFC 7143 section 11.3 ---

Bhs encode(const ScsiCommand& pdu) {
  Bhs bhs = start(
      Opcode::scsi_command,
      static_cast<std::uint8_t>(bit(pdu.final, kFinal) | bit(pdu.read, kRead) |
                                bit(pdu.write, kWrite) | static_cast<std::uint8_t>(pdu.attribute)),
      pdu.immediate);
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, 20, pdu.expected_data_transfer_length);
  set_request_numbers(bhs, pdu);
  set(bhs, 32, pdu.cdb);
  return bhs;
}

template <>
Result<ScsiCommand> decode<ScsiCommand>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::scsi_command) return errc::wrong_opcode;
  ScsiCommand pdu;
  pdu.immediate = bhs.immediate();
  pdu.final = bhs.final();
  pdu.read = flag(bhs, kRead);
  pdu.write = flag(bhs, kWrite);
  const std::uint8_t attribute = u8(bhs, 1) & kAttribute;
  pdu.attribute = static_cast<TaskAttribute>(attribute);
  get(bhs, kLunAt, pdu.lun);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.expected_data_transfer_length = u32(bhs, 20);
  get_request_numbers(bhs, pdu);
  get(bhs, 32, pdu.cdb);

  const bool direction_missing = pdu.expected_data_transfer_length != 0 && !pdu.read && !pdu.write;
  if (attribute > static_cast<std::uint8_t>(TaskAttribute::aca) || !has_tag(bhs) ||
      (!pdu.final && !pdu.write) || direction_missing)
    return errc::bad_field;
  return pdu;
}

// --- RFC 7143 section 11.5 ---

Bhs encode(const TaskManagementRequest& pdu) {
  Bhs bhs = start(Opcode::task_management_request,
                  static_cast<std::uint8_t>(kFinal | (pdu.function & kSevenBits)), pdu.immediate);
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, 20, pdu.referenced_task_tag);
  set_request_numbers(bhs, pdu);
  set_u32(bhs, 32, pdu.ref_cmd_sn);
  set_u32(bhs, 36, pdu.exp_data_sn);
  return bhs;
}

template <>
Result<TaskManagementRequest> decode<TaskManagementRequest>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::task_management_request) return errc::wrong_opcode;
  if (!bhs.final() || !header_only(bhs) || !has_tag(bhs)) return errc::bad_field;
  TaskManagementRequest pdu;
  pdu.immediate = bhs.immediate();
  pdu.function = u8(bhs, 1) & kSevenBits;
  get(bhs, kLunAt, pdu.lun);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.referenced_task_tag = u32(bhs, 20);
  get_request_numbers(bhs, pdu);
  pdu.ref_cmd_sn = u32(bhs, 32);
  pdu.exp_data_sn = u32(bhs, 36);
  return pdu;
}

// --- RFC 7143 section 11.7 ---

Bhs encode(const DataOut& pdu) {
  Bhs bhs = start(Opcode::data_out, bit(pdu.final, kFinal));
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, kTttAt, pdu.target_transfer_tag);
  set_u32(bhs, 28, pdu.exp_stat_sn);
  set_u32(bhs, 36, pdu.data_sn);
  set_u32(bhs, 40, pdu.buffer_offset);
  return bhs;
}

template <>
Result<DataOut> decode<DataOut>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::data_out) return errc::wrong_opcode;
  DataOut pdu;
  pdu.final = bhs.final();
  get(bhs, kLunAt, pdu.lun);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.target_transfer_tag = u32(bhs, kTttAt);
  pdu.exp_stat_sn = u32(bhs, 28);
  pdu.data_sn = u32(bhs, 36);
  pdu.buffer_offset = u32(bhs, 40);
  return pdu;
}

// --- RFC 7143 section 11.10 ---

Bhs encode(const TextRequest& pdu) {
  Bhs bhs = start(Opcode::text_request,
                  static_cast<std::uint8_t>(bit(pdu.final, kFinal) | bit(pdu.continues, kContinue)),
                  pdu.immediate);
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, kTttAt, pdu.target_transfer_tag);
  set_request_numbers(bhs, pdu);
  return bhs;
}

template <>
Result<TextRequest> decode<TextRequest>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::text_request) return errc::wrong_opcode;
  TextRequest pdu;
  pdu.immediate = bhs.immediate();
  pdu.final = bhs.final();
  pdu.continues = flag(bhs, kContinue);
  get(bhs, kLunAt, pdu.lun);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.target_transfer_tag = u32(bhs, kTttAt);
  get_request_numbers(bhs, pdu);
  // RFC 7143 section 11.10.2
  if ((pdu.continues && pdu.final) || !has_tag(bhs)) return errc::bad_field;
  return pdu;
}

// --- RFC 7143 section 11.12 ---

Bhs encode(const LoginRequest& pdu) {
  Bhs bhs =
      start(Opcode::login_request,
            static_cast<std::uint8_t>(bit(pdu.transit, kFinal) | bit(pdu.continues, kContinue) |
                                      (pdu.current_stage & 3) << 2 | (pdu.next_stage & 3)),
            true);
  set_u8(bhs, 2, pdu.version_max);
  set_u8(bhs, 3, pdu.version_min);
  set(bhs, 8, pdu.isid);
  set_u16(bhs, 14, pdu.tsih);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u16(bhs, 20, pdu.cid);
  set_request_numbers(bhs, pdu);
  return bhs;
}

template <>
Result<LoginRequest> decode<LoginRequest>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::login_request) return errc::wrong_opcode;
  LoginRequest pdu;
  pdu.transit = bhs.final();
  pdu.continues = flag(bhs, kContinue);
  pdu.current_stage = u8(bhs, 1) >> 2 & 3;
  pdu.next_stage = u8(bhs, 1) & 3;
  pdu.version_max = u8(bhs, 2);
  pdu.version_min = u8(bhs, 3);
  get(bhs, 8, pdu.isid);
  pdu.tsih = u16(bhs, 14);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.cid = u16(bhs, 20);
  get_request_numbers(bhs, pdu);
  if (pdu.transit && pdu.continues) return errc::bad_field;  // RFC 7143 section 11.12.2
  return pdu;
}

// --- RFC 7143 section 11.14 ---

Bhs encode(const LogoutRequest& pdu) {
  Bhs bhs = start(Opcode::logout_request,
                  static_cast<std::uint8_t>(kFinal | (pdu.reason & kSevenBits)), pdu.immediate);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u16(bhs, 20, pdu.cid);
  set_request_numbers(bhs, pdu);
  return bhs;
}

template <>
Result<LogoutRequest> decode<LogoutRequest>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::logout_request) return errc::wrong_opcode;
  if (!bhs.final() || !header_only(bhs) || !has_tag(bhs)) return errc::bad_field;
  LogoutRequest pdu;
  pdu.immediate = bhs.immediate();
  pdu.reason = u8(bhs, 1) & kSevenBits;
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.cid = u16(bhs, 20);
  get_request_numbers(bhs, pdu);
  return pdu;
}

// --- RFC 7143 section 11.16 ---

Bhs encode(const SnackRequest& pdu) {
  Bhs bhs =
      start(Opcode::snack_request, static_cast<std::uint8_t>(kFinal | (pdu.type & kSnackType)));
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, kTttAt, pdu.target_transfer_tag);
  set_u32(bhs, 28, pdu.exp_stat_sn);
  set_u32(bhs, 40, pdu.beg_run);
  set_u32(bhs, 44, pdu.run_length);
  return bhs;
}

template <>
Result<SnackRequest> decode<SnackRequest>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::snack_request) return errc::wrong_opcode;
  if (!bhs.final()) return errc::bad_field;
  SnackRequest pdu;
  pdu.type = u8(bhs, 1) & kSnackType;
  get(bhs, kLunAt, pdu.lun);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.target_transfer_tag = u32(bhs, kTttAt);
  pdu.exp_stat_sn = u32(bhs, 28);
  pdu.beg_run = u32(bhs, 40);
  pdu.run_length = u32(bhs, 44);
  return pdu;
}

// --- RFC 7143 section 11.18 ---

Bhs encode(const NopOut& pdu) {
  Bhs bhs = start(Opcode::nop_out, kFinal, pdu.immediate);
  set(bhs, kLunAt, pdu.lun);
  set_u32(bhs, kIttAt, pdu.initiator_task_tag);
  set_u32(bhs, kTttAt, pdu.target_transfer_tag);
  set_request_numbers(bhs, pdu);
  return bhs;
}

template <>
Result<NopOut> decode<NopOut>(const Bhs& bhs) {
  if (bhs.opcode() != Opcode::nop_out) return errc::wrong_opcode;
  // RFC 7143 section 11.18.1: without a tag it takes no CmdSN, so it is immediate.
  if (!bhs.final() || (!has_tag(bhs) && !bhs.immediate())) return errc::bad_field;
  NopOut pdu;
  pdu.immediate = bhs.immediate();
  get(bhs, kLunAt, pdu.lun);
  pdu.initiator_task_tag = bhs.initiator_task_tag();
  pdu.target_transfer_tag = u32(bhs, kTttAt);
  get_request_numbers(bhs, pdu);
  return pdu;
}

}  // namespace openiser::iscsi
