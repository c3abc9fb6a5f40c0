// PDUs of full feature phase for raw peers: few arguments, everything else as a plain initiator
// would set it.
#pragma once

#include "iscsi/pdu/pdu.h"

namespace openiser::test {

constexpr std::uint8_t kRead10 = 0x28;
constexpr std::uint8_t kWrite10 = 0x2a;
constexpr std::uint32_t kBlock = 512;

// SBC-3: READ (10) or WRITE (10) of LUN 0. EDTL is what the blocks take.
inline iscsi::ScsiCommand block_command(std::uint8_t opcode, std::uint32_t tag,
                                        std::uint32_t cmd_sn, std::uint32_t lba,
                                        std::uint16_t blocks) {
  iscsi::ScsiCommand command;
  command.read = opcode == kRead10;
  command.write = opcode == kWrite10;
  command.initiator_task_tag = tag;
  command.cmd_sn = cmd_sn;
  command.expected_data_transfer_length = blocks * kBlock;
  store_u8(&command.cdb[0], opcode);
  store_be32(&command.cdb[2], lba);
  store_be16(&command.cdb[7], blocks);
  return command;
}

// SPC-4: TEST UNIT READY of LUN 0, which also takes unit attentions away.
inline iscsi::ScsiCommand test_unit_ready(std::uint32_t tag, std::uint32_t cmd_sn) {
  iscsi::ScsiCommand command;
  command.initiator_task_tag = tag;
  command.cmd_sn = cmd_sn;
  return command;
}

// Asks for an echo; immediate unless `numbered`.
inline iscsi::NopOut ping(std::uint32_t tag, std::uint32_t cmd_sn, bool numbered = false) {
  iscsi::NopOut nop;
  nop.immediate = !numbered;
  nop.initiator_task_tag = tag;
  nop.cmd_sn = cmd_sn;
  return nop;
}

inline iscsi::LogoutRequest logout(std::uint32_t tag, std::uint32_t cmd_sn) {
  iscsi::LogoutRequest request;
  request.immediate = true;
  request.initiator_task_tag = tag;
  request.cmd_sn = cmd_sn;
  return request;
}

}  // namespace openiser::test
