// FPDUs the slow way, written apart from rdmap/wire to check it: words of four bytes, one bit of
// CRC at a time, absolute stream positions (RFC 5044 sections 4.1 to 4.4).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/bytes.h"

namespace openiser::test {

inline std::uint32_t slow_crc32c(Bytes bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte b : bytes) {
    crc ^= static_cast<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0);
  }
  return ~crc;
}

// Appends to a stream that starts with the first marker, or has none.
class SlowFramer {
 public:
  SlowFramer(bool crc, bool markers) : crc_(crc), markers_(markers) {}

  void add(const ByteVector& ulpdu) {
    ByteVector body{std::byte(ulpdu.size() >> 8), std::byte(ulpdu.size() & 0xff)};
    body = body + ulpdu;
    while (body.size() % 4 != 0) body.push_back(std::byte{0});
    covered_.clear();
    if (at_marker()) word({});
    start_ = stream.size();
    for (std::size_t i = 0; i < body.size(); i += 4) {
      if (i > 0) marker_if_due();
      word({body[i], body[i + 1], body[i + 2], body[i + 3]});
    }
    marker_if_due();
    const std::uint32_t crc = crc_ ? slow_crc32c(covered_) : 0;
    for (int shift = 0; shift < 32; shift += 8) stream.push_back(std::byte(crc >> shift & 0xff));
  }

  ByteVector stream;
  // Of every marker: its place and its FPDUPTR.
  std::vector<std::pair<std::size_t, std::size_t>> markers;

 private:
  bool at_marker() {
    if (!markers_ || stream.size() % 512 != 0) return false;
    markers.emplace_back(stream.size(), 0);
    return true;
  }
  void marker_if_due() {
    if (!at_marker()) return;
    const std::size_t pointer = stream.size() - start_;
    markers.back().second = pointer;
    word({std::byte{0}, std::byte{0}, std::byte(pointer >> 8), std::byte(pointer & 0xff)});
  }
  void word(std::array<std::byte, 4> bytes) {
    stream.insert(stream.end(), bytes.begin(), bytes.end());
    covered_.insert(covered_.end(), bytes.begin(), bytes.end());
  }

  bool crc_;
  bool markers_;
  std::size_t start_ = 0;
  ByteVector covered_;
};

}  // namespace openiser::test
