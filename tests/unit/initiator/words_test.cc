// Sense data, sizes and hexadecimal in words.
#include <gtest/gtest.h>

#include <array>

#include "initiator/cli/output.h"
#include "initiator/scsi_error.h"
#include "initiator/session.h"

namespace openiser::initiator {
namespace {

std::array<std::byte, 18> fixed_sense(std::uint8_t key, std::uint16_t code) {
  std::array<std::byte, 18> sense{};
  store_u8(&sense[0], 0x70);
  store_u8(&sense[2], key);
  store_u8(&sense[7], 10);
  store_be16(&sense[12], code);
  return sense;
}

TEST(Sense, ReadsFixedFormatCutAtEveryByte) {
  const auto sense = fixed_sense(5, 0x2100);
  for (std::size_t n = 0; n <= sense.size(); ++n) {
    EXPECT_EQ(parse_sense(Bytes(sense).first(n)).valid, n >= 14) << n;
  }
  EXPECT_EQ(parse_sense(sense).key, 5);
  EXPECT_EQ(parse_sense(sense).code, 0x2100);
}

TEST(Sense, ReadsDescriptorFormat) {
  std::array<std::byte, 8> sense{};
  store_u8(&sense[0], 0x72);
  store_u8(&sense[1], 0x03);
  store_be16(&sense[2], 0x1100);
  EXPECT_EQ(parse_sense(sense).key, 3);
  EXPECT_EQ(parse_sense(sense).code, 0x1100);
}

TEST(Sense, SpeaksInWords) {
  const ErrorCode error = scsi_error(kCheckCondition, fixed_sense(5, 0x2100));
  EXPECT_EQ(error.message(), "ILLEGAL_REQUEST: LBA_OUT_OF_RANGE (5/21/00)");
  EXPECT_TRUE(has_sense_key(error, 5));
  EXPECT_FALSE(has_sense_key(error, 6));
  EXPECT_FALSE(scsi_error(0, {}));
  EXPECT_EQ(scsi_error(0x18, {}).message(), "SCSI status RESERVATION CONFLICT");
}

// istgt 0.4 says nothing else of a block beyond the end.
TEST(Sense, MayBeMissing) {
  const ErrorCode error = scsi_error(kCheckCondition, {});
  EXPECT_EQ(error.message(), "CHECK CONDITION without sense data");
  EXPECT_FALSE(has_sense_key(error, 0));
  const ErrorCode no_sense = scsi_error(kCheckCondition, fixed_sense(0, 0));
  EXPECT_NE(no_sense.message().find("(0/00/00)"), std::string::npos) << no_sense.message();
  EXPECT_TRUE(has_sense_key(no_sense, 0));
}

TEST(Sizes, AreReadAndSaid) {
  EXPECT_EQ(cli::parse_size("4k", "x"), 4096u);
  EXPECT_EQ(cli::parse_size("10GiB", "x"), std::uint64_t{10} << 30);
  EXPECT_EQ(cli::parse_size("512", "x"), 512u);
  for (const char* wrong : {"", "k", "-1", "4q", "4kB2", "99999999999999T"}) {
    EXPECT_THROW(cli::parse_size(wrong, "--size"), UsageError) << wrong;
  }
  EXPECT_EQ(cli::size_text(1u << 20), "1 MiB");
  EXPECT_EQ(cli::size_text(1536), "1.5 KiB");
  EXPECT_EQ(cli::size_text(511), "511 bytes");
}

TEST(Hex, IsReadWithAndWithoutBlanks) {
  EXPECT_EQ(cli::parse_hex("12 00 ff").size(), 3u);
  EXPECT_EQ(cli::parse_hex("0x1200ff"), cli::parse_hex("1200FF"));
  for (const char* wrong : {"", "1", "12 0", "xy"})
    EXPECT_THROW(cli::parse_hex(wrong), UsageError) << wrong;
}

TEST(Lun, IsEncodedAsSamSays) {
  EXPECT_EQ(load_be64(encode_lun(1).data()), 0x0001000000000000u);
  EXPECT_EQ(load_be64(encode_lun(255).data()), 0x00ff000000000000u);
  EXPECT_EQ(load_be64(encode_lun(256).data()), 0x4100000000000000u);
  EXPECT_EQ(load_be64(encode_lun(16383).data()), 0x7fff000000000000u);
}

}  // namespace
}  // namespace openiser::initiator
