// MPA Request and Reply frames (RFC 5044 section 7.1.1, RFC 6581 sections 6 and 9).
#include <gtest/gtest.h>

#include "rdmap/errors.h"
#include "rdmap/wire/mpa_frame.h"
#include "tests/support/bytes.h"

namespace openiser::rdmap {
namespace {

using test::ByteVector;
using test::exact;
using test::hex;
using test::operator+;
using test::pattern;
using test::to_hex;

constexpr MpaFrameKind kRequest = MpaFrameKind::request;
constexpr MpaFrameKind kReply = MpaFrameKind::reply;

const std::string kRequestKey = "4d504120494420526571204672616d65";
const std::string kReplyKey = "4d504120494420526570204672616d65";

MpaFrame parsed(Bytes bytes, MpaFrameKind kind = kRequest) {
  const auto result = parse_mpa_frame(bytes, kind);
  EXPECT_TRUE(result && result->has_value());
  if (!result || !*result) return {};
  EXPECT_EQ((*result)->size, bytes.size());
  return (*result)->frame;
}

ErrorCode error_of(Bytes bytes, MpaFrameKind kind = kRequest) {
  const auto result = parse_mpa_frame(bytes, kind);
  return result ? ErrorCode() : result.error();
}

bool wants_more(Bytes bytes, MpaFrameKind kind = kRequest) {
  const auto result = parse_mpa_frame(bytes, kind);
  return result && !result->has_value();
}

struct Vector {
  const char* name;
  MpaFrameKind kind;
  std::string bytes;
};

std::vector<Vector> vectors() {
  return {
      {"RequestRevision1", kRequest, kRequestKey + "40010000"},
      {"ReplyRevision1", kReply, kReplyKey + "40010000"},
      {"RequestRevision2", kRequest, kRequestKey + "5002000880204001c0000000"},
      {"RequestRevision0", kRequest, kRequestKey + "c0000000"},
      {"RejectWithPrivateData", kReply, kReplyKey + "60010003616263"},
      {"EnhancedWithoutPrivateData", kReply, kReplyKey + "100200040001c080"},
      // As Linux siw sends them.
      {"SiwRequest", kRequest, kRequestKey + "100200080080000180000000"},
      {"SiwReply", kReply, kReplyKey + "100200080001008080000000"},
  };
}

class MpaVector : public testing::TestWithParam<Vector> {};

TEST_P(MpaVector, IsEncodedAsItWasParsed) {
  // Without A the flags B, C and D are ignored and sent as 0.
  const std::string expected = GetParam().name == std::string("EnhancedWithoutPrivateData")
                                   ? kReplyKey + "1002000400010080"
                                   : GetParam().bytes;
  const auto bytes = exact(hex(GetParam().bytes));
  EXPECT_EQ(to_hex(encode(parsed(bytes, GetParam().kind))), expected);
}

TEST_P(MpaVector, CutAnywhereWantsMore) {
  const ByteVector bytes = hex(GetParam().bytes);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_TRUE(wants_more(exact(Bytes(bytes).first(n)), GetParam().kind)) << n;
  }
}

TEST_P(MpaVector, LeavesTheBytesBehindItAlone) {
  const ByteVector bytes = hex(GetParam().bytes) + pattern(100);
  const auto result = parse_mpa_frame(bytes, GetParam().kind);
  ASSERT_TRUE(result && *result);
  EXPECT_EQ((*result)->size, GetParam().bytes.size() / 2);
}

TEST_P(MpaVector, IsWrongWhereTheOtherKindIsDueFromTheFirstByteThatTells) {
  const MpaFrameKind other = GetParam().kind == kRequest ? kReply : kRequest;
  const ByteVector bytes = hex(GetParam().bytes);
  for (std::size_t n = 0; n <= bytes.size(); ++n) {
    // "MPA ID Re" is common to both.
    const auto error = error_of(exact(Bytes(bytes).first(n)), other);
    if (n <= 9) {
      EXPECT_FALSE(error) << n;
    } else {
      EXPECT_EQ(error, errc::mpa_bad_frame) << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, MpaVector, testing::ValuesIn(vectors()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MpaFrame, EveryWrongByteOfTheKeyIsFoundAtOnce) {
  for (std::size_t at = 0; at < kMpaKeySize; ++at) {
    ByteVector bytes = hex(kRequestKey);
    bytes.resize(at + 1);
    bytes[at] ^= std::byte{1};
    EXPECT_EQ(error_of(exact(bytes)), errc::mpa_bad_frame) << at;
  }
}

TEST(MpaFrame, AnIscsiLoginIsNoMpaFrame) {
  EXPECT_EQ(error_of(hex("43")), errc::mpa_bad_frame);
}

TEST(MpaFrame, FlagsAreReadOneByOne) {
  struct Row {
    const char* flags;
    bool markers, crc, reject, enhanced;
  };
  for (const Row& row :
       {Row{"00", false, false, false, false}, Row{"80", true, false, false, false},
        Row{"40", false, true, false, false}, Row{"20", false, false, true, false},
        Row{"10", false, false, false, true}, Row{"0f", false, false, false, false}}) {
    const ByteVector bytes = hex(kReplyKey + row.flags + "02000400000000");
    const MpaFrame frame = parsed(bytes, kReply);
    EXPECT_EQ(frame.markers, row.markers) << row.flags;
    EXPECT_EQ(frame.crc, row.crc) << row.flags;
    EXPECT_EQ(frame.reject, row.reject) << row.flags;
    EXPECT_EQ(frame.enhanced.has_value(), row.enhanced) << row.flags;
    EXPECT_EQ(frame.private_data.size(), row.enhanced ? 0u : 4u) << row.flags;
  }
}

TEST(MpaFrame, RejectIsNotLookedAtInARequest) {
  const ByteVector bytes = hex(kRequestKey + "20010000");
  EXPECT_FALSE(parsed(bytes).reject);
}

TEST(MpaFrame, TheEnhancedBitIsReservedBelowRevision2) {
  for (const char* revision : {"00", "01"}) {
    const ByteVector bytes = hex(kRequestKey + "d0" + revision + "0004" + "80204001");
    const MpaFrame frame = parsed(bytes);
    EXPECT_FALSE(frame.enhanced);
    EXPECT_EQ(to_hex(frame.private_data), "80204001");
  }
}

TEST(MpaFrame, EnhancedWordsAreTakenApart) {
  const ByteVector bytes = hex(kRequestKey + "10020006" + "dfff" + "ffff" + "abcd");
  const MpaFrame frame = parsed(bytes);
  ASSERT_TRUE(frame.enhanced);
  EXPECT_TRUE(frame.enhanced->peer_to_peer);
  EXPECT_EQ(frame.enhanced->rtr, (RtrKinds{.send = true, .write = true, .read = true}));
  EXPECT_EQ(frame.enhanced->ird, 0x1fff);
  EXPECT_EQ(frame.enhanced->ord, kUlpReadDepth);
  EXPECT_EQ(to_hex(frame.private_data), "abcd");
}

TEST(MpaFrame, EachRtrKindHasItsBit) {
  const auto words = [](bool send, bool write, bool read) {
    const MpaFrame frame{
        .enhanced =
            EnhancedData{.peer_to_peer = true, .rtr = {send, write, read}, .ird = 1, .ord = 2},
        .private_data = {}};
    MpaFrame enhanced = frame;
    enhanced.revision = 2;
    return to_hex(Bytes(encode(enhanced)).subspan(kMpaHeaderSize));
  };
  EXPECT_EQ(words(false, false, false), "80010002");
  EXPECT_EQ(words(true, false, false), "c0010002");
  EXPECT_EQ(words(false, true, false), "80018002");
  EXPECT_EQ(words(false, false, true), "80014002");
}

// RFC 6581 section 9.2.
TEST(MpaFrame, WithoutPeerToPeerTheRtrFlagsAreIgnored) {
  const ByteVector bytes = hex(kRequestKey + "10020004" + "4001" + "c001");
  const MpaFrame frame = parsed(bytes);
  EXPECT_FALSE(frame.enhanced->peer_to_peer);
  EXPECT_EQ(frame.enhanced->rtr, RtrKinds{});
}

TEST(MpaFrame, AnUnknownRevisionIsRefusedWhenItIsSeen) {
  for (const char* revision : {"03", "04", "ff"}) {
    EXPECT_EQ(error_of(hex(kRequestKey + "40" + revision)), errc::mpa_bad_frame) << revision;
  }
}

TEST(MpaFrame, PrivateDataUpToTheLimitIsTaken) {
  const ByteVector data = pattern(512);
  const ByteVector bytes = hex(kRequestKey + "40010200") + data;
  EXPECT_EQ(to_hex(parsed(exact(bytes)).private_data), to_hex(data));
}

TEST(MpaFrame, PrivateDataBeyondTheLimitIsRefusedBeforeItComes) {
  for (const char* length : {"0201", "0300", "ffff"}) {
    EXPECT_EQ(error_of(hex(kRequestKey + "4001" + length)), errc::mpa_bad_frame) << length;
  }
}

TEST(MpaFrame, EnhancedWithoutRoomForItsWordsIsRefused) {
  for (const char* length : {"0000", "0001", "0003"}) {
    EXPECT_EQ(error_of(hex(kRequestKey + "1002" + length)), errc::mpa_bad_frame) << length;
  }
}

}  // namespace
}  // namespace openiser::rdmap
