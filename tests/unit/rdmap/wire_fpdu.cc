// FPDUs without markers: sizes, golden vectors, every small length against a slow codec.
#include <gtest/gtest.h>

#include <array>

#include "rdmap/errors.h"
#include "rdmap/wire/fpdu.h"
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

TEST(Mulpdu, FollowsTheFormulasOfTheRfc) {
  struct Row {
    std::uint32_t emss, plain, marked;
  };
  // RFC 5044 section 4.5.
  for (const Row& row :
       {Row{536, 530, 522}, Row{1448, 1442, 1430}, Row{1460, 1454, 1442}, Row{4016, 4010, 3978},
        Row{8948, 8942, 8870}, Row{8960, 8954, 8882}, Row{16344, 16338, 16210},
        Row{65483, 64768, 64768}, Row{65535, 64768, 64768}}) {
    EXPECT_EQ(mulpdu(row.emss, false), row.plain) << row.emss;
    EXPECT_EQ(mulpdu(row.emss, true), row.marked) << row.emss;
  }
}

TEST(Mulpdu, StaysWithinItsBounds) {
  for (std::uint32_t emss : {0u, 1u, 10u, 127u, 133u, 134u, 135u}) {
    EXPECT_EQ(mulpdu(emss, false), 128u) << emss;
    EXPECT_EQ(mulpdu(emss, true), 128u) << emss;
  }
  EXPECT_EQ(mulpdu(UINT32_MAX, false), 64768u);
  EXPECT_EQ(mulpdu(UINT32_MAX, true), 64768u);
}

TEST(Mulpdu, FillsTheSegmentAndNeverExceedsIt) {
  for (std::uint32_t emss = 200; emss < 64000; emss += 7) {
    EXPECT_LE(fpdu_size(mulpdu(emss, false)), emss);
    EXPECT_GT(fpdu_size(mulpdu(emss, false)) + 4, emss);
    // At any place on the grid.
    for (std::size_t place = 0; place < 512; place += 4) {
      MarkerClock clock(true);
      clock.advance(place);
      EXPECT_LE(clock.wire_size(fpdu_size(mulpdu(emss, true))), emss) << emss << " at " << place;
    }
  }
}

struct Vector {
  const char* name;
  const char* fpdu;
};

// shared facts: computed by a separate program from RFC 5044, 5041, 5040, 5046 and 7145.
constexpr Vector kVectors[] = {
    {"Hello5046",
     "001e4145 00000000 00000000 00000001 00000000 20110008 00000000 00000000 5cb044bc"},
    {"HelloReply5046",
     "001e4145 00000000 00000000 00000001 00000000 30110004 00000000 00000000 eb58d1c3"},
    {"Hello7145",
     "002e4143 00000000 00000000 00000001 00000000 20aa0008 00000000 00000000 00000000 00000000"
     "00000000 00000000 395ae054"},
    {"HelloReply7145",
     "002e4143 00000000 00000000 00000001 00000000 30aa0004 00000000 00000000 00000000 00000000"
     "00000000 00000000 7eb79a9d"},
    {"HelloReject7145",
     "002e4143 00000000 00000000 00000001 00000000 31aa0000 00000000 00000000 00000000 00000000"
     "00000000 00000000 3e125c87"},
    {"ReadRequest",
     "002e4141 00000000 00000001 00000001 00000000 11223344 00000000 00001000 00002000 55667788"
     "00000000 00003000 c87c5e31"},
    {"ReadResponse", "0013c142 11223344 00000000 00001000 68656c6c 6f000000 10275f92"},
    {"RtrWrite", "000ec140 00000000 00000000 00000000 a30572ab"},
    {"RtrRead",
     "002e4141 00000000 00000001 00000001 00000000 00000000 00000000 00000000 00000000 00000000"
     "00000000 00000000 f2c6dd3d"},
    {"TerminateIrd", "00164147 00000000 00000002 00000001 00000000 20060000 6540fb1b"},
    {"TerminateBounds",
     "00264147 00000000 00000002 00000001 00000000 1101c000 0072c140 deadbeef 00000000 00000010"
     "1d999de4"},
};

class FpduVector : public testing::TestWithParam<Vector> {
 protected:
  ByteVector wire = hex(GetParam().fpdu);
  ByteVector ulpdu{wire.begin() + 2, wire.begin() + 2 + load_be16(wire.data())};
};

TEST_P(FpduVector, IsEncoded) {
  OutputQueue out;
  FpduEncoder encoder(true, false);
  encoder.append(out, Bytes(ulpdu).first(14), Bytes(ulpdu).subspan(14));
  EXPECT_EQ(to_hex(drain(out)), to_hex(wire));
}

TEST_P(FpduVector, IsDecoded) {
  FpduDecoder decoder(true, false);
  ByteVector scratch;
  ASSERT_EQ(decoder.wire_size(Bytes(wire).first(2)), wire.size());
  const auto decoded = decoder.decode(wire, scratch);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(to_hex(*decoded), to_hex(ulpdu));
}

TEST_P(FpduVector, EverySingleBitErrorIsACrcError) {
  for (std::size_t bit = 16; bit < wire.size() * 8; ++bit) {
    ByteVector bad = exact(wire);
    bad[bit / 8] ^= std::byte(1 << bit % 8);
    FpduDecoder decoder(true, false);
    ByteVector scratch;
    EXPECT_EQ(decoder.decode(bad, scratch).error(), errc::mpa_crc) << bit;
  }
}

TEST_P(FpduVector, EverySingleBitErrorPassesWithoutCrc) {
  for (std::size_t bit = 16; bit < wire.size() * 8; ++bit) {
    ByteVector other = exact(wire);
    other[bit / 8] ^= std::byte(1 << bit % 8);
    FpduDecoder decoder(false, false);
    ByteVector scratch;
    EXPECT_TRUE(decoder.decode(other, scratch)) << bit;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, FpduVector, testing::ValuesIn(kVectors),
                         [](const auto& info) { return std::string(info.param.name); });

// All lengths 0..64, and around multiples of 512, against another codec.
std::vector<std::size_t> interesting_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t n = 0; n <= 64; ++n) sizes.push_back(n);
  for (std::size_t m : {256, 512, 1024, 1536, 4096, 8192})
    for (std::size_t n = m - 24; n <= m + 24; ++n) sizes.push_back(n);
  sizes.insert(sizes.end(), {64765, 64766, 64767, 64768});
  return sizes;
}

ByteVector encode_plain(const ByteVector& ulpdu, bool crc) {
  OutputQueue out;
  FpduEncoder encoder(crc, false);
  const std::size_t header = std::min<std::size_t>(18, ulpdu.size());
  encoder.append(out, Bytes(ulpdu).first(header), Bytes(ulpdu).subspan(header));
  return drain(out);
}

TEST(Fpdu, EveryLengthIsEncodedAsTheSlowCodecDoes) {
  for (const bool crc : {true, false}) {
    for (const std::size_t size : interesting_sizes()) {
      const ByteVector ulpdu = pattern(size);
      SlowFramer slow(crc, false);
      slow.add(ulpdu);
      ASSERT_EQ(encode_plain(ulpdu, crc), slow.stream) << size;
      ASSERT_EQ(fpdu_size(size), slow.stream.size()) << size;
    }
  }
}

TEST(Fpdu, EveryLengthIsDecodedFromWhatTheSlowCodecMade) {
  for (const std::size_t size : interesting_sizes()) {
    const ByteVector ulpdu = pattern(size);
    SlowFramer slow(true, false);
    slow.add(ulpdu);
    FpduDecoder decoder(true, false);
    ByteVector scratch;
    const ByteVector wire = exact(slow.stream);
    ASSERT_EQ(decoder.wire_size(wire), wire.size()) << size;
    const auto decoded = decoder.decode(wire, scratch);
    ASSERT_TRUE(decoded) << size;
    ASSERT_EQ(exact(*decoded), ulpdu) << size;
    ASSERT_EQ(decoded->data(), wire.data() + 2) << "decoded in place";
  }
}

TEST(Fpdu, ALargePayloadIsSentFromWhereItLies) {
  const ByteVector header = pattern(14);
  const ByteVector payload = pattern(1000);
  OutputQueue out;
  FpduEncoder encoder(true, false);
  encoder.append(out, header, payload);
  std::array<Bytes, 8> pieces;
  ASSERT_EQ(out.gather(pieces), 3u);
  EXPECT_EQ(pieces[0].size(), 16u);
  EXPECT_EQ(pieces[1].data(), payload.data());
  EXPECT_EQ(pieces[1].size(), payload.size());
  EXPECT_EQ(pieces[2].size(), 4u);
}

TEST(Fpdu, ASmallPayloadGoesOutAsOnePieceWithItsHeader) {
  OutputQueue out;
  FpduEncoder encoder(true, false);
  encoder.append(out, pattern(18), pattern(100));
  std::array<Bytes, 8> pieces;
  EXPECT_EQ(out.gather(pieces), 1u);
}

TEST(Fpdu, PayloadInPiecesGivesTheSameBytes) {
  const ByteVector ulpdu = pattern(1001);
  const Bytes payload = Bytes(ulpdu).subspan(18);
  for (std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{76}, payload.size()}) {
    OutputQueue out;
    FpduEncoder encoder(true, false);
    const std::array<Bytes, 2> pieces{payload.first(cut), payload.subspan(cut)};
    encoder.append(out, Bytes(ulpdu).first(18), pieces);
    EXPECT_EQ(drain(out), encode_plain(ulpdu, true)) << cut;
  }
}

TEST(FpduCheck, AgreesHoweverTheBytesAreCut) {
  SlowFramer slow(true, false);
  slow.add(pattern(101));
  const Bytes wire(slow.stream);
  const std::size_t trailer = fpdu_trailer_size(101);
  const std::size_t covered = wire.size() - trailer;
  for (std::size_t cut = 0; cut <= covered; ++cut) {
    FpduCheck check(true);
    check.update(wire.first(cut));
    check.update(wire.subspan(cut, covered - cut));
    EXPECT_TRUE(check.finish(wire.last(trailer))) << cut;
  }
}

TEST(FpduCheck, FindsABadCrcABadPadAndABadByte) {
  SlowFramer slow(true, false);
  slow.add(pattern(101));
  const std::size_t trailer = fpdu_trailer_size(101);
  for (std::size_t at = 0; at < slow.stream.size(); ++at) {
    ByteVector bad = exact(slow.stream);
    bad[at] ^= std::byte{0x10};
    FpduCheck check(true);
    check.update(Bytes(bad).first(bad.size() - trailer));
    EXPECT_EQ(check.finish(Bytes(bad).last(trailer)).error(), errc::mpa_crc) << at;
  }
}

TEST(FpduCheck, TakesAnyCrcFieldWhenCrcIsOff) {
  FpduCheck check(false);
  check.update(pattern(16));
  EXPECT_TRUE(check.finish(hex("deadbeef")));
}

}  // namespace
}  // namespace openiser::rdmap
