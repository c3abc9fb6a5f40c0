#include "iscsi/pdu/ahs.h"

#include "base/assert.h"
#include "iscsi/errors.h"

namespace openiser::iscsi {
namespace {

constexpr std::size_t kHead = 3;  // AHSLength and AHSType, which AHSLength does not count
constexpr std::uint8_t kTypeMask = 0x3f;
constexpr std::size_t kBidirectionalLength = 5;

std::size_t size_on_wire(std::size_t ahs_length) {
  return kHead + ahs_length + pad4(kHead + ahs_length);
}

Status read_segment(const AhsSegment& segment, CommandAhs& contents) {
  switch (segment.type) {
    case AhsType::extended_cdb:
      // A reserved byte, then at least one of the CDB.
      if (segment.specific.size() < 2 || !contents.extended_cdb.empty()) return errc::bad_ahs;
      contents.extended_cdb = segment.specific.subspan(1);
      return {};
    case AhsType::bidirectional_read_length:
      if (segment.specific.size() != kBidirectionalLength || contents.bidirectional_read_length)
        return errc::bad_ahs;
      contents.bidirectional_read_length = load_be32(&segment.specific[1]);
      return {};
  }
  return errc::bad_ahs;
}

void write_head(ByteWriter& out, std::size_t ahs_length, AhsType type) {
  out.be16(static_cast<std::uint16_t>(ahs_length));
  out.u8(static_cast<std::uint8_t>(type));
  out.u8(0);  // reserved
}

}  // namespace

Result<std::optional<AhsSegment>> AhsReader::next() {
  if (rest_.empty()) return std::optional<AhsSegment>();
  if (rest_.size() < 4) return errc::bad_ahs;
  const std::size_t length = load_be16(&rest_[0]);
  const std::size_t whole = size_on_wire(length);
  if (whole > rest_.size()) return errc::bad_ahs;
  const AhsSegment segment{static_cast<AhsType>(load_u8(&rest_[2]) & kTypeMask),
                           rest_.subspan(kHead, length)};
  rest_ = rest_.subspan(whole);
  return std::optional(segment);
}

Result<CommandAhs> parse_command_ahs(Bytes ahs) {
  CommandAhs contents;
  AhsReader reader(ahs);
  for (;;) {
    const auto segment = reader.next();
    if (!segment) return segment.error();
    if (!*segment) return contents;
    if (const Status status = read_segment(**segment, contents); !status) return status.error();
  }
}

Buffer build_command_ahs(const CommandAhs& contents) {
  const Bytes cdb = contents.extended_cdb;
  const std::size_t cdb_size = cdb.empty() ? 0 : size_on_wire(cdb.size() + 1);
  const std::size_t size =
      cdb_size + (contents.bidirectional_read_length ? size_on_wire(kBidirectionalLength) : 0);
  ISER_ASSERT(size <= kMaxTotalAhs);
  if (size == 0) return {};
  Buffer buffer = Buffer::allocate(size);
  ByteWriter out(buffer.bytes());
  if (!cdb.empty()) {
    write_head(out, cdb.size() + 1, AhsType::extended_cdb);
    out.bytes(cdb);
    out.zeros(pad4(out.size()));
  }
  if (contents.bidirectional_read_length) {
    write_head(out, kBidirectionalLength, AhsType::bidirectional_read_length);
    out.be32(*contents.bidirectional_read_length);
  }
  return buffer;
}

}  // namespace openiser::iscsi
