#include "rdmap/wire/terminate.h"

#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

// HdrCt, the last three bits of the Terminate Control field (RFC 5040 section 4.8, figure 8).
constexpr std::uint8_t kSegmentLengthValid = 0x80;   // M
constexpr std::uint8_t kDdpHeaderIncluded = 0x40;    // D
constexpr std::uint8_t kRdmapHeaderIncluded = 0x20;  // R

Bytes take_if_whole(ByteReader& in, std::size_t size) {
  return size <= in.remaining() ? in.bytes(size) : Bytes{};
}

}  // namespace

void encode(const Terminate& terminate, ByteWriter& out) {
  const bool m = terminate.segment_length.has_value();
  const bool d = !terminate.ddp_header.empty();
  const bool r = !terminate.rdma_header.empty();
  out.u8(static_cast<std::uint8_t>(terminate.layer << 4 | (terminate.type & 0x0f)));
  out.u8(terminate.code);
  out.u8(static_cast<std::uint8_t>((m ? kSegmentLengthValid : 0) | (d ? kDdpHeaderIncluded : 0) |
                                   (r ? kRdmapHeaderIncluded : 0)));
  out.u8(0);
  if (m || d) out.be16(terminate.segment_length.value_or(0));
  out.bytes(terminate.ddp_header);
  out.bytes(terminate.rdma_header);
}

Result<Terminate> parse_terminate(Bytes bytes) {
  ByteReader in(bytes);
  const auto layer_and_type = in.u8();
  Terminate terminate;
  terminate.layer = layer_and_type >> 4;
  terminate.type = layer_and_type & 0x0f;
  terminate.code = in.u8();
  const auto included = in.u8();
  in.skip(1);
  if (!in.ok()) return errc::truncated;

  // The length field is there with D too, though it counts only with M.
  if (included & (kSegmentLengthValid | kDdpHeaderIncluded)) {
    const auto length = in.be16();
    if (in.ok() && (included & kSegmentLengthValid)) terminate.segment_length = length;
  }
  if (included & kDdpHeaderIncluded) {
    terminate.ddp_header = take_if_whole(in, ddp_header_size(is_tagged(in.rest())));
    if (terminate.ddp_header.empty()) return terminate;
  }
  if (included & kRdmapHeaderIncluded) {
    terminate.rdma_header = take_if_whole(in, kReadRequestHeaderSize);
  }
  return terminate;
}

}  // namespace openiser::rdmap
