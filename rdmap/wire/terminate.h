// The Terminate header (RFC 5040 section 4.8): what follows the untagged DDP header of a Terminate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "rdmap/wire/ddp.h"
#include "rdmap/wire/rdmap_header.h"

namespace openiser::rdmap {

inline constexpr std::size_t kTerminateControlSize = 4;
inline constexpr std::size_t kMaxTerminateSize =
    kTerminateControlSize + 2 + kUntaggedHeaderSize + kReadRequestHeaderSize;

struct Terminate {
  std::uint8_t layer = 0;  // 4 bits
  std::uint8_t type = 0;   // 4 bits
  std::uint8_t code = 0;
  // M: the length of the DDP segment that was refused, DDP header included.
  std::optional<std::uint16_t> segment_length;
  // D: its DDP header of 14 or 18 bytes, or empty.
  Bytes ddp_header;
  // R: its Read Request header of 28 bytes, or empty.
  Bytes rdma_header;
};

void encode(const Terminate& terminate, ByteWriter& out);

// `bytes` starts behind the DDP header; the headers in the result are views of it. A diagnosis
// should not be lost to a peer's slip: of the optional parts those that are not wholly there count
// as absent. Error: truncated, when the control word is not there.
Result<Terminate> parse_terminate(Bytes bytes);

}  // namespace openiser::rdmap
