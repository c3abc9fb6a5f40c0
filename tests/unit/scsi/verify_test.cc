#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = StoreDesk::Operation;

constexpr std::uint8_t kAll = 0x02;  // BYTCHK 01b
constexpr std::uint8_t kOne = 0x06;  // BYTCHK 11b

class Verify : public ScsiFixture, public ::testing::WithParamInterface<std::uint8_t> {
 protected:
  ByteVector verify(std::uint64_t lba, std::uint32_t blocks, std::uint8_t flags) const {
    switch (GetParam()) {
      case 0x2f:
        return cdb10(0x2f, static_cast<std::uint32_t>(lba), static_cast<std::uint16_t>(blocks),
                     flags);
      case 0xaf:
        return cdb12(0xaf, static_cast<std::uint32_t>(lba), blocks, flags);
      default:
        return cdb16(0x8f, lba, blocks, flags);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Cdbs, Verify, ::testing::Values(0x2f, 0xaf, 0x8f));

TEST_P(Verify, MediumIsReadWithoutDataTransfer) {
  set_up();
  const auto task = none(verify(3, 1000, 0));
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 0U);
  EXPECT_FALSE(task->asked_for.has_value());
  std::uint64_t read = 0;
  for (const auto& seen : desk->seen) read += seen.length;
  EXPECT_EQ(read, 1000U * 512);
}

TEST_P(Verify, MediumThatCannotBeRead) {
  set_up();
  desk->fail(Operation::read, EIO);
  EXPECT_SENSE(none(verify(3, 10, 0)), "3/11/00");
}

TEST_P(Verify, SameData) {
  set_up();
  const auto task = out(verify(3, 600, kAll), stored(3, 600));
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 600U * 512);
}

TEST_P(Verify, DifferenceAtAnyByte) {
  set_up();
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{1}, std::size_t{511}, std::size_t{512}, std::size_t{4095},
        std::size_t{4096}, std::size_t{262143}, std::size_t{262144}, std::size_t{600 * 512 - 1}}) {
    auto other = stored(3, 600);
    other[at] ^= std::byte{1};
    EXPECT_SENSE(out(verify(3, 600, kAll), other), "e/1d/00");
  }
}

TEST_P(Verify, PiecesOfAnySizeCompareAlike) {
  set_up();
  for (const std::size_t piece : {1U, 7U, 511U, 513U, 1024U, 5000U}) {
    auto same = out_task(verify(3, 8, kAll), stored(3, 8));
    same->piece_size = piece;
    same->execute();
    EXPECT_GOOD(same);
    auto other = out_task(verify(3, 8, kAll), stored(4, 8));
    other->piece_size = piece;
    other->execute();
    EXPECT_SENSE(other, "e/1d/00");
  }
}

TEST_P(Verify, OneBlockAgainstAll) {
  set_up();
  const auto block = data(512);
  for (int i = 3; i < 8; ++i) std::copy(block.begin(), block.end(), desk->bytes.begin() + i * 512);
  const auto task = out(verify(3, 5, kOne), block);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 512U);
  EXPECT_SENSE(out(verify(3, 6, kOne), block), "e/1d/00");
  EXPECT_SENSE(out(verify(2, 2, kOne), block), "e/1d/00");
}

TEST_P(Verify, OneBlockOfWhichThereIsLess) {
  set_up();
  EXPECT_SENSE(out(verify(3, 5, kOne), data(511)), "b/0c/0d");
}

TEST_P(Verify, ReservedComparison) {
  set_up();
  EXPECT_SENSE(out(verify(0, 1, 0x04), data(512)), "5/24/00@1.2");
}

TEST_P(Verify, ProtectionInformationIsRefused) {
  set_up();
  EXPECT_SENSE(none(verify(0, 1, 0x20)), "5/24/00@1.7");
}

TEST_P(Verify, BeyondTheEnd) {
  set_up();
  EXPECT_SENSE(none(verify(1024, 1, 0)), "5/21/00@2");
  EXPECT_SENSE(none(verify(1023, 2, 0)), "5/21/00@2");
  EXPECT_SENSE(out(verify(1023, 2, kAll), data(1024)), "5/21/00@2");
}

TEST_P(Verify, NoBlocks) {
  set_up();
  EXPECT_GOOD(none(verify(0, 0, 0)));
  EXPECT_GOOD(none(verify(0, 0, kAll)));
  EXPECT_GOOD(none(verify(0, 0, kOne)));
  EXPECT_TRUE(desk->seen.empty());
}

// All memory of the session is with the write data of such commands: they still end.
TEST_P(Verify, NeedsNoMemoryOfTheSession) {
  set_up();
  side->pool.limit = 0;
  EXPECT_GOOD(out(verify(3, 600, kAll), stored(3, 600)));
  EXPECT_GOOD(none(verify(3, 600, 0)));
  EXPECT_GT(side->pool.refusals, 0U);
}

}  // namespace
}  // namespace openiser::test
