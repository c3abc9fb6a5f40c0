#include "iscsi/login/binary_value.h"

#include "base/hex.h"

namespace openiser::iscsi {

namespace {

using Decoded = std::optional<std::vector<std::byte>>;

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return {};
}

std::optional<unsigned> base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return {};
}

Decoded parse_hex_digits(std::string_view digits, std::size_t longest) {
  if (digits.empty() || digits.size() % 2 != 0 || digits.size() / 2 > longest) return {};
  std::vector<std::byte> bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const auto high = hex_digit(digits[i]), low = hex_digit(digits[i + 1]);
    if (!high || !low) return {};
    bytes.push_back(static_cast<std::byte>(*high << 4 | *low));
  }
  return bytes;
}

Decoded parse_base64(std::string_view text, std::size_t longest) {
  if (text.empty() || text.size() % 4 != 0 || text.size() / 4 * 3 > longest + 2) return {};
  for (int padding = 0; padding < 2 && text.back() == '='; ++padding) text.remove_suffix(1);
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() * 3 / 4);
  unsigned pending = 0;
  int bits = 0;
  for (const char c : text) {
    const auto digit = base64_digit(c);
    if (!digit) return {};
    pending = (pending << 6 | *digit) & 0xfff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::byte>(pending >> bits));
  }
  const unsigned unused = pending & ((1U << bits) - 1);
  if (unused != 0 || bytes.size() > longest) return {};
  return bytes;
}

}  // namespace

std::optional<std::vector<std::byte>> parse_binary(std::string_view text, std::size_t longest) {
  if (text.size() < 2 || text[0] != '0') return {};
  const std::string_view digits = text.substr(2);
  if (text[1] == 'x' || text[1] == 'X') return parse_hex_digits(digits, longest);
  if (text[1] == 'b' || text[1] == 'B') return parse_base64(digits, longest);
  return {};
}

std::string format_binary(Bytes bytes) {
  return "0x" + to_hex(bytes);
}

}  // namespace openiser::iscsi
