// Additional Header Segments (RFC 7143 section 11.2.2): TLVs behind the BHS of a SCSI Command, each
// padded to four bytes. All of a PDU's together are at most 255 words.
#pragma once

#include <cstdint>
#include <optional>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/result.h"

namespace openiser::iscsi {

inline constexpr std::size_t kMaxTotalAhs = std::size_t{255} * 4;

enum class AhsType : std::uint8_t {
  extended_cdb = 1,
  bidirectional_read_length = 2,
};

struct AhsSegment {
  AhsType type{};
  // AHSLength bytes, the first of which stands in the first word beside the type.
  Bytes specific;
};

// Walks through the segments of a PDU. Views are valid as long as the input is.
class AhsReader {
 public:
  explicit AhsReader(Bytes ahs) : rest_(ahs) {}
  // Nothing at the end. Fails with errc::bad_ahs when a segment does not fit into what is left.
  Result<std::optional<AhsSegment>> next();

 private:
  Bytes rest_;
};

// What the segments of a SCSI Command say.
struct CommandAhs {
  // The CDB from byte 16 on (RFC 7143 section 11.2.2.3), empty if it has no more than 16. May be
  // longer than the CDB by its padding, as CDBs are padded themselves.
  Bytes extended_cdb;
  // RFC 7143 section 11.2.2.4
  std::optional<std::uint32_t> bidirectional_read_length;
};

// Fails with errc::bad_ahs also for types we do not know, since they may change what the command
// means, and for a type that comes twice.
Result<CommandAhs> parse_command_ahs(Bytes ahs);
// The segments, padded, as they go on the wire; an empty Buffer if there are none. From the heap.
// The CDB's extension has 1 to 1000 bytes.
Buffer build_command_ahs(const CommandAhs& contents);

}  // namespace openiser::iscsi
