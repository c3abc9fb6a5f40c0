// FPDUs (RFC 5044 section 4): how ULPDUs lie in the byte stream, with markers and CRC. One encoder
// and one decoder per direction of a connection; both start at the first byte of Full Operation.
// Codecs only: nothing here keeps received bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/output_queue.h"
#include "base/result.h"

namespace openiser::rdmap {

inline constexpr std::size_t kFpduLengthSize = 2;
inline constexpr std::size_t kFpduCrcSize = 4;
inline constexpr std::size_t kMarkerSize = 4;
// From the start of one marker to the start of the next (RFC 5044 section 4.3).
inline constexpr std::size_t kMarkerInterval = 512;
// Bounds of MULPDU: RFC 5044 sections 3 and 4.5.
inline constexpr std::uint32_t kMaxUlpdu = 64768;
inline constexpr std::uint32_t kMinMulpdu = 128;

// The largest ULPDU whose FPDU fits into one TCP segment of `emss` bytes (RFC 5044 section 4.5).
std::uint32_t mulpdu(std::uint32_t emss, bool markers);

// Pad and CRC behind a ULPDU.
constexpr std::size_t fpdu_trailer_size(std::size_t ulpdu_size) {
  return pad4(kFpduLengthSize + ulpdu_size) + kFpduCrcSize;
}
// A whole FPDU without its markers: a multiple of 4.
constexpr std::size_t fpdu_size(std::size_t ulpdu_size) {
  return kFpduLengthSize + ulpdu_size + fpdu_trailer_size(ulpdu_size);
}

// The place of the next byte of one direction on the 512-byte grid of its markers. Without markers
// it stands still and nothing is ever due.
class MarkerClock {
 public:
  explicit MarkerClock(bool enabled) : enabled_(enabled) {}

  bool enabled() const { return enabled_; }
  // A marker comes next; it belongs to the FPDU that follows (RFC 5044 section 4.3).
  bool due() const { return enabled_ && position_ == 0; }
  // Bytes until a marker is due; SIZE_MAX without markers.
  std::size_t until_marker() const {
    return enabled_ ? (kMarkerInterval - position_) % kMarkerInterval : SIZE_MAX;
  }
  void advance(std::size_t n) {
    if (enabled_) position_ = (position_ + n) % kMarkerInterval;
  }
  // Bytes that an FPDU of `fpdu_bytes` (without markers) takes on the wire from here: the marker
  // right before it and those within it are counted.
  std::size_t wire_size(std::size_t fpdu_bytes) const;

 private:
  bool enabled_;
  std::size_t position_ = 0;
};

// Frames ULPDUs. Without `crc` the CRC field is sent as zero.
class FpduEncoder {
 public:
  FpduEncoder(bool crc, bool markers) : crc_(crc), clock_(markers) {}

  // Appends one FPDU whose ULPDU is `header` followed by the pieces of `payload`; at most kMaxUlpdu
  // bytes in all. The header (at most 64 bytes) and small payloads are copied, other payload is
  // referenced and must stay as it is until sent: the CRC is computed here.
  void append(OutputQueue& out, Bytes header, std::span<const Bytes> payload);
  void append(OutputQueue& out, Bytes header, Bytes payload = {}) {
    append(out, header, std::span<const Bytes>(&payload, 1));
  }

 private:
  bool crc_;
  MarkerClock clock_;
};

// Takes FPDUs out of the stream. Usage, with the received bytes contiguous from the FPDU's first
// byte (its leading marker, if one is due):
//   wait for prefix_size() bytes; wire_size(prefix) tells how many the FPDU has; then decode().
// Or, only without markers, payload is placed where it belongs as it arrives: an FpduCheck over the
// pieces instead of decode(). Then nothing needs to be told to the decoder.
class FpduDecoder {
 public:
  FpduDecoder(bool crc, bool markers) : crc_(crc), clock_(markers) {}

  bool crc() const { return crc_; }
  bool markers() const { return clock_.enabled(); }

  // Bytes that must be there to know the length: 2, or 6 when a marker comes first.
  std::size_t prefix_size() const { return (clock_.due() ? kMarkerSize : 0) + kFpduLengthSize; }
  // ULPDU_Length of the FPDU that starts with these bytes; at least prefix_size() of them.
  std::size_t ulpdu_size(Bytes prefix) const;
  // Bytes of that whole FPDU on the wire, its markers included. At most 65535 + 9 + 4 * 130.
  std::size_t wire_size(Bytes prefix) const;

  // Checks the CRC, then the markers, and moves on to the next FPDU. `wire` is one whole FPDU:
  // exactly wire_size() bytes. Gives the ULPDU: a view of `wire`, or with markers of `scratch`,
  // which grows as needed; valid as long as they are left alone. Errors: mpa_crc, mpa_marker; after
  // an error the decoder must not be used (RFC 5044 section 8).
  Result<Bytes> decode(Bytes wire, std::vector<std::byte>& scratch);

 private:
  // Copies the FPDU without its markers into `scratch`; false if an FPDUPTR does not point at it.
  bool strip_markers(Bytes wire, std::vector<std::byte>& scratch) const;

  bool crc_;
  MarkerClock clock_;
};

// The CRC of one unmarked FPDU that is not contiguous in memory: update() with its bytes in order
// from ULPDU_Length to the end of the ULPDU, then finish() with the pad and the CRC field.
class FpduCheck {
 public:
  explicit FpduCheck(bool crc) : enabled_(crc) {}

  void update(Bytes bytes) {
    if (enabled_) crc_.update(bytes);
  }
  // `trailer`: fpdu_trailer_size() bytes. Error: mpa_crc.
  Status finish(Bytes trailer);

 private:
  bool enabled_;
  Crc32c crc_;
};

}  // namespace openiser::rdmap
