// The Terminate header (RFC 5040 section 4.8).
#include <gtest/gtest.h>

#include <array>

#include "rdmap/errors.h"
#include "rdmap/wire/terminate.h"
#include "tests/support/bytes.h"

namespace openiser::rdmap {
namespace {

using test::exact;
using test::hex;
using test::operator+;
using test::to_hex;

const auto kWriteHeader = hex("c140deadbeef0000000000000010");
const auto kSendHeader = hex("414400000042000000000000000700000000");
const auto kReadHeader = hex("11223344000000000000100000002000556677880000000000003000");

std::string encoded(const Terminate& terminate) {
  std::array<std::byte, kMaxTerminateSize> space;
  ByteWriter out(space);
  encode(terminate, out);
  EXPECT_TRUE(out.ok());
  return to_hex(out.written());
}

struct Case {
  const char* name;
  Terminate terminate;
  std::string bytes;
};

std::vector<Case> cases() {
  const std::string write = to_hex(kWriteHeader);
  const std::string send = to_hex(kSendHeader);
  const std::string read = to_hex(kReadHeader);
  return {
      {"nothing included", {2, 0, 6, {}, {}, {}}, "20060000"},
      {"M and D, tagged", {1, 1, 1, 114, kWriteHeader, {}}, "1101c0000072" + write},
      {"M and D, untagged", {1, 2, 2, 66, kSendHeader, {}}, "1202c0000042" + send},
      {"M, D and R", {0, 1, 2, 46, kSendHeader, kReadHeader}, "0102e000002e" + send + read},
      {"R alone", {0, 1, 0xff, {}, {}, kReadHeader}, "01ff2000" + read},
      {"M alone", {0, 2, 7, 500, {}, {}}, "0207800001f4"},
      {"D without M: a length field that does not count",
       {0, 2, 6, {}, kWriteHeader, {}},
       "020640000000" + write},
  };
}

TEST(Terminate, EncodesEachCombinationOfHeaders) {
  for (const Case& c : cases()) EXPECT_EQ(encoded(c.terminate), c.bytes) << c.name;
}

TEST(Terminate, ParsesWhatItEncodes) {
  for (const Case& c : cases()) {
    const auto bytes = exact(hex(c.bytes));
    const auto parsed = parse_terminate(bytes);
    ASSERT_TRUE(parsed) << c.name;
    EXPECT_EQ(parsed->layer, c.terminate.layer) << c.name;
    EXPECT_EQ(parsed->type, c.terminate.type) << c.name;
    EXPECT_EQ(parsed->code, c.terminate.code) << c.name;
    EXPECT_EQ(parsed->segment_length, c.terminate.segment_length) << c.name;
    EXPECT_EQ(to_hex(parsed->ddp_header), to_hex(c.terminate.ddp_header)) << c.name;
    EXPECT_EQ(to_hex(parsed->rdma_header), to_hex(c.terminate.rdma_header)) << c.name;
  }
}

TEST(Terminate, CutInTheControlWordIsTruncated) {
  const auto whole = hex("20060000");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_EQ(parse_terminate(exact(Bytes(whole).first(n))).error(), errc::truncated) << n;
  }
}

TEST(Terminate, CutBehindTheControlWordKeepsTheCodesAndTheWholeParts) {
  const auto whole = hex("0102e000002e") + kSendHeader + kReadHeader;
  for (std::size_t n = 4; n < whole.size(); ++n) {
    const auto bytes = exact(Bytes(whole).first(n));
    const auto parsed = parse_terminate(bytes);
    ASSERT_TRUE(parsed) << n;
    EXPECT_EQ(parsed->code, 2) << n;
    EXPECT_EQ(parsed->segment_length.has_value(), n >= 6) << n;
    EXPECT_EQ(parsed->ddp_header.size(), n >= 24 ? 18u : 0u) << n;
    EXPECT_TRUE(parsed->rdma_header.empty()) << n;
  }
}

TEST(Terminate, ReservedBitsAreNotChecked) {
  const auto parsed = parse_terminate(hex("20061fff"));
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->segment_length);
  EXPECT_TRUE(parsed->ddp_header.empty());
}

}  // namespace
}  // namespace openiser::rdmap
