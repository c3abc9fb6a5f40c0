#include "target/scsi/reservations/transport_id.h"

#include <algorithm>
#include <string_view>

namespace openiser::target {
namespace {

constexpr std::uint8_t kIscsi = 0x05;  // PROTOCOL IDENTIFIER
constexpr std::uint8_t kPortFormat = 0x40;
constexpr std::size_t kHeader = 4;
constexpr std::size_t kLeastLength = 20;
constexpr std::size_t kMostName = 223;  // RFC 7143 section 4.2.7.1
constexpr std::size_t kIsidDigits = 12;
constexpr std::string_view kSeparator = ",i,0x";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostName &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~' && c != ','; });
}

// Leading zeros of the ISID may be left out.
std::optional<std::string> port_name(std::string_view text) {
  const std::size_t at = text.find(kSeparator);
  if (at == std::string_view::npos || !is_name(text.substr(0, at))) return {};
  const std::string_view isid = text.substr(at + kSeparator.size());
  if (isid.empty() || isid.size() > kIsidDigits || !std::ranges::all_of(isid, is_digit)) return {};
  std::string name(text.substr(0, at + kSeparator.size()));
  return name.append(kIsidDigits - isid.size(), '0').append(isid);
}

// What comes before the first null; there has to be one, and nothing after it but nulls.
std::optional<std::string> null_padded(Bytes field) {
  std::string text;
  for (const std::byte byte : field) text += static_cast<char>(byte);
  const std::size_t end = text.find('\0');
  if (end == std::string::npos || text.find_first_not_of('\0', end) != std::string::npos) return {};
  text.resize(end);
  std::ranges::transform(text, text.begin(), lower);
  return text;
}

}  // namespace

std::optional<TransportId> decode_transport_id(Bytes list) {
  if (list.size() < kHeader) return {};
  const std::uint8_t format = load_u8(&list[0]) & 0xc0;
  const std::size_t length = load_be16(&list[2]);
  if ((load_u8(&list[0]) & 0x0f) != kIscsi || (format != 0 && format != kPortFormat)) return {};
  if (length < kLeastLength || length % 4 != 0 || length > list.size() - kHeader) return {};
  const auto text = null_padded(list.subspan(kHeader, length));
  if (!text) return {};
  TransportId id{.name = *text, .is_port = format == kPortFormat, .size = kHeader + length};
  if (!id.is_port) return is_name(id.name) ? std::optional(id) : std::nullopt;
  const auto port = port_name(id.name);
  if (!port) return {};
  id.name = *port;
  return id;
}

std::vector<std::byte> encode_transport_id(const std::string& initiator_port) {
  const std::size_t padded = (initiator_port.size() + 1 + 3) / 4 * 4;
  const std::size_t length = std::max(kLeastLength, padded);
  std::vector<std::byte> id(kHeader + length);
  store_u8(&id[0], kPortFormat | kIscsi);
  store_be16(&id[2], static_cast<std::uint16_t>(length));
  std::ranges::transform(initiator_port, &id[kHeader], [](char c) { return std::byte(c); });
  return id;
}

}  // namespace openiser::target
