#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace openiser {
namespace {

std::vector<std::byte> counting(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

TEST(ByteReader, ReadsBigEndianFieldsInOrder) {
  const auto input = counting(22);
  ByteReader in(input);
  EXPECT_EQ(in.u8(), 0x01);
  EXPECT_EQ(in.be16(), 0x0203);
  EXPECT_EQ(in.be24(), 0x040506u);
  EXPECT_EQ(in.be32(), 0x0708090au);
  EXPECT_EQ(in.be64(), 0x0b0c0d0e0f101112u);
  EXPECT_EQ(in.le32(), 0x16151413u);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(ByteReader, IsNotOkOnceAnyFieldIsCutAtAnyByte) {
  const auto input = counting(18);
  for (std::size_t n = 0; n < input.size(); ++n) {
    const std::vector<std::byte> cut(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(n));
    ByteReader in(cut);
    in.u8(), in.be16(), in.be24(), in.be32(), in.be64();
    EXPECT_FALSE(in.ok()) << n;
    EXPECT_EQ(in.u8(), 0) << "a failed reader gives zeros for good";
  }
}

TEST(ByteReader, FailsForGoodWhenASpanIsTooLong) {
  const auto input = counting(4);
  ByteReader in(input);
  EXPECT_TRUE(in.bytes(5).empty());
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(ByteReader, TakesAnEmptySpanAtTheEnd) {
  ByteReader in(Bytes{});
  EXPECT_TRUE(in.bytes(0).empty());
  EXPECT_TRUE(in.ok());
}

TEST(ByteWriter, WritesWhatTheReaderReads) {
  std::array<std::byte, 26> memory{};
  ByteWriter out(memory);
  out.u8(1), out.be16(0x0203), out.be24(0x040506), out.be32(0x0708090a),
      out.be64(0x0b0c0d0e0f101112);
  out.le32(0x16151413);
  out.bytes(as_bytes("ab"));
  out.zeros(2);
  ASSERT_TRUE(out.ok());
  ASSERT_EQ(out.size(), memory.size());
  for (std::size_t i = 0; i < 22; ++i) EXPECT_EQ(load_u8(&memory[i]), i + 1);
  EXPECT_EQ(as_text(Bytes(memory).subspan(22, 2)), "ab");
  EXPECT_EQ(load_be16(&memory[24]), 0);
}

TEST(ByteWriter, NeverWritesPastTheEnd) {
  std::array<std::byte, 4> memory{};
  ByteWriter out(MutableBytes(memory).first(3));
  out.be16(0xffff);
  out.be16(0xffff);
  EXPECT_FALSE(out.ok());
  EXPECT_EQ(out.size(), 2u);
  EXPECT_EQ(load_u8(&memory[2]), 0);
  out.u8(0xff);
  EXPECT_FALSE(out.ok()) << "failed for good";
  EXPECT_EQ(load_u8(&memory[2]), 0);
}

TEST(Pad4, BringsAnyLengthToAMultipleOfFour) {
  for (std::size_t n = 0; n < 16; ++n) {
    EXPECT_EQ((n + pad4(n)) % 4, 0u);
    EXPECT_LT(pad4(n), 4u);
  }
}

}  // namespace
}  // namespace openiser
