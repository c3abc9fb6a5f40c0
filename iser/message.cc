#include "iser/message.h"

#include "iscsi/errors.h"

namespace openiser::iser {

using iscsi::errc;
using iscsi::kBhsSize;
using iscsi::Opcode;

Result<MessageLayout> parse_message(Bytes message, Dialect dialect, std::size_t max_data) {
  const auto header = decode_control_header(message, dialect);
  if (!header) return header.error();
  const std::size_t header_size = facts(dialect).header_size;
  if (message.size() < header_size + kBhsSize) return errc::iser_format;

  MessageLayout layout{.header = *header};
  std::memcpy(layout.bhs.raw.data(), message.data() + header_size, kBhsSize);
  layout.ahs_at = header_size + kBhsSize;
  layout.ahs_size = layout.bhs.total_ahs_length();
  layout.data_at = layout.ahs_at + layout.ahs_size;
  layout.data_size = layout.bhs.data_segment_length();
  if (layout.data_size > max_data) return errc::data_too_long;
  const std::size_t end = layout.data_at + layout.data_size;
  if (message.size() < end || message.size() > end + pad4(layout.data_size))
    return errc::iser_format;
  return layout;
}

Buffer take_small(BufferPool& pool, std::size_t size) {
  Buffer buffer = pool.take(size);
  return buffer ? std::move(buffer) : Buffer::allocate(size);
}

Buffer make_head(const ControlHeader& header, const iscsi::ControlPdu& pdu, Dialect dialect,
                 BufferPool& pool) {
  const std::size_t header_size = facts(dialect).header_size;
  Buffer head = take_small(pool, header_size + kBhsSize + pdu.ahs.size());
  encode(header, dialect, head.bytes().first(header_size));
  std::memcpy(head.data() + header_size, pdu.bhs.raw.data(), kBhsSize);
  if (!pdu.ahs.empty())
    std::memcpy(head.data() + header_size + kBhsSize, pdu.ahs.data(), pdu.ahs.size());
  return head;
}

std::optional<iscsi::Bhs> rejected_header(const iscsi::ControlPdu& reject) {
  if (reject.bhs.opcode() != Opcode::reject || reject.data.size() < kBhsSize) return {};
  iscsi::Bhs rejected;
  std::memcpy(rejected.raw.data(), reject.data.data(), kBhsSize);
  return rejected;
}

bool awaits_answer(Opcode opcode) {
  switch (opcode) {
    case Opcode::nop_out:
    case Opcode::scsi_command:
    case Opcode::task_management_request:
    case Opcode::text_request:
    case Opcode::logout_request:
      return true;
    default:
      return false;
  }
}

}  // namespace openiser::iser
