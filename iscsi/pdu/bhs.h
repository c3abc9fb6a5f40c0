// The Basic Header Segment that every PDU starts with (RFC 7143 section 11.2.1): the fields all
// kinds share, read in place, and the opcodes. The typed views of each PDU are in pdu.h.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace openiser::iscsi {

inline constexpr std::size_t kBhsSize = 48;
inline constexpr std::uint32_t kReservedTag = 0xffffffff;  // ITT or TTT that stands for none

// RFC 7143 section 11.2.1.2. Initiator opcodes below 0x20, target opcodes from it.
enum class Opcode : std::uint8_t {
  nop_out = 0x00,
  scsi_command = 0x01,
  task_management_request = 0x02,
  login_request = 0x03,
  text_request = 0x04,
  data_out = 0x05,
  logout_request = 0x06,
  snack_request = 0x10,
  nop_in = 0x20,
  scsi_response = 0x21,
  task_management_response = 0x22,
  login_response = 0x23,
  text_response = 0x24,
  data_in = 0x25,
  logout_response = 0x26,
  r2t = 0x31,
  async_message = 0x32,
  reject = 0x3f,
};

// 48 bytes as they are on the wire.
struct Bhs {
  std::array<std::byte, kBhsSize> raw{};

  Opcode opcode() const { return static_cast<Opcode>(load_u8(&raw[0]) & 0x3f); }
  bool immediate() const { return (load_u8(&raw[0]) & 0x40) != 0; }
  bool final() const { return (load_u8(&raw[1]) & 0x80) != 0; }
  // In bytes (the wire counts four-byte words), padding included.
  std::size_t total_ahs_length() const { return std::size_t{load_u8(&raw[4])} * 4; }
  // In bytes, padding not included: 0 to 2^24-1.
  std::uint32_t data_segment_length() const { return load_be24(&raw[5]); }
  void set_data_segment_length(std::uint32_t n) { store_be24(&raw[5], n); }
  void set_total_ahs_length(std::size_t bytes) {
    store_u8(&raw[4], static_cast<std::uint8_t>(bytes / 4));
  }
  std::uint32_t initiator_task_tag() const { return load_be32(&raw[16]); }
  // For target PDUs that carry them.
  std::uint32_t stat_sn() const { return load_be32(&raw[24]); }
  std::uint32_t exp_cmd_sn() const { return load_be32(&raw[28]); }
  std::uint32_t max_cmd_sn() const { return load_be32(&raw[32]); }
  // For initiator PDUs that carry them.
  std::uint32_t cmd_sn() const { return load_be32(&raw[24]); }
  std::uint32_t exp_stat_sn() const { return load_be32(&raw[28]); }
};

}  // namespace openiser::iscsi
