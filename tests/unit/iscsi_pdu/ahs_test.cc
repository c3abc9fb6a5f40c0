#include "iscsi/pdu/ahs.h"

#include <gtest/gtest.h>

#include <random>

#include "iscsi/errors.h"
#include "tests/support/bytes.h"

namespace openiser::iscsi {
namespace {

using test::hex;
using test::to_hex;

ErrorCode error_of(const test::ByteVector& ahs) {
  const auto contents = parse_command_ahs(ahs);
  return contents ? ErrorCode() : contents.error();
}

TEST(Ahs, NothingIsNothing) {
  const auto contents = parse_command_ahs({});
  ASSERT_TRUE(contents);
  EXPECT_TRUE(contents->extended_cdb.empty());
  EXPECT_FALSE(contents->bidirectional_read_length);
  EXPECT_FALSE(build_command_ahs({}));
}

TEST(Ahs, BothKindsGolden) {
  // CDB of 21 bytes: AHSLength 21 - 15 = 6, 5 bytes of it and 3 of padding.
  const auto bytes = hex("0006 01 00 a0a1a2a3 a4000000 0005 02 00 01020304");
  const auto cdb = hex("a0a1a2a3a4");
  EXPECT_EQ(to_hex(build_command_ahs({cdb, 0x01020304}).bytes()), to_hex(bytes));
  const auto contents = parse_command_ahs(bytes);
  ASSERT_TRUE(contents);
  EXPECT_EQ(to_hex(contents->extended_cdb), "a0a1a2a3a4");
  EXPECT_EQ(contents->bidirectional_read_length, 0x01020304u);
}

TEST(Ahs, CdbsOfAllLengthsRoundTrip) {
  for (std::size_t length = 1; length <= 244; ++length) {
    const auto cdb = test::pattern(length);
    const Buffer ahs = build_command_ahs({cdb, 7});
    EXPECT_EQ(ahs.size() % 4, 0u);
    const auto exact = test::exact(ahs.bytes());
    const auto contents = parse_command_ahs(exact);
    ASSERT_TRUE(contents);
    EXPECT_EQ(to_hex(contents->extended_cdb), to_hex(cdb));
    EXPECT_EQ(contents->bidirectional_read_length, 7u);
  }
}

TEST(Ahs, CutAtEveryByte) {
  const auto whole = hex("0006 01 00 a0a1a2a3 a4000000 0005 02 00 01020304");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const auto cut = test::exact(Bytes(whole).first(n));
    // Behind the first segment there is a list of one.
    EXPECT_EQ(error_of(cut), n == 0 || n == 12 ? ErrorCode() : ErrorCode(errc::bad_ahs)) << n;
  }
}

TEST(Ahs, Refused) {
  EXPECT_EQ(error_of(hex("0001 01 00")), errc::bad_ahs) << "extended CDB of none";
  EXPECT_EQ(error_of(hex("0000 01 00")), errc::bad_ahs);
  EXPECT_EQ(error_of(hex("0004 02 00 01020304")), errc::bad_ahs) << "read length too short";
  EXPECT_EQ(error_of(hex("0006 02 00 01020304 05000000")), errc::bad_ahs);
  EXPECT_EQ(error_of(hex("0005 00 00 01020304")), errc::bad_ahs) << "reserved type";
  EXPECT_EQ(error_of(hex("0005 03 00 01020304")), errc::bad_ahs) << "unknown type";
  EXPECT_EQ(error_of(hex("ffff 01 00 01020304")), errc::bad_ahs) << "longer than all";
  EXPECT_EQ(error_of(hex("0005 02 00 01020304 0005 02 00 01020304")), errc::bad_ahs) << "twice";
  EXPECT_EQ(error_of(hex("0005 01 00 01020304 0005 01 00 01020304")), errc::bad_ahs) << "twice";
}

TEST(Ahs, ReservedBitsOfTheTypeAreIgnored) {
  EXPECT_EQ(error_of(hex("0005 c2 ff 01020304")), ErrorCode());
}

TEST(Ahs, AnyBytesParseOrFail) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    test::ByteVector ahs(4 * (random() % 12));
    for (std::byte& b : ahs) b = static_cast<std::byte>(random() % 8);
    const auto contents = parse_command_ahs(ahs);
    if (contents) {
      EXPECT_LE(contents->extended_cdb.size(), ahs.size());
    } else {
      EXPECT_EQ(contents.error(), errc::bad_ahs);
    }
  }
}

}  // namespace
}  // namespace openiser::iscsi
