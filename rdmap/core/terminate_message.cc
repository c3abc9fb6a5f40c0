#include "rdmap/core/terminate_message.h"

namespace openiser::rdmap {
namespace {

// The RDMAP header of a Terminate is that of a Read Request, and no other message has one.
Bytes read_request_header(Bytes ulpdu) {
  if (ulpdu.size() < kReadRequestUlpduSize || is_tagged(ulpdu)) return {};
  if ((load_u8(ulpdu.data() + 1) & 0x0f) != static_cast<std::uint8_t>(Opcode::read_request)) {
    return {};
  }
  return ulpdu.subspan(kUntaggedHeaderSize, kReadRequestHeaderSize);
}

}  // namespace

TerminateMessage::TerminateMessage(const TerminateRow& row, const RefusedUlpdu& refused,
                                   StreamVersion version) {
  Terminate terminate;
  terminate.layer = row.layer;
  terminate.type = row.type;
  terminate.code = row.code;
  const Bytes start = Bytes(refused.start).first(refused.start_size);
  if (row.ddp_header && !start.empty() && start.size() >= ddp_header_size(is_tagged(start))) {
    terminate.segment_length = static_cast<std::uint16_t>(refused.ulpdu_size);
    terminate.ddp_header = start.first(ddp_header_size(is_tagged(start)));
    if (row.rdmap_header) terminate.rdma_header = read_request_header(start);
  }
  ByteWriter out(space_);
  // Its queue carries one message, this one (RFC 5040 section 5.4).
  encode(UntaggedHeader{.rdmap_control = rdmap_control(Opcode::terminate, version),
                        .invalidate = {},
                        .queue = kTerminateQueue},
         version, out);
  encode(terminate, out);
  size_ = out.size();
}

}  // namespace openiser::rdmap
