// Bytes as hexadecimal digits, for names, logs and people.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace openiser {

// Two lower-case digits a byte, without a prefix.
inline std::string to_hex(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[load_u8(&byte) >> 4];
    text += kDigits[load_u8(&byte) & 15];
  }
  return text;
}

}  // namespace openiser
