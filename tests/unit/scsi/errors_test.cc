// What becomes of errors of the store, and of a session short of memory.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = StoreDesk::Operation;

class StoreErrors : public ScsiFixture {};

TEST_F(StoreErrors, Reads) {
  set_up();
  desk->fail(Operation::read, EIO);
  EXPECT_SENSE(in(cdb10(0x28, 3, 1), 512), "3/11/00");
  desk->fail(Operation::read, EBADF);
  EXPECT_SENSE(in(cdb10(0x28, 3, 1), 512), "4/44/00");
}

TEST_F(StoreErrors, Writes) {
  set_up();
  for (const auto& [error, sense] : {std::pair{EIO, "3/0c/00"},
                                     {ENOSPC, "7/27/07"},
                                     {EDQUOT, "7/27/07"},
                                     {EROFS, "7/27/00"},
                                     {ENOMEM, "4/44/00"},
                                     {EFBIG, "4/44/00"}}) {
    desk->fail(Operation::write, error);
    EXPECT_SENSE(out(cdb10(0x2a, 3, 1), data(512)), sense);
  }
}

TEST_F(StoreErrors, Flushes) {
  set_up();
  desk->fail(Operation::flush, EIO);
  EXPECT_SENSE(none(cdb10(0x35, 0, 0)), "3/0c/00");
  EXPECT_SENSE(none(hex("1b 00 00 00 00 00")), "3/0c/00");
}

TEST_F(StoreErrors, MediumErrorSaysWhere) {
  set_up();
  desk->fail(Operation::read, EIO);
  const auto task = in(cdb10(0x28, 0x123, 1), 512);
  EXPECT_EQ(load_u8(&task->sense[0]), 0xf0);
  EXPECT_EQ(load_be32(&task->sense[3]), 0x123U);
}

TEST_F(StoreErrors, NothingIsSentBehindAPieceThatFailed) {
  set_up(512, 8192);
  desk->hold = true;
  const auto task = in(cdb16(0x88, 0, 4096), 4096 * 512);
  ASSERT_EQ(desk->held.size(), 4U);
  desk->fault = [](const target::StoreRequest& request) {
    return request.offset == 256 << 10 ? EIO : 0;
  };
  desk->release(0);
  ASSERT_EQ(desk->held.size(), 4U) << "the first is replaced";
  desk->release(0);
  EXPECT_FALSE(task->ended()) << "others are still with the store";
  EXPECT_EQ(desk->held.size(), 3U) << "no more are begun";
  desk->release_all();
  EXPECT_SENSE(task, "3/11/00");
  EXPECT_EQ(task->data_in.size(), 256U << 10);
  EXPECT_EQ(side->pool.outstanding, 0U);
}

class Memory : public ScsiFixture {};

TEST_F(Memory, ReadWaitsForIt) {
  set_up();
  side->pool.limit = 0;
  const auto task = in(cdb10(0x28, 3, 16), 16 * 512);
  EXPECT_FALSE(task->ended());
  EXPECT_TRUE(desk->seen.empty());
  side->pool.limit = SIZE_MAX;
  side->nexus->memory_freed();
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in, stored(3, 16));
}

TEST_F(Memory, SmallAnswersWaitToo) {
  set_up();
  side->pool.limit = 95;
  const auto task = in(hex("12 00 00 00 60 00"), 96);
  EXPECT_FALSE(task->ended());
  side->nexus->memory_freed();
  EXPECT_FALSE(task->ended()) << "still not enough";
  side->pool.limit = 96;
  side->nexus->memory_freed();
  EXPECT_GOOD(task);
}

TEST_F(Memory, LongReadMakesDoWithSmallPieces) {
  set_up(512, 8192);
  side->pool.limit = 20000;
  const auto task = in(cdb16(0x88, 0, 4096), 4096 * 512);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in, stored(0, 4096));
}

TEST_F(Memory, SlowConnectionHoldsALongReadBack) {
  set_up(512, 8192);
  side->pool.limit = 1 << 20;
  auto task = side->task(cdb16(0x88, 0, 8192));
  task->read = true;
  task->expected_data_transfer_length = 8192 * 512;
  task->keep_data_in = true;
  task->execute();
  int rounds = 0;
  while (!task->ended() && rounds < 100) {
    EXPECT_LE(side->pool.outstanding, 1U << 20);
    ASSERT_FALSE(task->kept.empty());
    task->kept.erase(task->kept.begin());
    side->nexus->memory_freed();
    ++rounds;
  }
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in, stored(0, 8192));
}

TEST_F(Memory, WaitingCommandsGoInTurn) {
  set_up();
  side->pool.limit = 0;
  std::vector<std::unique_ptr<FakeTask>> tasks;
  std::vector<int> ended;
  for (int i = 0; i < 5; ++i) {
    auto task = side->task(cdb10(0x28, 0, 1));
    task->read = true;
    task->expected_data_transfer_length = 512;
    task->on_end = [&ended, i] { ended.push_back(i); };
    task->execute();
    tasks.push_back(std::move(task));
  }
  side->pool.limit = 512;
  side->nexus->memory_freed();
  EXPECT_EQ(ended, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(Memory, AbortOfAWaitingCommand) {
  set_up();
  side->pool.limit = 0;
  const auto task = in(cdb10(0x28, 3, 16), 16 * 512);
  task->abort();
  EXPECT_TRUE(task->released);
  side->pool.limit = SIZE_MAX;
  side->nexus->memory_freed();
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(Memory, WriteSameWaitsForIt) {
  set_up();
  side->pool.limit = 0;
  const auto task = out(cdb10(0x41, 0, 100), data(512));
  EXPECT_FALSE(task->ended());
  side->pool.limit = 1024;
  side->nexus->memory_freed();
  EXPECT_GOOD(task);
  EXPECT_EQ(stored(99, 1), data(512));
}

}  // namespace
}  // namespace openiser::test
