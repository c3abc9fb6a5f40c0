#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = StoreDesk::Operation;

class CompareAndWrite : public ScsiFixture {
 protected:
  void TearDown() override {
    other.reset();
    ScsiFixture::TearDown();
  }
  static ByteVector cdb(std::uint64_t lba, std::uint8_t blocks, std::uint8_t flags = 0) {
    return cdb16(0x89, lba, blocks, flags);
  }
  std::unique_ptr<FakeTask> on_other(const ByteVector& compare_and_write, const ByteVector& data) {
    auto task = other->task(compare_and_write);
    task->write = true;
    task->data_out = data;
    task->expected_data_transfer_length = static_cast<std::uint32_t>(data.size());
    task->execute();
    return task;
  }
  void second_session() {
    other = std::make_unique<SessionSide>(device);
    auto attention = other->task(hex("00 00 00 00 00 00"));
    attention->execute();
  }
  void run_other() {
    other->loop.post([&] { other->loop.stop(); });
    other->loop.run();
  }
  std::unique_ptr<SessionSide> other;
};

TEST_F(CompareAndWrite, SameIsReplaced) {
  set_up();
  auto expected = desk->bytes;
  const auto fresh = data(3 * 512);
  std::copy(fresh.begin(), fresh.end(), expected.begin() + 5 * 512);
  const auto task = out(cdb(5, 3), stored(5, 3) + fresh);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 6U * 512);
  EXPECT_TRUE(desk->bytes == expected);
}

TEST_F(CompareAndWrite, DifferenceAtEveryByteWritesNothingAndSaysWhere) {
  set_up();
  const auto before = desk->bytes;
  for (std::size_t at = 0; at < 1024; ++at) {
    auto compared = stored(5, 2);
    compared[at] ^= std::byte{0x80};
    if (at != 1023) compared[1023] ^= std::byte{1};  // the first one counts
    const auto task = out(cdb(5, 2), compared + data(1024));
    EXPECT_SENSE(task, "e/1d/00");
    EXPECT_EQ(load_u8(&task->sense[0]), 0xf0);
    EXPECT_EQ(load_be32(&task->sense[3]), at);
  }
  EXPECT_TRUE(desk->bytes == before);
  EXPECT_EQ(desk->count(Operation::write), 0U);
}

TEST_F(CompareAndWrite, PiecesOfAnySize) {
  set_up();
  for (const std::size_t piece : {1U, 7U, 511U, 512U, 513U, 1024U, 1025U}) {
    const auto fresh = data(1024, static_cast<unsigned>(piece));
    auto task = out_task(cdb(5, 2), stored(5, 2) + fresh);
    task->piece_size = piece;
    task->execute();
    EXPECT_GOOD(task);
    EXPECT_EQ(stored(5, 2), fresh);
  }
}

TEST_F(CompareAndWrite, LargestAndLongerThanThat) {
  set_up(4096, 1024);
  const auto fresh = data(255 * 4096);
  EXPECT_GOOD(out(cdb(5, 255), stored(5, 255) + fresh));
  EXPECT_EQ(stored(5, 255), fresh);
  auto longer = cdb(5, 0);
  store_u8(&longer[12], 1);
  EXPECT_SENSE(out(longer, data(512 * 4096)), "5/24/00@10");
}

TEST_F(CompareAndWrite, NoBlocks) {
  set_up();
  EXPECT_GOOD(none(cdb(5, 0)));
  EXPECT_SENSE(out(cdb(5, 0), data(512 * 512)), "5/24/00");
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(CompareAndWrite, AnythingButTwiceTheBlocks) {
  set_up();
  for (const std::size_t size : {0U, 512U, 1023U, 1025U, 2048U}) {
    EXPECT_SENSE(out(cdb(5, 1), data(size)), "5/24/00");
  }
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(CompareAndWrite, BeyondTheEnd) {
  set_up();
  EXPECT_SENSE(out(cdb(1024, 1), data(1024)), "5/21/00@2");
  EXPECT_SENSE(out(cdb(1023, 2), data(2048)), "5/21/00@2");
  EXPECT_SENSE(out(cdb(UINT64_MAX, 1), data(1024)), "5/21/00@2");
}

TEST_F(CompareAndWrite, ProtectionInformationIsRefused) {
  set_up();
  EXPECT_SENSE(out(cdb(5, 1, 0x20), data(1024)), "5/24/00@1.7");
}

TEST_F(CompareAndWrite, WriteProtected) {
  settings.read_only = true;
  set_up();
  EXPECT_SENSE(out(cdb(5, 1), data(1024)), "7/27/00");
}

TEST_F(CompareAndWrite, FuaReachesTheStore) {
  set_up();
  EXPECT_GOOD(out(cdb(5, 1, 0x08), stored(5, 1) + data(512)));
  EXPECT_TRUE(desk->seen.back().force_unit_access);
}

TEST_F(CompareAndWrite, ErrorsOfTheStore) {
  set_up();
  desk->fail(Operation::read, EIO);
  EXPECT_SENSE(out(cdb(5, 1), stored(5, 1) + data(512)), "3/11/00");
  desk->fail(Operation::write, ENOSPC);
  EXPECT_SENSE(out(cdb(5, 1), stored(5, 1) + data(512)), "7/27/07");
}

TEST_F(CompareAndWrite, NeedsNoMemoryOfTheSession) {
  set_up();
  side->pool.limit = 0;
  EXPECT_GOOD(out(cdb(5, 3), stored(5, 3) + data(3 * 512)));
}

TEST_F(CompareAndWrite, OfTwoSessionsTheSecondSeesWhatTheFirstWrote) {
  set_up();
  second_session();
  const auto old = stored(5, 1);
  desk->hold = true;
  const auto first = out(cdb(5, 1), old + data(512, 1));
  const auto second = on_other(cdb(5, 1), old + data(512, 2));
  EXPECT_EQ(desk->seen.size(), 1U) << "the second has not even looked";
  desk->hold = false;
  desk->release_all();
  EXPECT_GOOD(first);
  EXPECT_FALSE(second->ended());
  run_other();
  EXPECT_SENSE(second, "e/1d/00");
  EXPECT_EQ(stored(5, 1), data(512, 1));
}

TEST_F(CompareAndWrite, AbortWhileItWaitsForAnother) {
  set_up();
  second_session();
  const auto old = stored(5, 1);
  desk->hold = true;
  const auto first = out(cdb(5, 1), old + data(512, 1));
  const auto second = on_other(cdb(5, 1), old + data(512, 2));
  const auto third = out(cdb(5, 1), data(512, 1) + data(512, 3));
  second->abort();
  EXPECT_TRUE(second->released);
  desk->hold = false;
  desk->release_all();
  EXPECT_GOOD(first);
  run_other();
  side->run_until([&] { return third->ended(); });
  EXPECT_GOOD(third);
  EXPECT_EQ(stored(5, 1), data(512, 3));
}

TEST_F(CompareAndWrite, SessionThatGoesWhileItsCommandIsDueHoldsNobodyUp) {
  set_up();
  second_session();
  const auto old = stored(5, 1);
  desk->hold = true;
  const auto first = out(cdb(5, 1), old + data(512, 1));
  auto second = on_other(cdb(5, 1), old + data(512, 2));
  const auto third = out(cdb(5, 1), data(512, 1) + data(512, 3));
  desk->hold = false;
  desk->release_all();  // the pass is posted to the second session
  second->abort();
  other.reset();
  side->run_until([&] { return third->ended(); });
  EXPECT_GOOD(third);
}

// Many threads count in one block: no step may get lost.
TEST(ManyThreads, CompareAndWriteCounts) {
  auto device = std::make_shared<target::TargetDevice>();
  device->name = "iqn.2026-01.test:counter";
  device->units[0] =
      target::make_logical_unit(device->name, {}, target::make_memory_store(1 << 20));
  constexpr int kSessions = 3;
  constexpr int kSteps = 200;
  std::vector<std::thread> threads;
  std::atomic<int> open{kSessions};
  for (int i = 0; i < kSessions; ++i) {
    threads.emplace_back([&] {
      SessionSide side(device);
      side.task(hex("00 00 00 00 00 00"))->execute();
      int steps = 0;
      // What the counter is thought to be; it only grows.
      for (std::uint32_t guess = 0; steps < kSteps; ++guess) {
        auto task = side.task(cdb16(0x89, 0, 1));
        ByteVector known(512);
        ByteVector next(512);
        store_be32(known.data(), guess);
        store_be32(next.data(), guess + 1);
        task->write = true;
        task->data_out = known + next;
        task->expected_data_transfer_length = 1024;
        task->execute();
        side.run_until([&] { return task->ended(); });
        if (task->status == kGood) ++steps;
      }
      --open;
      side.run_until([&] { return open == 0; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  SessionSide side(device);
  side.task(hex("00 00 00 00 00 00"))->execute();
  auto look = side.task(cdb10(0x28, 0, 1));
  look->read = true;
  look->expected_data_transfer_length = 512;
  look->execute();
  EXPECT_EQ(load_be32(look->data_in.data()), static_cast<std::uint32_t>(kSessions * kSteps));
}

}  // namespace
}  // namespace openiser::test
