// What the initiator expects (EDTL) and what the CDB says differ: RFC 7143 section 11.4.5. As many
// whole blocks as both have are transferred, and the session is told the CDB's length.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

struct Sizes {
  std::uint32_t expected;  // EDTL
  std::uint32_t blocks;    // of the CDB
};

class Residuals : public ScsiFixture, public ::testing::WithParamInterface<Sizes> {
 protected:
  void SetUp() override { set_up(); }
};

INSTANTIATE_TEST_SUITE_P(Lengths, Residuals,
                         ::testing::Values(Sizes{0, 1}, Sizes{1, 1}, Sizes{200, 1}, Sizes{511, 1},
                                           Sizes{512, 1}, Sizes{513, 1}, Sizes{1023, 2},
                                           Sizes{512, 2}, Sizes{1025, 2}, Sizes{10000, 1},
                                           Sizes{10000, 2}, Sizes{512, 0}, Sizes{1024, 4},
                                           Sizes{65536, 200}));

TEST_P(Residuals, ReadGivesWhatIsExpected) {
  for (const auto& cdb : {cdb10(0x28, 3, static_cast<std::uint16_t>(GetParam().blocks)),
                          cdb12(0xa8, 3, GetParam().blocks), cdb16(0x88, 3, GetParam().blocks)}) {
    const auto task = in(cdb, GetParam().expected);
    EXPECT_GOOD(task);
    EXPECT_EQ(task->transfer_length, GetParam().blocks * 512);
    auto whole = stored(3, GetParam().blocks);
    whole.resize(std::min<std::size_t>(whole.size(), GetParam().expected));
    EXPECT_EQ(task->data_in, whole);
  }
}

TEST_P(Residuals, WriteTakesWholeBlocksOfWhatIsThere) {
  const auto& [expected, blocks] = GetParam();
  for (const auto& cdb : {cdb10(0x2a, 3, static_cast<std::uint16_t>(blocks)),
                          cdb12(0xaa, 3, blocks), cdb16(0x8a, 3, blocks)}) {
    auto after = desk->bytes;
    const auto written = data(expected, expected + load_u8(&cdb[0]));
    const std::size_t fits = std::min<std::size_t>(expected / 512, blocks) * 512;
    std::copy_n(written.begin(), fits, after.begin() + 3 * 512);
    const auto task = out(cdb, written);
    EXPECT_GOOD(task);
    EXPECT_EQ(task->transfer_length, blocks * 512);
    EXPECT_TRUE(desk->bytes == after);
  }
}

TEST_P(Residuals, VerifyComparesWholeBlocksOfWhatIsThere) {
  const auto& [expected, blocks] = GetParam();
  auto same = stored(3, 256);
  same.resize(expected);
  const auto task = out(cdb16(0x8f, 3, blocks, 0x02), same);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, blocks * 512);
}

class WrongWay : public ScsiFixture {};

TEST_F(WrongWay, ReadCommandWithWriteData) {
  set_up();
  for (const auto& cdb : {cdb10(0x28, 0, 1), cdb16(0x88, 0, 1), hex("12 00 00 00 60 00")}) {
    const auto task = out(cdb, data(512));
    EXPECT_GOOD(task);
    EXPECT_EQ(task->transfer_length, 0U) << "the residual is all that was expected";
    EXPECT_FALSE(task->asked_for.has_value());
  }
}

TEST_F(WrongWay, WriteCommandWithReadData) {
  set_up();
  for (const auto& cdb : {cdb10(0x2a, 0, 1), cdb16(0x8a, 0, 1), cdb10(0x42, 0, 24)}) {
    EXPECT_SENSE(in(cdb, 512), "b/4b/00");
  }
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(WrongWay, NoDataExpectedIsAnOverflowNotAnError) {
  set_up();
  const auto task = none(cdb10(0x2a, 0, 1));
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 512U);
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(WrongWay, CommandWithoutDataButExpected) {
  set_up();
  const auto task = in(hex("00 00 00 00 00 00"), 512);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 0U);
}

TEST_F(WrongWay, BothWaysUsesTheOneTheCommandHas) {
  set_up();
  auto task = side->task(cdb10(0x28, 2, 1));
  task->read = task->write = true;
  task->expected_data_transfer_length = 4096;
  task->expected_bidi_read_length = 512;
  task->execute();
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in, stored(2, 1));
}

}  // namespace
}  // namespace openiser::test
