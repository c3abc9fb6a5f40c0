#include "rdmap/wire/mpa_frame.h"

#include <algorithm>
#include <string_view>

#include "base/assert.h"
#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

constexpr std::string_view kRequestKey = "MPA ID Req Frame";
constexpr std::string_view kReplyKey = "MPA ID Rep Frame";
static_assert(kRequestKey.size() == kMpaKeySize && kReplyKey.size() == kMpaKeySize);

// The flags octet; the rest is reserved, sent as 0 and not checked (RFC 5044 section 7.1.1, RFC
// 6581 section 6). Linux siw sets 0x08 there.
constexpr std::uint8_t kMarkersBit = 0x80;   // M
constexpr std::uint8_t kCrcBit = 0x40;       // C
constexpr std::uint8_t kRejectBit = 0x20;    // R
constexpr std::uint8_t kEnhancedBit = 0x10;  // S

// The two words of enhanced data (RFC 6581 section 9): A and B above IRD, C and D above ORD.
constexpr std::uint16_t kHighFlag = 0x8000;
constexpr std::uint16_t kLowFlag = 0x4000;
constexpr std::uint16_t kDepthMask = 0x3fff;

// The first revision with enhanced data.
constexpr std::uint8_t kEnhancedRevision = 2;

Bytes key_of(MpaFrameKind kind) {
  return as_bytes(kind == MpaFrameKind::request ? kRequestKey : kReplyKey);
}

bool key_matches(Bytes input, MpaFrameKind kind) {
  const std::size_t n = std::min(input.size(), kMpaKeySize);
  return std::ranges::equal(input.first(n), key_of(kind).first(n));
}

EnhancedData parse_enhanced(ByteReader& in) {
  const auto first = in.be16();
  const auto second = in.be16();
  EnhancedData data;
  data.ird = first & kDepthMask;
  data.ord = second & kDepthMask;
  data.peer_to_peer = (first & kHighFlag) != 0;
  // Without A the others mean nothing (RFC 6581 section 9.2).
  if (data.peer_to_peer) {
    data.rtr = {.send = (first & kLowFlag) != 0,
                .write = (second & kHighFlag) != 0,
                .read = (second & kLowFlag) != 0};
  }
  return data;
}

void encode_enhanced(const EnhancedData& data, ByteWriter& out) {
  const RtrKinds rtr = data.peer_to_peer ? data.rtr : RtrKinds{};
  out.be16(static_cast<std::uint16_t>((data.peer_to_peer ? kHighFlag : 0) |
                                      (rtr.send ? kLowFlag : 0) | (data.ird & kDepthMask)));
  out.be16(static_cast<std::uint16_t>((rtr.write ? kHighFlag : 0) | (rtr.read ? kLowFlag : 0) |
                                      (data.ord & kDepthMask)));
}

}  // namespace

Result<std::optional<ParsedMpaFrame>> parse_mpa_frame(Bytes input, MpaFrameKind kind) {
  constexpr std::size_t kRevisionAt = kMpaKeySize + 1;
  if (!key_matches(input, kind)) return errc::mpa_bad_frame;
  if (input.size() > kRevisionAt && load_u8(&input[kRevisionAt]) > kMaxMpaRevision) {
    return errc::mpa_bad_frame;
  }
  if (input.size() < kMpaHeaderSize) return std::nullopt;

  ByteReader in(input);
  in.skip(kMpaKeySize);
  const auto flags = in.u8();
  ParsedMpaFrame parsed;
  MpaFrame& frame = parsed.frame;
  frame.kind = kind;
  frame.markers = (flags & kMarkersBit) != 0;
  frame.crc = (flags & kCrcBit) != 0;
  // Not checked in a Request (RFC 5044 section 7.1.1).
  frame.reject = kind == MpaFrameKind::reply && (flags & kRejectBit) != 0;
  frame.revision = in.u8();
  std::size_t private_size = in.be16();
  if (private_size > kMaxMpaPrivateData) return errc::mpa_bad_frame;
  const bool enhanced = frame.revision >= kEnhancedRevision && (flags & kEnhancedBit) != 0;
  if (enhanced && private_size < kEnhancedDataSize) return errc::mpa_bad_frame;

  parsed.size = kMpaHeaderSize + private_size;
  if (input.size() < parsed.size) return std::nullopt;
  if (enhanced) {
    frame.enhanced = parse_enhanced(in);
    private_size -= kEnhancedDataSize;
  }
  frame.private_data = in.bytes(private_size);
  return std::optional(parsed);
}

std::vector<std::byte> encode(const MpaFrame& frame) {
  const bool enhanced = frame.enhanced.has_value();
  const std::size_t private_size = (enhanced ? kEnhancedDataSize : 0) + frame.private_data.size();
  ISER_ASSERT(private_size <= kMaxMpaPrivateData);
  ISER_ASSERT(!enhanced || frame.revision >= kEnhancedRevision);

  std::vector<std::byte> bytes(kMpaHeaderSize + private_size);
  ByteWriter out(bytes);
  out.bytes(key_of(frame.kind));
  out.u8(static_cast<std::uint8_t>((frame.markers ? kMarkersBit : 0) | (frame.crc ? kCrcBit : 0) |
                                   (frame.reject ? kRejectBit : 0) |
                                   (enhanced ? kEnhancedBit : 0)));
  out.u8(frame.revision);
  out.be16(static_cast<std::uint16_t>(private_size));
  if (enhanced) encode_enhanced(*frame.enhanced, out);
  out.bytes(frame.private_data);
  return bytes;
}

}  // namespace openiser::rdmap
