#include "iser/iser_datamover.h"

namespace openiser::iser {
namespace {

// Linux include/scsi/iser.h: one byte of flags, three reserved.
constexpr std::size_t kCmHeaderSize = 4;
constexpr std::uint8_t kZeroBasedNotSupported = 0x80;
constexpr std::uint8_t kSendInvalidateNotSupported = 0x40;

}  // namespace

std::vector<std::byte> encode(const CmHeader& header) {
  std::vector<std::byte> bytes(kCmHeaderSize);
  store_u8(bytes.data(),
           static_cast<std::uint8_t>(
               (header.zero_based_not_supported ? kZeroBasedNotSupported : 0) |
               (header.send_invalidate_not_supported ? kSendInvalidateNotSupported : 0)));
  return bytes;
}

CmHeader decode_cm_header(Bytes private_data) {
  if (private_data.size() < kCmHeaderSize) return {true, true};
  const std::uint8_t flags = load_u8(private_data.data());
  return {.zero_based_not_supported = (flags & kZeroBasedNotSupported) != 0,
          .send_invalidate_not_supported = (flags & kSendInvalidateNotSupported) != 0};
}

}  // namespace openiser::iser
