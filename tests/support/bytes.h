// Bytes for tests: written in hexadecimal, patterned, and on the heap with not one byte to spare,
// so that a sanitizer sees every read past the end.
#pragma once

#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/output_queue.h"

namespace openiser::test {

using ByteVector = std::vector<std::byte>;

// Spaces and line breaks are skipped.
inline ByteVector hex(std::string_view digits) {
  ByteVector bytes;
  int high = -1;
  for (const char c : digits) {
    if (std::isspace(static_cast<unsigned char>(c))) continue;
    const int value = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (high < 0) {
      high = value;
    } else {
      bytes.push_back(static_cast<std::byte>(high << 4 | value));
      high = -1;
    }
  }
  return bytes;
}

inline std::string to_hex(Bytes bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[static_cast<unsigned>(b) >> 4];
    text += kDigits[static_cast<unsigned>(b) & 15];
  }
  return text;
}

// A block of the heap of exactly this size.
inline ByteVector exact(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

// 0, 1, 2, ..., 255, 0, ...
inline ByteVector pattern(std::size_t size) {
  ByteVector bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i & 0xff);
  return bytes;
}

inline ByteVector operator+(ByteVector a, const ByteVector& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Everything queued, as the wire would carry it; the queue is empty afterwards.
inline ByteVector drain(OutputQueue& queue) {
  ByteVector bytes;
  while (!queue.empty()) {
    std::array<Bytes, 16> pieces;
    const std::size_t n = queue.gather(pieces);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < n; ++i) {
      bytes.insert(bytes.end(), pieces[i].begin(), pieces[i].end());
      taken += pieces[i].size();
    }
    queue.consume(taken);
  }
  return bytes;
}

}  // namespace openiser::test
