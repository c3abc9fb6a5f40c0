#include "iscsi/pdu/lun.h"

#include <algorithm>

#include "base/bytes.h"

namespace openiser::iscsi {
namespace {

bool all_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

std::optional<std::uint32_t> decode_lun(const Lun& lun) {
  const Bytes bytes(lun);
  const std::uint8_t first = load_u8(&lun[0]);
  switch (first >> 6) {
    case 0:  // peripheral device addressing; the bus identifier is in the low bits
      if (first != 0 || !all_zero(bytes.subspan(2))) return {};
      return load_u8(&lun[1]);
    case 1:  // flat space
      if (!all_zero(bytes.subspan(2))) return {};
      return load_be16(&lun[0]) & 0x3fffU;
    case 3:  // extended: length 1 (four bytes), method 2 is flat space
      if (first != 0xd2 || !all_zero(bytes.subspan(4))) return {};
      return load_be24(&lun[1]);
    default:
      return {};
  }
}

Lun encode_lun(std::uint16_t lun) {
  Lun encoded{};
  store_be16(encoded.data(), static_cast<std::uint16_t>(lun < 256 ? lun : 0x4000 | lun));
  return encoded;
}

bool same_lun(const Lun& a, const Lun& b) {
  if (a == b) return true;
  const auto number = decode_lun(a);
  return number && number == decode_lun(b);
}

}  // namespace openiser::iscsi
