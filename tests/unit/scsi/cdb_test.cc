#include "target/scsi/cdb.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/scsi_fixture.h"

namespace openiser::target {
namespace {

using test::hex;

iscsi::Lun lun_of(std::string_view digits) {
  iscsi::Lun lun{};
  const auto bytes = hex(digits);
  std::copy(bytes.begin(), bytes.end(), lun.begin());
  return lun;
}

TEST(Lun, PeripheralDeviceAddressing) {
  EXPECT_EQ(decode_lun(lun_of("0000")), 0U);
  EXPECT_EQ(decode_lun(lun_of("00ff")), 255U);
}

TEST(Lun, FlatSpace) {
  EXPECT_EQ(decode_lun(lun_of("4000")), 0U);
  EXPECT_EQ(decode_lun(lun_of("7fff")), 16383U);
}

TEST(Lun, ExtendedFlatSpace) {
  EXPECT_EQ(decode_lun(lun_of("d2000000")), 0U);
  EXPECT_EQ(decode_lun(lun_of("d2003fff")), 16383U);
  EXPECT_EQ(decode_lun(lun_of("d2ffffff")), 0xffffffU);
}

TEST(Lun, OtherFormsStandForNone) {
  for (const char* digits : {"0100", "3f00", "8000", "c101", "d1000000", "e2000000", "ffff"}) {
    EXPECT_FALSE(decode_lun(lun_of(digits)).has_value()) << digits;
  }
}

TEST(Lun, FurtherLevelsStandForNone) {
  for (const char* digits : {"00000001", "40000001", "d200000001", "0000000000000001"}) {
    EXPECT_FALSE(decode_lun(lun_of(digits)).has_value()) << digits;
  }
}

TEST(Lun, EveryNumberComesBack) {
  for (std::uint32_t lun = 0; lun <= 16383; ++lun) {
    ASSERT_EQ(decode_lun(encode_lun(static_cast<std::uint16_t>(lun))), lun);
  }
}

TEST(Lun, SmallOnesUsePeripheralDeviceAddressing) {
  EXPECT_EQ(encode_lun(255), lun_of("00ff"));
  EXPECT_EQ(encode_lun(256), lun_of("4100"));
}

TEST(BlockRangeOf, SixBytes) {
  const auto cdb = test::cdb6(0x08, 0x1fffff, 1);
  const BlockRange range = decode_block_range(Cdb(cdb));
  EXPECT_EQ(range.lba, 0x1fffffU);
  EXPECT_EQ(range.blocks, 1U);
}

TEST(BlockRangeOf, SixBytesZeroMeans256) {
  EXPECT_EQ(decode_block_range(Cdb(test::cdb6(0x08, 0, 0))).blocks, 256U);
}

TEST(BlockRangeOf, SixBytesTopBitsAreNotLba) {
  auto cdb = test::cdb6(0x08, 5, 1);
  store_u8(&cdb[1], 0xe0);
  EXPECT_EQ(decode_block_range(Cdb(cdb)).lba, 5U);
}

TEST(BlockRangeOf, TenTwelveSixteenBytes) {
  EXPECT_EQ(decode_block_range(Cdb(test::cdb10(0x28, 0xfedcba98, 0xabcd))).lba, 0xfedcba98U);
  EXPECT_EQ(decode_block_range(Cdb(test::cdb10(0x28, 0, 0xabcd))).blocks, 0xabcdU);
  EXPECT_EQ(decode_block_range(Cdb(test::cdb12(0xa8, 7, 0xfedcba98))).blocks, 0xfedcba98U);
  EXPECT_EQ(decode_block_range(Cdb(test::cdb16(0x88, 0xfedcba9876543210, 3))).lba,
            0xfedcba9876543210U);
  EXPECT_EQ(decode_block_range(Cdb(test::cdb16(0x88, 0, 0xfedcba98))).blocks, 0xfedcba98U);
}

}  // namespace
}  // namespace openiser::target
