#include "rdmap/wire/ddp.h"

#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

// The control octet (RFC 5041 section 4.1). The reserved bits are sent as 0 and not checked.
constexpr std::uint8_t kTaggedBit = 0x80;
constexpr std::uint8_t kLastBit = 0x40;
constexpr std::uint8_t kVersionMask = 0x03;

std::uint8_t control(bool tagged, bool last, StreamVersion version) {
  return static_cast<std::uint8_t>((tagged ? kTaggedBit : 0) | (last ? kLastBit : 0) |
                                   (version & kVersionMask));
}

}  // namespace

Result<TaggedHeader> parse_tagged(Bytes ulpdu, StreamVersion version) {
  ByteReader in(ulpdu);
  const auto control = in.u8();
  TaggedHeader header;
  header.last = (control & kLastBit) != 0;
  header.rdmap_control = in.u8();
  header.stag = {in.be32()};
  header.offset = in.be64();
  if (!in.ok()) return errc::truncated;
  if ((control & kVersionMask) != version) return errc::ddp_tagged_version;
  return header;
}

Result<UntaggedHeader> parse_untagged(Bytes ulpdu, StreamVersion version) {
  ByteReader in(ulpdu);
  const auto control = in.u8();
  UntaggedHeader header;
  header.last = (control & kLastBit) != 0;
  header.rdmap_control = in.u8();
  header.invalidate = {in.be32()};
  header.queue = in.be32();
  header.msn = in.be32();
  header.message_offset = in.be32();
  if (!in.ok()) return errc::truncated;
  if ((control & kVersionMask) != version) return errc::ddp_untagged_version;
  return header;
}

void encode(const TaggedHeader& header, StreamVersion version, ByteWriter& out) {
  out.u8(control(true, header.last, version));
  out.u8(header.rdmap_control);
  out.be32(header.stag.value);
  out.be64(header.offset);
}

void encode(const UntaggedHeader& header, StreamVersion version, ByteWriter& out) {
  out.u8(control(false, header.last, version));
  out.u8(header.rdmap_control);
  out.be32(header.invalidate.value);
  out.be32(header.queue);
  out.be32(header.msn);
  out.be32(header.message_offset);
}

}  // namespace openiser::rdmap
