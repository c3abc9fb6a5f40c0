#include "rdmap/wire/fpdu.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

constexpr std::size_t kMaxHeader = 64;
// Payload up to this is copied: cheaper than one more piece of a gathered write.
constexpr std::size_t kCopyLimit = 256;
constexpr std::size_t kBetweenMarkers = kMarkerInterval - kMarkerSize;

// Pad and CRC of an FPDU of which `crc` has covered all up to the end of the ULPDU.
void fill_trailer(MutableBytes trailer, bool with_crc, Crc32c& crc) {
  const MutableBytes pad = trailer.first(trailer.size() - kFpduCrcSize);
  std::ranges::fill(pad, std::byte{0});
  if (with_crc) crc.update(pad);
  store_le32(trailer.data() + pad.size(), with_crc ? crc.value() : 0);
}

void append_copied(OutputQueue& out, Bytes header, std::span<const Bytes> payload,
                   std::size_t ulpdu_size, bool with_crc) {
  const MutableBytes fpdu = out.append_space(fpdu_size(ulpdu_size));
  ByteWriter writer(fpdu);
  writer.be16(static_cast<std::uint16_t>(ulpdu_size));
  writer.bytes(header);
  for (Bytes piece : payload) writer.bytes(piece);
  Crc32c crc;
  if (with_crc) crc.update(writer.written());
  fill_trailer(fpdu.subspan(writer.size()), with_crc, crc);
}

void append_referenced(OutputQueue& out, Bytes header, std::span<const Bytes> payload,
                       std::size_t ulpdu_size, bool with_crc) {
  const MutableBytes head = out.append_space(kFpduLengthSize + header.size());
  ByteWriter writer(head);
  writer.be16(static_cast<std::uint16_t>(ulpdu_size));
  writer.bytes(header);
  Crc32c crc;
  if (with_crc) crc.update(head);
  for (Bytes piece : payload) {
    if (with_crc) crc.update(piece);
    out.append_reference(piece);
  }
  fill_trailer(out.append_space(fpdu_trailer_size(ulpdu_size)), with_crc, crc);
}

// Writes one FPDU in pieces and puts the markers where they fall (RFC 5044 section 4.3).
class MarkedWriter {
 public:
  MarkedWriter(OutputQueue& out, MarkerClock& clock, bool with_crc)
      : out_(out), clock_(clock), with_crc_(with_crc) {
    // Between two FPDUs: it belongs to this one and its FPDUPTR is 0.
    if (clock_.due()) marker();
    written_ = 0;
  }

  void copy(Bytes bytes) {
    split(bytes, [this](Bytes run) { out_.append_copy(run); });
  }
  void reference(Bytes bytes) {
    split(bytes, [this](Bytes run) { out_.append_reference(run); });
  }
  // The CRC field covers the marker right before it, not itself (RFC 5044 section 4.4).
  void crc_field() {
    if (clock_.due()) marker();
    std::array<std::byte, kFpduCrcSize> field;
    store_le32(field.data(), with_crc_ ? crc_.value() : 0);
    out_.append_copy(field);
    clock_.advance(field.size());
  }

 private:
  template <class Append>
  void split(Bytes bytes, Append append) {
    while (!bytes.empty()) {
      if (clock_.due()) marker();
      const Bytes run = bytes.first(std::min(bytes.size(), clock_.until_marker()));
      append(run);
      wrote(run);
      bytes = bytes.subspan(run.size());
    }
  }
  void marker() {
    const MutableBytes space = out_.append_space(kMarkerSize);
    store_be32(space.data(), written_);
    wrote(space);
  }
  void wrote(Bytes bytes) {
    if (with_crc_) crc_.update(bytes);
    clock_.advance(bytes.size());
    written_ += static_cast<std::uint32_t>(bytes.size());
  }

  OutputQueue& out_;
  MarkerClock& clock_;
  bool with_crc_;
  Crc32c crc_;
  // Bytes since ULPDU_Length, markers included: FPDUPTR. Fits 16 bits: kMaxUlpdu leaves room for
  // 130 markers.
  std::uint32_t written_ = 0;
};

void append_marked(OutputQueue& out, Bytes header, std::span<const Bytes> payload,
                   std::size_t ulpdu_size, bool by_reference, bool with_crc, MarkerClock& clock) {
  std::array<std::byte, kFpduLengthSize> length;
  store_be16(length.data(), static_cast<std::uint16_t>(ulpdu_size));
  constexpr std::array<std::byte, 3> zeros{};

  MarkedWriter writer(out, clock, with_crc);
  writer.copy(length);
  writer.copy(header);
  for (Bytes piece : payload) by_reference ? writer.reference(piece) : writer.copy(piece);
  writer.copy(Bytes(zeros).first(pad4(kFpduLengthSize + ulpdu_size)));
  writer.crc_field();
}

}  // namespace

std::uint32_t mulpdu(std::uint32_t emss, bool markers) {
  const std::uint64_t marker_bytes =
      markers ? kMarkerSize * ((emss + kMarkerInterval - 1) / kMarkerInterval) : 0;
  const std::uint64_t overhead = kFpduLengthSize + kFpduCrcSize + marker_bytes + emss % 4;
  if (emss < overhead + kMinMulpdu) return kMinMulpdu;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(emss - overhead, kMaxUlpdu));
}

std::size_t MarkerClock::wire_size(std::size_t fpdu_bytes) const {
  if (!enabled_) return fpdu_bytes;
  const std::size_t lead = due() ? kMarkerSize : 0;
  const std::size_t before_next = kMarkerInterval - position_ - lead;
  const std::size_t beyond = fpdu_bytes > before_next ? fpdu_bytes - before_next : 0;
  const std::size_t markers = (beyond + kBetweenMarkers - 1) / kBetweenMarkers;
  return lead + fpdu_bytes + markers * kMarkerSize;
}

void FpduEncoder::append(OutputQueue& out, Bytes header, std::span<const Bytes> payload) {
  std::size_t payload_size = 0;
  for (Bytes piece : payload) payload_size += piece.size();
  const std::size_t ulpdu_size = header.size() + payload_size;
  ISER_ASSERT(header.size() <= kMaxHeader && ulpdu_size <= kMaxUlpdu);

  const bool by_reference = payload_size > kCopyLimit;
  if (clock_.enabled()) {
    append_marked(out, header, payload, ulpdu_size, by_reference, crc_, clock_);
  } else if (by_reference) {
    append_referenced(out, header, payload, ulpdu_size, crc_);
  } else {
    append_copied(out, header, payload, ulpdu_size, crc_);
  }
}

std::size_t FpduDecoder::ulpdu_size(Bytes prefix) const {
  ISER_ASSERT(prefix.size() >= prefix_size());
  return load_be16(prefix.data() + prefix_size() - kFpduLengthSize);
}

std::size_t FpduDecoder::wire_size(Bytes prefix) const {
  return clock_.wire_size(fpdu_size(ulpdu_size(prefix)));
}

Result<Bytes> FpduDecoder::decode(Bytes wire, std::vector<std::byte>& scratch) {
  ISER_ASSERT(wire.size() == wire_size(wire));
  const Bytes covered = wire.first(wire.size() - kFpduCrcSize);
  if (crc_ && crc32c(covered) != load_le32(covered.data() + covered.size())) return errc::mpa_crc;

  const std::size_t size = ulpdu_size(wire);
  Bytes fpdu = wire;
  if (clock_.enabled()) {
    if (!strip_markers(wire, scratch)) return errc::mpa_marker;
    clock_.advance(wire.size());
    fpdu = scratch;
  }
  return fpdu.subspan(kFpduLengthSize, size);
}

bool FpduDecoder::strip_markers(Bytes wire, std::vector<std::byte>& scratch) const {
  if (scratch.size() < wire.size()) scratch.resize(wire.size());
  MarkerClock clock = clock_;
  // Where ULPDU_Length lies: all markers of the FPDU point there. Their reserved half is not
  // looked at, and FPDUPTR's low two bits count as zero (RFC 5044 section 4.2).
  const std::size_t start = clock.due() ? kMarkerSize : 0;
  std::size_t at = 0;
  std::size_t stripped = 0;
  while (at < wire.size()) {
    if (clock.due()) {
      const std::size_t pointer = load_be16(wire.data() + at + 2) & ~std::size_t{3};
      if (pointer != (at < start ? 0 : at - start)) return false;
      at += kMarkerSize;
      clock.advance(kMarkerSize);
    }
    const std::size_t run = std::min(wire.size() - at, clock.until_marker());
    std::memcpy(scratch.data() + stripped, wire.data() + at, run);
    stripped += run;
    at += run;
    clock.advance(run);
  }
  return true;
}

Status FpduCheck::finish(Bytes trailer) {
  ISER_ASSERT(trailer.size() >= kFpduCrcSize);
  if (!enabled_) return {};
  const Bytes pad = trailer.first(trailer.size() - kFpduCrcSize);
  crc_.update(pad);
  if (crc_.value() != load_le32(trailer.data() + pad.size())) return errc::mpa_crc;
  return {};
}

}  // namespace openiser::rdmap
