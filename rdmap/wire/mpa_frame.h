// MPA Request and Reply frames (RFC 5044 section 7.1.1; enhanced: RFC 6581 sections 6 and 9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "rdmap/rtr.h"

namespace openiser::rdmap {

inline constexpr std::size_t kMpaKeySize = 16;
inline constexpr std::size_t kMpaHeaderSize = 20;
inline constexpr std::size_t kMaxMpaPrivateData = 512;
inline constexpr std::size_t kEnhancedDataSize = 4;
inline constexpr std::size_t kMaxMpaFrameSize = kMpaHeaderSize + kMaxMpaPrivateData;
inline constexpr std::uint8_t kMaxMpaRevision = 2;
// IRD or ORD that is not negotiated but left to the ULP (RFC 6581 section 9.1).
inline constexpr std::uint16_t kUlpReadDepth = 0x3fff;

enum class MpaFrameKind { request, reply };

// The words in front of the ULP's private data (RFC 6581 section 9).
struct EnhancedData {
  bool peer_to_peer = false;  // A
  RtrKinds rtr;               // B, C, D
  std::uint16_t ird = 0;      // 14 bits
  std::uint16_t ord = 0;      // 14 bits
};

struct MpaFrame {
  MpaFrameKind kind = MpaFrameKind::request;
  bool markers = false;  // M: the sender wants markers in what it receives
  bool crc = false;      // C
  bool reject = false;   // R
  std::uint8_t revision = 1;
  std::optional<EnhancedData> enhanced;  // present if S is set, which takes revision 2
  // The ULP's, without the words above. A view of the input when parsed.
  Bytes private_data;
};

struct ParsedMpaFrame {
  MpaFrame frame;
  std::size_t size = 0;  // bytes of the input that are the frame
};

// Reads a frame of the wanted kind off the front of `input`. No value: it is good so far, more
// bytes are needed. Error mpa_bad_frame, as early as the bytes tell: a wrong key (also a Request
// where a Reply is due, RFC 5044 section 7.1.1), an unknown revision, too much private data, S
// without room for its words. Below revision 2 the S bit is reserved and ignored.
Result<std::optional<ParsedMpaFrame>> parse_mpa_frame(Bytes input, MpaFrameKind kind);

// Private data within its limit, S only with revision 2: anything else is a bug of ours.
std::vector<std::byte> encode(const MpaFrame& frame);

}  // namespace openiser::rdmap
