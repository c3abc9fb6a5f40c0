// UNMAP and WRITE SAME.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = StoreDesk::Operation;

constexpr std::uint8_t kAnchor = 0x10;
constexpr std::uint8_t kUnmap = 0x08;
constexpr std::uint8_t kNoData = 0x01;

class WriteSame : public ScsiFixture, public ::testing::WithParamInterface<std::uint8_t> {
 protected:
  ByteVector write_same(std::uint64_t lba, std::uint32_t blocks, std::uint8_t flags = 0) const {
    return GetParam() == 0x41 ? cdb10(0x41, static_cast<std::uint32_t>(lba),
                                      static_cast<std::uint16_t>(blocks), flags)
                              : cdb16(0x93, lba, blocks, flags);
  }
  // The bytes of the unit with `blocks` blocks from `lba` filled with `block`.
  ByteVector filled(std::uint64_t lba, std::size_t blocks, const ByteVector& block) const {
    ByteVector bytes = desk->bytes;
    for (std::size_t i = 0; i < blocks; ++i) {
      std::copy(block.begin(), block.end(),
                bytes.begin() + static_cast<std::ptrdiff_t>((lba + i) * block_));
    }
    return bytes;
  }
  std::string length_field() const { return GetParam() == 0x41 ? "@7" : "@10"; }
};

INSTANTIATE_TEST_SUITE_P(Cdbs, WriteSame, ::testing::Values(0x41, 0x93));

TEST_P(WriteSame, RepeatsTheBlock) {
  set_up();
  const auto expected = filled(5, 1000, data(512));
  const auto task = out(write_same(5, 1000), data(512));
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 512U);
  EXPECT_TRUE(desk->bytes == expected);
  EXPECT_EQ(desk->seen.size(), 2U) << "many copies at a time";
}

TEST_P(WriteSame, LargeBlocks) {
  set_up(4096, 256);
  const auto expected = filled(1, 200, data(4096));
  EXPECT_GOOD(out(write_same(1, 200), data(4096)));
  EXPECT_TRUE(desk->bytes == expected);
}

TEST_P(WriteSame, ZerosAreNotWrittenOut) {
  set_up();
  const auto expected = filled(5, 1000, ByteVector(512));
  EXPECT_GOOD(out(write_same(5, 1000), ByteVector(512)));
  EXPECT_TRUE(desk->bytes == expected);
  ASSERT_EQ(desk->seen.size(), 1U);
  EXPECT_EQ(desk->seen[0].operation, Operation::write_zeroes);
}

TEST_P(WriteSame, UnmapOfZerosDeallocates) {
  set_up();
  const auto expected = filled(5, 1000, ByteVector(512));
  EXPECT_GOOD(out(write_same(5, 1000, kUnmap), ByteVector(512)));
  EXPECT_TRUE(desk->bytes == expected);
  ASSERT_EQ(desk->seen.size(), 1U);
  EXPECT_EQ(desk->seen[0].operation, Operation::discard);
}

TEST_P(WriteSame, UnmapOfOtherDataWritesIt) {
  set_up();
  auto block = ByteVector(512);
  block[511] = std::byte{1};
  const auto expected = filled(5, 10, block);
  EXPECT_GOOD(out(write_same(5, 10, kUnmap), block));
  EXPECT_TRUE(desk->bytes == expected);
  EXPECT_EQ(desk->count(Operation::discard), 0U);
}

TEST_P(WriteSame, UnmapWhereNothingCanBeDiscarded) {
  set_up(512, 1024, true, false);
  EXPECT_SENSE(out(write_same(5, 10, kUnmap), ByteVector(512)), "5/24/00@1.3");
}

TEST_P(WriteSame, AnchorIsRefused) {
  set_up();
  EXPECT_SENSE(out(write_same(5, 10, kAnchor), data(512)), "5/24/00@1.4");
  EXPECT_SENSE(out(write_same(5, 10, kAnchor | kUnmap), data(512)), "5/24/00@1.4");
}

TEST_P(WriteSame, NumberOfBlocksZeroIsRefused) {
  set_up();
  EXPECT_SENSE(out(write_same(0, 0), data(512)), "5/24/00" + length_field());
}

TEST_P(WriteSame, BeyondTheEnd) {
  set_up();
  EXPECT_SENSE(out(write_same(1024, 1), data(512)), "5/21/00@2");
  EXPECT_SENSE(out(write_same(1023, 2), data(512)), "5/21/00@2");
  EXPECT_GOOD(out(write_same(1023, 1), data(512)));
}

TEST_P(WriteSame, ProtectionInformationIsRefused) {
  set_up();
  EXPECT_SENSE(out(write_same(0, 1, 0x20), data(512)), "5/24/00@1.7");
}

TEST_P(WriteSame, AnythingButOneBlockOfData) {
  set_up();
  for (const std::size_t size : {0U, 1U, 511U, 513U, 1024U, 4096U}) {
    EXPECT_SENSE(out(write_same(0, 1), data(size)), "5/24/00");
  }
  EXPECT_TRUE(desk->seen.empty());
}

TEST_P(WriteSame, FailsHalfWay) {
  set_up();
  int writes = 0;
  desk->fault = [&](const target::StoreRequest&) { return ++writes == 2 ? ENOSPC : 0; };
  EXPECT_SENSE(out(write_same(0, 1000), data(512)), "7/27/07");
}

class WriteSame16 : public WriteSame {};
INSTANTIATE_TEST_SUITE_P(Cdbs, WriteSame16, ::testing::Values(0x93));

TEST_P(WriteSame16, NoData) {
  set_up();
  const auto expected = filled(5, 10, ByteVector(512));
  const auto task = none(write_same(5, 10, kNoData));
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 0U);
  EXPECT_FALSE(task->asked_for.has_value());
  EXPECT_TRUE(desk->bytes == expected);
  EXPECT_EQ(desk->count(Operation::write_zeroes), 1U);
}

TEST_P(WriteSame16, NoDataAndUnmap) {
  set_up();
  EXPECT_GOOD(none(write_same(5, 10, kNoData | kUnmap)));
  EXPECT_EQ(desk->count(Operation::discard), 1U);
}

TEST_P(WriteSame16, LongerThanTheLimit) {
  device = std::make_shared<target::TargetDevice>();
  device->units[0] =
      target::make_logical_unit(kName, settings, target::make_null_store(1ULL << 40));
  open();
  EXPECT_GOOD(none(write_same(0, 65535, kNoData)));
  EXPECT_SENSE(none(write_same(0, 65536, kNoData)), "5/24/00@10");
}

// --- UNMAP ---

class Unmap : public ScsiFixture {
 protected:
  struct Range {
    std::uint64_t lba;
    std::uint32_t blocks;
  };
  static ByteVector list(const std::vector<Range>& ranges) {
    ByteVector bytes(8 + 16 * ranges.size());
    store_be16(&bytes[0], static_cast<std::uint16_t>(bytes.size() - 2));
    store_be16(&bytes[2], static_cast<std::uint16_t>(bytes.size() - 8));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      store_be64(&bytes[8 + 16 * i], ranges[i].lba);
      store_be32(&bytes[16 + 16 * i], ranges[i].blocks);
    }
    return bytes;
  }
  std::unique_ptr<FakeTask> unmap(const ByteVector& parameters, std::uint8_t flags = 0) {
    return out(cdb10(0x42, 0, static_cast<std::uint16_t>(parameters.size()), flags), parameters);
  }
  std::unique_ptr<FakeTask> unmap(const std::vector<Range>& ranges) { return unmap(list(ranges)); }
};

TEST_F(Unmap, RangesReadAsZeros) {
  set_up();
  auto expected = desk->bytes;
  std::fill_n(expected.begin() + 512, 2 * 512, std::byte{0});
  std::fill_n(expected.begin() + 1000 * 512, 24 * 512, std::byte{0});
  const auto task = unmap({{1, 2}, {1000, 24}});
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 40U);
  EXPECT_TRUE(desk->bytes == expected);
  EXPECT_EQ(desk->count(Operation::discard), 2U);
}

TEST_F(Unmap, ManyRanges) {
  set_up();
  std::vector<Range> ranges;
  for (std::uint64_t i = 0; i < 256; ++i) ranges.push_back({i * 4, 1});
  desk->hold = true;
  const auto task = unmap(ranges);
  EXPECT_FALSE(task->ended());
  desk->hold = false;
  desk->release_all();
  EXPECT_GOOD(task);
  EXPECT_EQ(desk->count(Operation::discard), 256U);
}

TEST_F(Unmap, MoreRangesThanTheLimit) {
  set_up();
  EXPECT_SENSE(unmap(std::vector<Range>(257, Range{0, 1})), "5/26/00#4104");
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(Unmap, MoreBlocksThanTheLimit) {
  device = std::make_shared<target::TargetDevice>();
  device->units[0] =
      target::make_logical_unit(kName, settings, target::make_null_store(1ULL << 40));
  open();
  EXPECT_GOOD(unmap({{0, 1048576}}));
  EXPECT_SENSE(unmap({{0, 1048575}, {0, 2}}), "5/26/00#24");
}

TEST_F(Unmap, NothingIsDoneWhenOneRangeIsWrong) {
  set_up();
  EXPECT_SENSE(unmap({{0, 1}, {1023, 2}}), "5/21/00#24");
  EXPECT_SENSE(unmap({{0, 1}, {1024, 1}}), "5/21/00#24");
  EXPECT_SENSE(unmap({{UINT64_MAX, UINT32_MAX}}), "5/21/00#8");
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(Unmap, EmptyRangesAreNoWork) {
  set_up();
  EXPECT_GOOD(unmap({{0, 0}, {1024, 0}}));
  EXPECT_GOOD(unmap(std::vector<Range>{}));
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(Unmap, NoParameterList) {
  set_up();
  EXPECT_GOOD(none(cdb10(0x42, 0, 0)));
}

TEST_F(Unmap, ListsAreCutAtEveryByte) {
  set_up();
  const auto whole = list({{0, 1}, {5, 1}});
  for (std::size_t length = 1; length < whole.size(); ++length) {
    ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_SENSE(unmap(cut), "5/1a/00");
  }
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(Unmap, ListThatTheInitiatorDoesNotSendWhole) {
  set_up();
  const auto whole = list({{0, 1}, {5, 1}});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_SENSE(out(cdb10(0x42, 0, 40), cut), "5/1a/00");
  }
}

TEST_F(Unmap, DescriptorThatIsNotWholeIsIgnored) {
  set_up();
  auto parameters = list({{0, 1}, {5, 1}});
  store_be16(&parameters[2], 31);
  EXPECT_GOOD(unmap(parameters));
  EXPECT_EQ(desk->count(Operation::discard), 1U);
}

TEST_F(Unmap, AnchorIsRefused) {
  set_up();
  EXPECT_SENSE(unmap(list({{0, 1}}), 0x01), "5/24/00@1.0");
}

TEST_F(Unmap, IsNotThereWithoutDiscard) {
  set_up(512, 1024, true, false);
  EXPECT_SENSE(unmap({{0, 1}}), "5/20/00");
}

TEST_F(Unmap, ErrorOfTheStore) {
  set_up();
  desk->fail(Operation::discard, EIO);
  EXPECT_SENSE(unmap({{0, 1}, {5, 1}}), "3/0c/00");
}

}  // namespace
}  // namespace openiser::test
