// What the initiator expects (EDTL) and what the CDB says differ: RFC 7143 section 11.4.5. As many
// whole blocks as both have are transferred, and the session is told the CDB's length.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

struct Sizes {
  std::int64_t blocks_expected;  // EDTL: as many blocks,
  std::int64_t bytes_more;       // and that much more
  std::uint32_t blocks;          // of the CDB
};

class Residuals : public ScsiFixture,
                  public ::testing::WithParamInterface<std::tuple<std::uint32_t, Sizes>> {
 protected:
  void SetUp() override {
    set_up(std::get<0>(GetParam()));
    const Sizes& sizes = std::get<1>(GetParam());
    expected = static_cast<std::uint32_t>(sizes.blocks_expected * block_ + sizes.bytes_more);
    blocks = sizes.blocks;
  }
  // One of each length; the 6-byte one (0: there is none) has another meaning for 0 blocks.
  std::vector<ByteVector> cdbs(std::uint8_t six, std::uint8_t ten, std::uint8_t flags = 0) const {
    const auto other = [ten](unsigned group) {
      return static_cast<std::uint8_t>((ten & 0x1f) | group << 5);
    };
    std::vector<ByteVector> all{cdb10(ten, 3, static_cast<std::uint16_t>(blocks), flags),
                                cdb12(other(5), 3, blocks, flags),
                                cdb16(other(4), 3, blocks, flags)};
    if (six != 0 && blocks != 0) all.push_back(cdb6(six, 3, static_cast<std::uint8_t>(blocks)));
    return all;
  }

  std::uint32_t expected = 0;
  std::uint32_t blocks = 0;
};

// None, less and more by a byte and by a block, and far off.
INSTANTIATE_TEST_SUITE_P(
    Lengths, Residuals,
    ::testing::Combine(::testing::Values(512, 4096),
                       ::testing::Values(Sizes{0, 0, 1}, Sizes{0, 1, 1}, Sizes{0, 200, 1},
                                         Sizes{1, -1, 1}, Sizes{1, 0, 1}, Sizes{1, 1, 1},
                                         Sizes{2, -1, 2}, Sizes{2, 1, 2}, Sizes{1, 0, 2},
                                         Sizes{2, 0, 2}, Sizes{3, 0, 2}, Sizes{20, -8, 1},
                                         Sizes{20, 8, 2}, Sizes{1, 0, 0}, Sizes{2, 0, 4},
                                         Sizes{128, 0, 200})));

TEST_P(Residuals, ReadGivesWhatIsExpected) {
  for (const auto& cdb : cdbs(0x08, 0x28)) {
    const auto task = in(cdb, expected);
    EXPECT_GOOD(task);
    EXPECT_EQ(task->transfer_length, blocks * block_);
    auto whole = stored(3, blocks);
    whole.resize(std::min<std::size_t>(whole.size(), expected));
    EXPECT_EQ(task->data_in, whole);
  }
}

// And reading back shows it.
TEST_P(Residuals, WriteTakesWholeBlocksOfWhatIsThere) {
  for (const auto& cdb : cdbs(0x0a, 0x2a)) {
    auto after = desk->bytes;
    const auto written = data(expected, expected + load_u8(&cdb[0]));
    const std::size_t fits = std::min(expected / block_, blocks) * block_;
    std::copy_n(written.begin(), fits, after.begin() + 3 * block_);
    const auto task = out(cdb, written);
    EXPECT_GOOD(task);
    EXPECT_EQ(task->transfer_length, blocks * block_);
    EXPECT_TRUE(desk->bytes == after);
    const auto read =
        in(cdb10(0x28, 3, static_cast<std::uint16_t>(blocks + 1)), (blocks + 1) * block_);
    EXPECT_TRUE(std::equal(read->data_in.begin(), read->data_in.end(), after.begin() + 3 * block_));
  }
}

TEST_P(Residuals, VerifyComparesWholeBlocksOfWhatIsThere) {
  for (const auto& cdb : cdbs(0, 0x2f, 0x02)) {
    auto same = stored(3, 256);
    same.resize(expected);
    const auto task = out(cdb, same);
    EXPECT_GOOD(task);
    EXPECT_EQ(task->transfer_length, blocks * block_);
  }
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
