// READ, WRITE and SYNCHRONIZE CACHE.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = StoreDesk::Operation;

class BlockIo : public ScsiFixture {};

// The opcodes of a family by CDB length.
struct Family {
  const char* name;
  std::uint8_t read;
  std::uint8_t write;
  ByteVector (*cdb)(std::uint8_t opcode, std::uint64_t lba, std::uint32_t blocks,
                    std::uint8_t flags);
};
ByteVector six(std::uint8_t opcode, std::uint64_t lba, std::uint32_t blocks, std::uint8_t) {
  return cdb6(opcode, static_cast<std::uint32_t>(lba), static_cast<std::uint8_t>(blocks));
}
ByteVector ten(std::uint8_t opcode, std::uint64_t lba, std::uint32_t blocks, std::uint8_t flags) {
  return cdb10(opcode, static_cast<std::uint32_t>(lba), static_cast<std::uint16_t>(blocks), flags);
}
ByteVector twelve(std::uint8_t opcode, std::uint64_t lba, std::uint32_t blocks,
                  std::uint8_t flags) {
  return cdb12(opcode, static_cast<std::uint32_t>(lba), blocks, flags);
}
ByteVector sixteen(std::uint8_t opcode, std::uint64_t lba, std::uint32_t blocks,
                   std::uint8_t flags) {
  return cdb16(opcode, lba, blocks, flags);
}

class EveryLength : public ScsiFixture,
                    public ::testing::WithParamInterface<std::tuple<Family, std::uint32_t>> {
 protected:
  void SetUp() override { set_up(std::get<1>(GetParam())); }
  const Family& family() const { return std::get<0>(GetParam()); }
  ByteVector read(std::uint64_t lba, std::uint32_t blocks, std::uint8_t flags = 0) const {
    return family().cdb(family().read, lba, blocks, flags);
  }
  ByteVector write(std::uint64_t lba, std::uint32_t blocks, std::uint8_t flags = 0) const {
    return family().cdb(family().write, lba, blocks, flags);
  }
};

std::string family_name(const ::testing::TestParamInfo<std::tuple<Family, std::uint32_t>>& info) {
  return std::string(std::get<0>(info.param).name) + "_on_" +
         std::to_string(std::get<1>(info.param));
}

const Family kSix{"6", 0x08, 0x0a, six};
const Family kTen{"10", 0x28, 0x2a, ten};
const Family kTwelve{"12", 0xa8, 0xaa, twelve};
const Family kSixteen{"16", 0x88, 0x8a, sixteen};
INSTANTIATE_TEST_SUITE_P(Cdbs, EveryLength,
                         ::testing::Combine(::testing::Values(kSix, kTen, kTwelve, kSixteen),
                                            ::testing::Values(512U, 4096U)),
                         family_name);

// Those that have DPO, FUA and protection fields, and where a length of 0 is none.
class LongCdbs : public EveryLength {};
INSTANTIATE_TEST_SUITE_P(Cdbs, LongCdbs,
                         ::testing::Combine(::testing::Values(kTen, kTwelve, kSixteen),
                                            ::testing::Values(512U, 4096U)),
                         family_name);

TEST_P(EveryLength, ReadGivesTheBlocks) {
  const auto task = in(read(3, 5), 5 * block_);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in, stored(3, 5));
  EXPECT_EQ(task->transfer_length, 5 * block_);
}

TEST_P(EveryLength, WriteChangesThoseBlocksAlone) {
  const auto before = desk->bytes;
  const auto written = data(5 * block_);
  const auto task = out(write(3, 5), written);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 5 * block_);
  auto expected = before;
  std::copy(written.begin(), written.end(), expected.begin() + 3 * block_);
  EXPECT_EQ(desk->bytes, expected);
}

TEST_P(EveryLength, LastBlock) {
  EXPECT_GOOD(in(read(1023, 1), block_));
  EXPECT_GOOD(out(write(1023, 1), data(block_)));
}

TEST_P(EveryLength, BeyondTheEnd) {
  const std::string sense = family().read == 0x08 ? "5/21/00@1" : "5/21/00@2";
  for (const auto& [lba, blocks] : {std::pair{1024, 1}, {1023, 2}, {1000, 25}, {2000, 1}}) {
    EXPECT_SENSE(in(read(lba, blocks), blocks * block_), sense);
    EXPECT_SENSE(out(write(lba, blocks), data(blocks * block_)), sense);
  }
  EXPECT_TRUE(desk->seen.empty());
}

TEST_P(LongCdbs, ProtectionInformationIsRefused) {
  for (std::uint8_t protect = 1; protect < 8; ++protect) {
    const auto flags = static_cast<std::uint8_t>(protect << 5);
    EXPECT_SENSE(in(read(0, 1, flags), block_), "5/24/00@1.7");
    EXPECT_SENSE(out(write(0, 1, flags), data(block_)), "5/24/00@1.7");
  }
  EXPECT_TRUE(desk->seen.empty());
}

TEST_P(LongCdbs, NoBlocks) {
  EXPECT_GOOD(in(read(0, 0), 0));
  EXPECT_GOOD(in(read(1023, 0), 0));
  EXPECT_GOOD(out(write(0, 0), {}));
  EXPECT_SENSE(in(read(1024, 0), 0), "5/21/00@2");
  EXPECT_SENSE(out(write(1024, 0), {}), "5/21/00@2");
  EXPECT_TRUE(desk->seen.empty());
}

TEST_P(LongCdbs, DpoIsAccepted) {
  EXPECT_GOOD(in(read(0, 1, 0x10), block_));
  EXPECT_GOOD(out(write(0, 1, 0x10), data(block_)));
}

TEST_P(LongCdbs, FuaOnAWriteReachesTheStore) {
  EXPECT_GOOD(out(write(0, 1, 0x08), data(block_)));
  EXPECT_GOOD(out(write(0, 1), data(block_)));
  ASSERT_EQ(desk->seen.size(), 2U);
  EXPECT_TRUE(desk->seen[0].force_unit_access);
  EXPECT_FALSE(desk->seen[1].force_unit_access);
}

TEST_P(LongCdbs, FuaOnAReadFlushesFirst) {
  const auto task = in(read(7, 2, 0x08), 2 * block_);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in, stored(7, 2));
  ASSERT_EQ(desk->seen.size(), 2U);
  EXPECT_EQ(desk->seen[0].operation, Operation::flush);
  EXPECT_EQ(desk->seen[1].operation, Operation::read);
}

TEST_F(BlockIo, ReadSixOfZeroIs256Blocks) {
  set_up();
  const auto task = in(cdb6(0x08, 10, 0), 256 * 512);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in, stored(10, 256));
}

TEST_F(BlockIo, LbaPlusLengthThatWrapsIsOutOfRange) {
  set_up();
  for (const std::uint64_t lba : {UINT64_MAX, UINT64_MAX - 1, std::uint64_t{1} << 63,
                                  UINT64_MAX / 512, UINT64_MAX / 512 + 1, UINT64_MAX - 1023}) {
    for (const std::uint32_t blocks : {0U, 1U, 2U, 1024U, 1025U, UINT32_MAX}) {
      EXPECT_SENSE(in(cdb16(0x88, lba, blocks), 512), "5/21/00@2");
      EXPECT_SENSE(out(cdb16(0x8a, lba, blocks), data(512)), "5/21/00@2");
    }
  }
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(BlockIo, FuaOnAReadWithoutVolatileCacheJustReads) {
  set_up(512, 1024, false);
  EXPECT_GOOD(in(cdb10(0x28, 0, 1, 0x08), 512));
  EXPECT_EQ(desk->count(Operation::flush), 0U);
}

TEST_F(BlockIo, FuaOnAReadWhoseFlushFails) {
  set_up();
  desk->fail(Operation::flush, EIO);
  EXPECT_SENSE(in(cdb10(0x28, 0, 1, 0x08), 512), "3/0c/00");
  EXPECT_EQ(desk->count(Operation::read), 0U);
}

TEST_F(BlockIo, TheLongestTransferIsAllowedAndOneBlockMoreIsNot) {
  set_up(512, 40000);
  const auto task = in(cdb16(0x88, 1, 32768), 16 << 20);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in, stored(1, 32768));
  EXPECT_SENSE(in(cdb16(0x88, 1, 32769), (16 << 20) + 512), "5/24/00@10");
  EXPECT_SENSE(in(cdb12(0xa8, 1, 32769), (16 << 20) + 512), "5/24/00@6");
  EXPECT_SENSE(in(cdb10(0x28, 1, 32769), (16 << 20) + 512), "5/24/00@7");
  EXPECT_SENSE(out(cdb16(0x8a, 1, 32769), data((16 << 20) + 512)), "5/24/00@10");
}

TEST_F(BlockIo, LongReadsComeInPiecesAscending) {
  set_up(512, 40000);
  desk->hold = true;
  const auto task = in(cdb16(0x88, 0, 4096), 4096 * 512);
  ASSERT_EQ(desk->held.size(), 4U) << "so many are under way at a time";
  // The last one first: nothing can be sent before the first is there.
  desk->release(3);
  desk->release(2);
  EXPECT_TRUE(task->data_in.empty());
  desk->release(0);
  EXPECT_EQ(task->data_in.size(), 256U << 10);
  desk->hold = false;
  desk->release_all();
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in, stored(0, 4096));
}

TEST_F(BlockIo, WritePiecesGoToTheStoreAsTheyCame) {
  set_up();
  auto task = out_task(cdb10(0x2a, 0, 8), data(4096));
  task->piece_size = 1000;
  task->execute();
  EXPECT_GOOD(task);
  ASSERT_EQ(desk->seen.size(), 1U);
  EXPECT_EQ(desk->seen[0].pieces, 5U);
  EXPECT_EQ(stored(0, 8), data(4096));
}

TEST_F(BlockIo, WriteWaitsForItsData) {
  set_up();
  auto task = out_task(cdb10(0x2a, 0, 1), data(512));
  task->hold_data = true;
  task->execute();
  EXPECT_EQ(task->asked_for, 512U);
  EXPECT_TRUE(desk->seen.empty());
  task->deliver();
  EXPECT_GOOD(task);
}

TEST_F(BlockIo, WriteIsNotGoodBeforeTheStoreSaysSo) {
  set_up();
  desk->hold = true;
  const auto task = out(cdb10(0x2a, 0, 1), data(512));
  EXPECT_FALSE(task->ended());
  desk->release_all();
  EXPECT_GOOD(task);
}

TEST_F(BlockIo, WriteWithDataMissingIsAborted) {
  set_up();
  auto task = out_task(cdb10(0x2a, 0, 2), data(1024));
  task->data_out.resize(1023);
  task->execute();
  EXPECT_SENSE(task, "b/0c/0d");
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(BlockIo, SynchronizeCacheFlushes) {
  set_up();
  EXPECT_GOOD(none(cdb10(0x35, 0, 0)));
  EXPECT_GOOD(none(cdb16(0x91, 0, 0)));
  EXPECT_GOOD(none(cdb10(0x35, 5, 10)));
  EXPECT_EQ(desk->count(Operation::flush), 3U);
}

TEST_F(BlockIo, SynchronizeCacheAnswersWhenTheFlushIsDoneEvenWithImmed) {
  set_up();
  desk->hold = true;
  const auto task = none(cdb10(0x35, 0, 0, 0x02));
  EXPECT_FALSE(task->ended());
  desk->release_all();
  EXPECT_GOOD(task);
}

TEST_F(BlockIo, SynchronizeCacheBeyondTheEnd) {
  set_up();
  EXPECT_SENSE(none(cdb10(0x35, 1024, 1)), "5/21/00@2");
  EXPECT_SENSE(none(cdb10(0x35, 1000, 100)), "5/21/00@2");
  EXPECT_SENSE(none(cdb16(0x91, UINT64_MAX, 1)), "5/21/00@2");
  EXPECT_EQ(desk->count(Operation::flush), 0U);
}

TEST_F(BlockIo, WriteProtected) {
  settings.read_only = true;
  set_up();
  for (const auto& cdb : {cdb6(0x0a, 0, 1), cdb10(0x2a, 0, 1), cdb12(0xaa, 0, 1), cdb16(0x8a, 0, 1),
                          cdb10(0x41, 0, 1), cdb16(0x93, 0, 1), cdb10(0x42, 0, 24)}) {
    const auto task = out(cdb, data(512));
    EXPECT_SENSE(task, "7/27/00");
    EXPECT_FALSE(task->asked_for.has_value());
  }
  EXPECT_GOOD(in(cdb10(0x28, 0, 1), 512));
  EXPECT_GOOD(none(cdb10(0x35, 0, 0)));
}

}  // namespace
}  // namespace openiser::test
