// DDP segment headers (RFC 5041 section 4): the first bytes of each ULPDU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "rdmap/rcap.h"

namespace openiser::rdmap {

// DV and RV of a stream: 1 (RFC 5041 section 4.1, RFC 5040 section 4.1), or 0 when MPA revision 0,
// the RDMA Consortium's, is spoken (RFC 5044 appendix C). MPA start-up settles it.
using StreamVersion = std::uint8_t;

inline constexpr std::size_t kTaggedHeaderSize = 14;
inline constexpr std::size_t kUntaggedHeaderSize = 18;

// Queues of untagged messages (RFC 5040 section 5.1).
inline constexpr std::uint32_t kSendQueue = 0;
inline constexpr std::uint32_t kReadRequestQueue = 1;
inline constexpr std::uint32_t kTerminateQueue = 2;

// The T bit. An empty ULPDU passes for untagged: parsing it tells that it is truncated.
inline bool is_tagged(Bytes ulpdu) {
  return !ulpdu.empty() && (load_u8(ulpdu.data()) & 0x80) != 0;
}
constexpr std::size_t ddp_header_size(bool tagged) {
  return tagged ? kTaggedHeaderSize : kUntaggedHeaderSize;
}

// RFC 5041 section 4.2.
struct TaggedHeader {
  bool last = true;
  std::uint8_t rdmap_control = 0;
  Stag stag;
  std::uint64_t offset = 0;
};

// RFC 5041 section 4.3.
struct UntaggedHeader {
  bool last = true;
  std::uint8_t rdmap_control = 0;
  // RsvdULP: the STag that a Send with Invalidate names, else 0 and not checked (RFC 5040
  // section 4.3).
  Stag invalidate;
  std::uint32_t queue = kSendQueue;
  std::uint32_t msn = 1;
  std::uint32_t message_offset = 0;
};

// The T bit is the caller's to look at. Errors: truncated, ddp_tagged_version or
// ddp_untagged_version.
Result<TaggedHeader> parse_tagged(Bytes ulpdu, StreamVersion version);
Result<UntaggedHeader> parse_untagged(Bytes ulpdu, StreamVersion version);

void encode(const TaggedHeader& header, StreamVersion version, ByteWriter& out);
void encode(const UntaggedHeader& header, StreamVersion version, ByteWriter& out);

}  // namespace openiser::rdmap
