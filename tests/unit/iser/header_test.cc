#include "iser/header.h"

#include <gtest/gtest.h>

#include "iscsi/errors.h"
#include "tests/support/bytes.h"

namespace openiser::iser {
namespace {

using iscsi::errc;
using test::exact;
using test::hex;
using test::to_hex;

constexpr Dialect kBoth[] = {Dialect::rfc5046, Dialect::rfc7145};

ControlHeader advertising(bool write, bool read) {
  ControlHeader header;
  if (write) header.write = rdmap::RemoteMemory{{0x01020304}, 0x1112131415161718};
  if (read) header.read = rdmap::RemoteMemory{{0x05060708}, 0x2122232425262728};
  return header;
}

template <class T>
std::string encoded(const T& value, Dialect dialect) {
  std::vector<std::byte> bytes(facts(dialect).header_size, std::byte{0xee});
  encode(value, dialect, bytes);
  return to_hex(bytes);
}

TEST(IserControlHeader, Rfc7145HasStagsAndBaseOffsets) {
  EXPECT_EQ(encoded(advertising(true, true), Dialect::rfc7145),
            "1c000000"
            "01020304"
            "1112131415161718"
            "05060708"
            "2122232425262728");
  EXPECT_EQ(encoded(advertising(true, false), Dialect::rfc7145),
            "18000000"
            "01020304"
            "1112131415161718"
            "00000000"
            "0000000000000000");
  EXPECT_EQ(encoded(advertising(false, true), Dialect::rfc7145),
            "14000000"
            "00000000"
            "0000000000000000"
            "05060708"
            "2122232425262728");
  EXPECT_EQ(encoded(ControlHeader{}, Dialect::rfc7145), "10" + std::string(54, '0'));
}

TEST(IserControlHeader, Rfc5046HasStagsAlone) {
  EXPECT_EQ(encoded(advertising(true, true), Dialect::rfc5046), "1c0000000102030405060708");
  EXPECT_EQ(encoded(advertising(false, true), Dialect::rfc5046), "140000000000000005060708");
}

TEST(IserControlHeader, ComesBackAsItWent) {
  for (const Dialect dialect : kBoth) {
    for (const bool write : {false, true}) {
      for (const bool read : {false, true}) {
        const ControlHeader sent = advertising(write, read);
        std::vector<std::byte> bytes(facts(dialect).header_size);
        encode(sent, dialect, bytes);
        const auto got = decode_control_header(exact(bytes), dialect);
        ASSERT_TRUE(got);
        ASSERT_EQ(got->write.has_value(), write);
        ASSERT_EQ(got->read.has_value(), read);
        const bool offsets = facts(dialect).base_offsets;
        if (write) {
          EXPECT_EQ(got->write->stag, sent.write->stag);
          EXPECT_EQ(got->write->offset, offsets ? sent.write->offset : 0);
        }
        if (read) {
          EXPECT_EQ(got->read->stag, sent.read->stag);
          EXPECT_EQ(got->read->offset, offsets ? sent.read->offset : 0);
        }
      }
    }
  }
}

TEST(IserControlHeader, ReservedBitsAndInvalidStagsAreIgnored) {
  const auto got = decode_control_header(
      hex("13ffffff deadbeef deadbeefdeadbeef deadbeef deadbeefdeadbeef"), Dialect::rfc7145);
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->write);
  EXPECT_FALSE(got->read);
}

TEST(IserControlHeader, CutShortIsAFormatError) {
  for (const Dialect dialect : kBoth) {
    std::vector<std::byte> bytes(facts(dialect).header_size);
    encode(advertising(true, true), dialect, bytes);
    for (std::size_t n = 0; n < bytes.size(); ++n)
      EXPECT_EQ(decode_control_header(exact(Bytes(bytes).first(n)), dialect).error(),
                errc::iser_format);
  }
}

TEST(IserControlHeader, OtherOpcodesAreFormatErrors) {
  for (unsigned opcode = 0; opcode < 16; ++opcode) {
    std::vector<std::byte> bytes(28);
    bytes[0] = static_cast<std::byte>(opcode << 4);
    EXPECT_EQ(decode_control_header(bytes, Dialect::rfc7145).has_value(), opcode == 1) << opcode;
    EXPECT_EQ(message_kind(bytes).has_value(), opcode >= 1 && opcode <= 3) << opcode;
  }
}

// The payloads of wire-facts section 10.
TEST(IserHello, GoldenBytes) {
  const std::string rest(48, '0');
  EXPECT_EQ(encoded(Hello{1, 1, 8}, Dialect::rfc5046), "201100080000000000000000");
  EXPECT_EQ(encoded(Hello{10, 10, 8}, Dialect::rfc7145), "20aa0008" + rest);
  EXPECT_EQ(encoded(HelloReply{false, 1, 1, 4}, Dialect::rfc5046), "301100040000000000000000");
  EXPECT_EQ(encoded(HelloReply{false, 10, 10, 4}, Dialect::rfc7145), "30aa0004" + rest);
  EXPECT_EQ(encoded(HelloReply{true, 10, 10, 0}, Dialect::rfc7145), "31aa0000" + rest);
}

TEST(IserHello, Decodes) {
  const auto hello = decode_hello(hex("2fa50102 ffffffff ffffffff"), Dialect::rfc5046);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->max_version, 10);
  EXPECT_EQ(hello->min_version, 5);
  EXPECT_EQ(hello->inbound_reads, 0x0102);
}

TEST(IserHello, ReplyDecodesWithItsRejectBitAlone) {
  for (const bool reject : {false, true}) {
    const auto reply = decode_hello_reply(
        hex(reject ? "3fa90304 00000000 00000000" : "3ea90304 00000000 00000000"),
        Dialect::rfc5046);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->reject, reject);
    EXPECT_EQ(reply->max_version, 10);
    EXPECT_EQ(reply->current_version, 9);
    EXPECT_EQ(reply->outbound_reads, 0x0304);
  }
}

TEST(IserHello, AnyOtherLengthIsAFormatError) {
  for (const Dialect dialect : kBoth) {
    for (std::size_t n = 0; n <= 40; ++n) {
      std::vector<std::byte> hello(n), reply(n);
      if (n > 0) {
        hello[0] = std::byte{0x20};
        reply[0] = std::byte{0x30};
      }
      const bool right = n == facts(dialect).header_size;
      EXPECT_EQ(decode_hello(exact(hello), dialect).has_value(), right) << n;
      EXPECT_EQ(decode_hello_reply(exact(reply), dialect).has_value(), right) << n;
      if (!right) {
        EXPECT_EQ(decode_hello(exact(hello), dialect).error(), errc::iser_format);
      }
    }
  }
}

TEST(CmHeader, FlagsAreTheFirstByte) {
  EXPECT_EQ(to_hex(encode(CmHeader{true, true})), "c0000000");
  EXPECT_EQ(to_hex(encode(CmHeader{true, false})), "80000000");
  EXPECT_EQ(to_hex(encode(CmHeader{false, true})), "40000000");
  const CmHeader both = decode_cm_header(hex("ffffffff"));
  EXPECT_TRUE(both.zero_based_not_supported);
  EXPECT_TRUE(both.send_invalidate_not_supported);
  const CmHeader linux_header = decode_cm_header(hex("80000000"));
  EXPECT_TRUE(linux_header.zero_based_not_supported);
  EXPECT_FALSE(linux_header.send_invalidate_not_supported);
}

TEST(CmHeader, TooShortMeansNeither) {
  for (std::size_t n = 0; n < 4; ++n) {
    const CmHeader header = decode_cm_header(exact(std::vector<std::byte>(n)));
    EXPECT_TRUE(header.zero_based_not_supported);
    EXPECT_TRUE(header.send_invalidate_not_supported);
  }
}

}  // namespace
}  // namespace openiser::iser
