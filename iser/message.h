// A control-type PDU in a Send: iSER header, BHS, AHS, data segment (RFC 7145 section 9.2). The
// only lengths are those in the BHS and that of the RDMAP message; they have to agree.
#pragma once

#include <cstdint>
#include <optional>

#include "base/buffer.h"
#include "iscsi/pdu/pdu.h"
#include "iser/header.h"

namespace openiser::iser {

// Where the parts of a message are.
struct MessageLayout {
  ControlHeader header;
  iscsi::Bhs bhs{};
  std::size_t ahs_at = 0;
  std::size_t ahs_size = 0;
  std::size_t data_at = 0;
  std::size_t data_size = 0;
};
// The data segment may come with its padding, as iSCSI has it, or without, as most send it; longer
// or shorter messages are errc::iser_format, data beyond `max_data` is errc::data_too_long.
Result<MessageLayout> parse_message(Bytes message, Dialect dialect, std::size_t max_data);

// Header, BHS and AHS in one block from `pool`, ready to be the head of a Send.
Buffer make_head(const ControlHeader& header, const iscsi::ControlPdu& pdu, Dialect dialect,
                 BufferPool& pool);
// `size` bytes from `pool`, or from the heap when it gives none: for the few bytes without which
// nothing goes on.
Buffer take_small(BufferPool& pool, std::size_t size);

// Fields of single kinds of PDU (RFC 7143 sections 11.3, 11.5, 11.7), read in place.
inline std::uint32_t expected_data_transfer_length(const iscsi::Bhs& command) {
  return load_be32(&command.raw[20]);
}
inline bool reads(const iscsi::Bhs& command) {
  return (load_u8(&command.raw[1]) & 0x40) != 0;
}
inline bool writes(const iscsi::Bhs& command) {
  return (load_u8(&command.raw[1]) & 0x20) != 0;
}
inline bool is_task_reassign(const iscsi::Bhs& bhs) {
  return bhs.opcode() == iscsi::Opcode::task_management_request &&
         (load_u8(&bhs.raw[1]) & 0x7f) ==
             static_cast<std::uint8_t>(iscsi::TaskManagementFunction::task_reassign);
}
inline std::uint32_t referenced_task_tag(const iscsi::Bhs& bhs) {
  return load_be32(&bhs.raw[20]);
}
inline std::uint32_t target_transfer_tag(const iscsi::Bhs& bhs) {
  return load_be32(&bhs.raw[20]);
}
// The request, if any, that a Reject stands for the answer of (RFC 7143 section 11.17: its data
// segment is the rejected header).
std::optional<iscsi::Bhs> rejected_header(const iscsi::ControlPdu& reject);
// Requests, whose sender provides a receive for the answer (RFC 7145 section 8.1.1.1).
bool awaits_answer(iscsi::Opcode opcode);

}  // namespace openiser::iser
