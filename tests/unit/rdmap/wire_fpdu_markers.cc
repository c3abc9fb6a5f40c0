// FPDUs with markers (RFC 5044 sections 4.2 to 4.4).
#include <gtest/gtest.h>

#include <array>

#include "rdmap/errors.h"
#include "rdmap/wire/ddp.h"
#include "rdmap/wire/fpdu.h"
#include "rdmap/wire/rdmap_header.h"
#include "tests/support/bytes.h"
#include "tests/support/slow_fpdu.h"

namespace openiser::rdmap {
namespace {

using test::ByteVector;
using test::drain;
using test::exact;
using test::hex;
using test::operator+;
using test::pattern;
using test::SlowFramer;
using test::to_hex;

ByteVector send(std::uint32_t msn, const ByteVector& payload) {
  ByteVector ulpdu(kUntaggedHeaderSize);
  ByteWriter out(ulpdu);
  encode(
      UntaggedHeader{.rdmap_control = rdmap_control(Opcode::send, 1), .invalidate = {}, .msn = msn},
      1, out);
  return ulpdu + payload;
}

ByteVector write(Stag stag, const ByteVector& payload) {
  ByteVector ulpdu(kTaggedHeaderSize);
  ByteWriter out(ulpdu);
  encode(TaggedHeader{.rdmap_control = rdmap_control(Opcode::rdma_write, 1), .stag = stag}, 1, out);
  return ulpdu + payload;
}

ByteVector encode_stream(const std::vector<ByteVector>& ulpdus, bool crc = true) {
  OutputQueue out;
  FpduEncoder encoder(crc, true);
  for (const ByteVector& ulpdu : ulpdus) {
    const std::size_t header = std::min<std::size_t>(18, ulpdu.size());
    encoder.append(out, Bytes(ulpdu).first(header), Bytes(ulpdu).subspan(header));
  }
  return drain(out);
}

// Takes the whole stream apart; stops at the first error.
std::vector<ByteVector> decode_stream(Bytes stream, ErrorCode& error, bool crc = true) {
  FpduDecoder decoder(crc, true);
  std::vector<ByteVector> ulpdus;
  ByteVector scratch;
  error = {};
  while (!stream.empty()) {
    if (stream.size() < decoder.prefix_size()) break;
    const std::size_t size = decoder.wire_size(exact(stream.first(decoder.prefix_size())));
    if (size > stream.size()) break;
    const ByteVector wire = exact(stream.first(size));
    const auto ulpdu = decoder.decode(wire, scratch);
    if (!ulpdu) {
      error = ulpdu.error();
      break;
    }
    ulpdus.push_back(exact(*ulpdu));
    stream = stream.subspan(size);
  }
  return ulpdus;
}

using Markers = std::vector<std::pair<std::size_t, std::size_t>>;

Markers markers_of(Bytes stream) {
  Markers markers;
  for (std::size_t at = 0; at + 4 <= stream.size(); at += 512) {
    EXPECT_EQ(load_be16(&stream[at]), 0) << "reserved half of the marker at " << at;
    markers.emplace_back(at, load_be16(&stream[at + 2]));
  }
  return markers;
}

struct Stream {
  const char* name;
  std::vector<ByteVector> ulpdus;
  std::size_t size;
  std::uint32_t crc;
  Markers markers;
};

// Computed by a separate program: a marker inside a header, a pointer across an earlier marker, one
// exactly between two FPDUs, one between pad and CRC.
std::vector<Stream> golden_streams() {
  return {
      {"FourFpdus",
       {send(1, pattern(24)), send(2, pattern(426)), send(3, pattern(1000)),
        write({0x01020304}, pattern(1500))},
       3068,
       0xd06b74b4,
       {{0, 0}, {512, 8}, {1024, 520}, {1536, 0}, {2048, 508}, {2560, 1020}}},
      {"MarkerBetweenPadAndCrc",
       {send(1, ByteVector(488)), send(1, pattern(24))},
       568,
       0x0b8dfbb4,
       {{0, 0}, {512, 508}}},
      {"MarkerBetweenFpdus",
       {send(1, ByteVector(484)), send(1, pattern(24))},
       564,
       0x36460b93,
       {{0, 0}, {512, 0}}},
  };
}

class MarkedStream : public testing::TestWithParam<Stream> {};

TEST_P(MarkedStream, IsEncoded) {
  const ByteVector stream = encode_stream(GetParam().ulpdus);
  EXPECT_EQ(stream.size(), GetParam().size);
  EXPECT_EQ(crc32c(stream), GetParam().crc);
  EXPECT_EQ(markers_of(stream), GetParam().markers);
}

TEST_P(MarkedStream, IsDecoded) {
  ErrorCode error;
  EXPECT_EQ(decode_stream(encode_stream(GetParam().ulpdus), error), GetParam().ulpdus);
  EXPECT_FALSE(error);
}

TEST_P(MarkedStream, AnyFlippedMarkerBitIsACrcError) {
  const ByteVector stream = encode_stream(GetParam().ulpdus);
  for (const auto& [place, pointer] : GetParam().markers) {
    for (std::size_t bit = 0; bit < 32; ++bit) {
      ByteVector bad = stream;
      bad[place + bit / 8] ^= std::byte(1 << bit % 8);
      ErrorCode error;
      decode_stream(bad, error);
      EXPECT_EQ(error, errc::mpa_crc) << place << " bit " << bit;
    }
  }
}

TEST_P(MarkedStream, AWrongPointerIsAMarkerErrorWhenCrcDoesNotTell) {
  const ByteVector stream = encode_stream(GetParam().ulpdus, false);
  for (const auto& [place, pointer] : GetParam().markers) {
    ByteVector bad = stream;
    store_be16(&bad[place + 2], static_cast<std::uint16_t>(pointer + 4));
    ErrorCode error;
    decode_stream(bad, error, false);
    EXPECT_EQ(error, errc::mpa_marker) << place;
  }
}

// RFC 5044 section 4.2: reserved bits are not looked at, FPDUPTR's low two count as zero.
TEST_P(MarkedStream, ReservedMarkerBitsAreNotChecked) {
  ByteVector stream = encode_stream(GetParam().ulpdus, false);
  for (const auto& [place, pointer] : GetParam().markers) {
    store_be16(&stream[place], 0xffff);
    stream[place + 3] |= std::byte{3};
  }
  ErrorCode error;
  EXPECT_EQ(decode_stream(stream, error, false), GetParam().ulpdus);
  EXPECT_FALSE(error);
}

INSTANTIATE_TEST_SUITE_P(Golden, MarkedStream, testing::ValuesIn(golden_streams()),
                         [](const auto& info) { return std::string(info.param.name); });

// RFC 5044 figure 5: the FPDU right behind the first marker of the stream.
TEST(MarkedFpdu, Figure5) {
  const ByteVector stream = encode_stream({send(1, ByteVector(24))});
  EXPECT_EQ(to_hex(Bytes(stream).first(8)), "00000000002a4143");
  EXPECT_EQ(to_hex(Bytes(stream).last(4)), "52239983");
}

// RFC 5044 figure 6: the second FPDU starts at 0x1ec and holds the marker at 0x200.
TEST(MarkedFpdu, Figure6) {
  const ByteVector stream = encode_stream({send(1, ByteVector(464)), send(2, ByteVector(24))});
  ASSERT_EQ(stream.size(), 0x220u);
  EXPECT_EQ(to_hex(Bytes(stream).subspan(0x1ec, 24)),
            "002a4143000000000000000000000002000000000000001"
            "4");
  EXPECT_EQ(to_hex(Bytes(stream).last(4)), "84925898");
}

TEST(MarkedFpdu, EveryLengthAtEveryPlaceOfTheGridAgreesWithTheSlowCodec) {
  std::vector<std::size_t> sizes;
  for (std::size_t n = 0; n <= 64; ++n) sizes.push_back(n);
  for (std::size_t m : {512, 1024, 2048})
    for (std::size_t n = m - 24; n <= m + 24; ++n) sizes.push_back(n);
  // All of them in one stream, so that they start everywhere on the grid.
  std::vector<ByteVector> ulpdus;
  SlowFramer slow(true, true);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : sizes) {
      ulpdus.push_back(pattern(size));
      slow.add(ulpdus.back());
    }
    ulpdus.push_back(pattern(4 * static_cast<std::size_t>(round) + 1));
    slow.add(ulpdus.back());
  }
  EXPECT_EQ(encode_stream(ulpdus), slow.stream);
  EXPECT_EQ(markers_of(slow.stream), slow.markers);
  ErrorCode error;
  EXPECT_EQ(decode_stream(slow.stream, error), ulpdus);
  EXPECT_FALSE(error);
}

TEST(MarkedFpdu, AllStartsTimesAllSmallSizesRoundTrip) {
  // A first FPDU of each size moves the second to each of the 128 places.
  for (std::size_t first = 0; first < 512; first += 4) {
    for (const std::size_t size : {0, 1, 2, 14, 46, 493, 494, 497, 498, 499, 502, 503, 1006}) {
      const std::vector<ByteVector> ulpdus{pattern(first), pattern(size)};
      SlowFramer slow(true, true);
      for (const auto& ulpdu : ulpdus) slow.add(ulpdu);
      ASSERT_EQ(encode_stream(ulpdus), slow.stream) << first << ", " << size;
      ErrorCode error;
      ASSERT_EQ(decode_stream(slow.stream, error), ulpdus) << first << ", " << size;
    }
  }
}

TEST(MarkedFpdu, TheLargestUlpduFits) {
  const ByteVector ulpdu = pattern(kMaxUlpdu);
  SlowFramer slow(true, true);
  slow.add(ulpdu);
  EXPECT_EQ(encode_stream({ulpdu}), slow.stream);
  ErrorCode error;
  EXPECT_EQ(decode_stream(slow.stream, error), std::vector<ByteVector>{ulpdu});
}

// No sender may go beyond kMaxUlpdu, but ULPDU_Length can say so. From 65020 bytes on FPDUPTR does
// not reach back to the start.
TEST(MarkedFpdu, LengthsBeyondTheLimitAreDecodedOrRefusedButDoNoHarm) {
  for (const std::size_t size : {64769, 65000, 65500, 65535}) {
    const ByteVector ulpdu = pattern(size);
    SlowFramer slow(true, true);
    slow.add(ulpdu);
    ErrorCode error;
    const auto decoded = decode_stream(slow.stream, error);
    if (slow.markers.back().second <= 0xffff) {
      EXPECT_EQ(decoded, std::vector<ByteVector>{ulpdu}) << size;
    } else {
      EXPECT_EQ(error, errc::mpa_marker) << size;
    }
  }
}

// RFC 5044 section 4.3: a marker at the very end belongs to the next FPDU, which may never come.
TEST(MarkedFpdu, NoMarkerIsSentBehindAnFpduThatEndsOnTheGrid) {
  const ByteVector stream = encode_stream({send(1, ByteVector(484))});
  EXPECT_EQ(stream.size(), 512u);
}

TEST(MarkedFpdu, PayloadIsReferencedInRunsBetweenMarkers) {
  const ByteVector payload = pattern(1000);
  OutputQueue out;
  FpduEncoder encoder(true, true);
  encoder.append(out, pattern(14), payload);
  std::array<Bytes, 16> pieces;
  const std::size_t n = out.gather(pieces);
  std::size_t referenced = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (pieces[i].data() == payload.data() + referenced) referenced += pieces[i].size();
  }
  EXPECT_EQ(referenced, payload.size());
}

TEST(MarkedFpdu, TheLengthIsKnownFromTheBytesItNeedsAndNoMore) {
  FpduDecoder decoder(true, true);
  EXPECT_EQ(decoder.prefix_size(), 6u);
  ByteVector scratch;
  const ByteVector stream = encode_stream({pattern(24)});
  EXPECT_EQ(decoder.ulpdu_size(exact(Bytes(stream).first(6))), 24u);
  ASSERT_TRUE(decoder.decode(stream, scratch));
  EXPECT_EQ(decoder.prefix_size(), 2u);
}

}  // namespace
}  // namespace openiser::rdmap
