#include "rdmap/wire/rdmap_header.h"

#include <array>

#include "rdmap/errors.h"
#include "rdmap/wire/terminate.h"

namespace openiser::rdmap {
namespace {

// The control octet (RFC 5040 section 4.1). The reserved bits are sent as 0 and not checked.
constexpr unsigned kVersionShift = 6;
constexpr std::uint8_t kOpcodeMask = 0x0f;

constexpr bool kTagged = true, kUntagged = false;

// RFC 5040 section 4.1 figure 4 and section 4.2 figure 5.
constexpr std::array kOpcodes{
    OpcodeRow{Opcode::rdma_write, kTagged, 0, 0, false, false, "RDMA Write"},
    OpcodeRow{Opcode::read_request, kUntagged, kReadRequestQueue, kReadRequestHeaderSize, false,
              false, "RDMA Read Request"},
    OpcodeRow{Opcode::read_response, kTagged, 0, 0, false, false, "RDMA Read Response"},
    OpcodeRow{Opcode::send, kUntagged, kSendQueue, 0, false, false, "Send"},
    OpcodeRow{Opcode::send_invalidate, kUntagged, kSendQueue, 0, true, false,
              "Send with Invalidate"},
    OpcodeRow{Opcode::send_solicited, kUntagged, kSendQueue, 0, false, true,
              "Send with Solicited Event"},
    OpcodeRow{Opcode::send_solicited_invalidate, kUntagged, kSendQueue, 0, true, true,
              "Send with Solicited Event and Invalidate"},
    OpcodeRow{Opcode::terminate, kUntagged, kTerminateQueue, kTerminateControlSize, false, false,
              "Terminate"},
};

constexpr std::uint32_t kQueues = 3;

}  // namespace

std::span<const OpcodeRow> opcode_table() {
  return kOpcodes;
}

const OpcodeRow& opcode_row(Opcode opcode) {
  return kOpcodes[static_cast<std::size_t>(opcode)];
}

Result<const OpcodeRow*> parse_rdmap_control(std::uint8_t control, StreamVersion version) {
  if (control >> kVersionShift != version) return errc::rdmap_version;
  const std::size_t opcode = control & kOpcodeMask;
  if (opcode >= kOpcodes.size()) return errc::rdmap_opcode;
  return &kOpcodes[opcode];
}

Result<const OpcodeRow*> check_opcode(const TaggedHeader& header, StreamVersion version) {
  const auto row = parse_rdmap_control(header.rdmap_control, version);
  if (row && !(*row)->tagged) return errc::rdmap_opcode;
  return row;
}

Result<const OpcodeRow*> check_opcode(const UntaggedHeader& header, StreamVersion version) {
  // DDP looks before RDMAP does (RFC 5041 section 7.1).
  if (header.queue >= kQueues) return errc::ddp_untagged_queue;
  const auto row = parse_rdmap_control(header.rdmap_control, version);
  if (row && ((*row)->tagged || (*row)->queue != header.queue)) return errc::rdmap_opcode;
  return row;
}

std::uint8_t rdmap_control(Opcode opcode, StreamVersion version) {
  return static_cast<std::uint8_t>(version << kVersionShift | static_cast<unsigned>(opcode));
}

Result<ReadRequestHeader> parse_read_request(Bytes bytes) {
  ByteReader in(bytes);
  ReadRequestHeader header;
  header.sink = {in.be32()};
  header.sink_offset = in.be64();
  header.size = in.be32();
  header.source = {in.be32()};
  header.source_offset = in.be64();
  if (!in.ok()) return errc::truncated;
  return header;
}

void encode(const ReadRequestHeader& header, ByteWriter& out) {
  out.be32(header.sink.value);
  out.be64(header.sink_offset);
  out.be32(header.size);
  out.be32(header.source.value);
  out.be64(header.source_offset);
}

}  // namespace openiser::rdmap
