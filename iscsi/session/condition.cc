#include "iscsi/session/condition.h"

#include <array>

namespace openiser::iscsi {
namespace {

constexpr std::size_t kSenseLengthSize = 2;
constexpr std::uint8_t kAbortedCommand = 0x0b;

struct AdditionalSense {
  std::uint8_t code;
  std::uint8_t qualifier;
};

// RFC 7143 section 11.4.7.2, in the order of Condition; the last is SPC-4's.
constexpr AdditionalSense kAdditionalSense[] = {
    {0x0c, 0x0c},
    {0x0c, 0x0d},
    {0x47, 0x05},
    {0x55, 0x03},
};

}  // namespace

Buffer sense_segment(Bytes sense) {
  if (sense.empty()) return {};
  sense = sense.first(std::min(sense.size(), kMaxSense));
  Buffer segment = Buffer::allocate(kSenseLengthSize + sense.size());
  ByteWriter out(segment.bytes());
  out.be16(static_cast<std::uint16_t>(sense.size()));
  out.bytes(sense);
  return segment;
}

Buffer sense_segment(Condition condition) {
  const AdditionalSense additional = kAdditionalSense[static_cast<std::size_t>(condition)];
  std::array<std::byte, 18> sense{};
  store_u8(&sense[0], 0x70);  // current, fixed format
  store_u8(&sense[2], kAbortedCommand);
  store_u8(&sense[7], sense.size() - 8);
  store_u8(&sense[12], additional.code);
  store_u8(&sense[13], additional.qualifier);
  return sense_segment(sense);
}

Bytes sense_in(Bytes segment) {
  ByteReader in(segment);
  const std::size_t length = in.be16();
  return in.bytes(length);
}

}  // namespace openiser::iscsi
