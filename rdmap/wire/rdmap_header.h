// RDMAP's control byte, its opcodes and the Read Request header (RFC 5040 section 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "rdmap/rcap.h"
#include "rdmap/wire/ddp.h"

namespace openiser::rdmap {

enum class Opcode : std::uint8_t {
  rdma_write = 0,
  read_request = 1,
  read_response = 2,
  send = 3,
  send_invalidate = 4,
  send_solicited = 5,
  send_solicited_invalidate = 6,
  terminate = 7,
};

// What RFC 5040 sections 4.1 and 5.1 fix per opcode.
struct OpcodeRow {
  Opcode opcode;
  bool tagged;
  // Of untagged messages.
  std::uint32_t queue;
  // Least RDMAP bytes behind the DDP header: 28 for a Read Request, 4 for a Terminate.
  std::size_t header_size;
  bool invalidates;
  bool solicited_event;
  const char* name;
};

// In the order of the opcodes.
std::span<const OpcodeRow> opcode_table();
const OpcodeRow& opcode_row(Opcode opcode);

// Reads the control byte. Errors: rdmap_version, rdmap_opcode (RFC 5040 section 7.2).
Result<const OpcodeRow*> parse_rdmap_control(std::uint8_t control, StreamVersion version);
// The same, and whether the opcode may come in this kind of segment: rdmap_opcode for a tagged Send
// or a Send on the Read Request queue; ddp_untagged_queue for a queue that does not exist.
Result<const OpcodeRow*> check_opcode(const TaggedHeader& header, StreamVersion version);
Result<const OpcodeRow*> check_opcode(const UntaggedHeader& header, StreamVersion version);

std::uint8_t rdmap_control(Opcode opcode, StreamVersion version);

// RFC 5040 section 4.4: follows the untagged DDP header.
inline constexpr std::size_t kReadRequestHeaderSize = 28;
struct ReadRequestHeader {
  Stag sink;
  std::uint64_t sink_offset = 0;
  std::uint32_t size = 0;
  Stag source;
  std::uint64_t source_offset = 0;
};

// `bytes` starts behind the DDP header. Error: truncated.
Result<ReadRequestHeader> parse_read_request(Bytes bytes);
void encode(const ReadRequestHeader& header, ByteWriter& out);

}  // namespace openiser::rdmap
