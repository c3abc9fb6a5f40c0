#include "target/scsi/cdb.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/scsi_fixture.h"

namespace openiser::target {
namespace {

using test::hex;

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
