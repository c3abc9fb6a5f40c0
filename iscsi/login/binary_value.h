// Binary values of text keys (RFC 7143 section 6.1): hexadecimal behind 0x, base64 behind 0b.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace openiser::iscsi {

// Of whole bytes: an even number of hexadecimal digits, or base64 (RFC 4648 section 4) with its
// padding and with unused bits of zero. Nothing for anything else, such as a decimal number, which
// no value of more than 64 bits may be written as, and for more than `longest` bytes.
std::optional<std::vector<std::byte>> parse_binary(std::string_view text, std::size_t longest);

// Hexadecimal, which every node reads.
std::string format_binary(Bytes bytes);

}  // namespace openiser::iscsi
