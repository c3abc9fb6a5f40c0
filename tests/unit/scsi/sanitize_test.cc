// SANITIZE and FORMAT UNIT: work on the whole medium, on a thread of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "target/scsi/medium.h"
#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = target::StoreRequest::Operation;

const ByteVector kTestUnitReady = hex("00 00 00 00 00 00");

class Sanitize : public ScsiFixture {
 protected:
  // Work waits for the test at its first request.
  void stall() {
    stalled_ = std::promise<void>();
    desk->fault = [this, go = stalled_.get_future().share()](const target::StoreRequest&) {
      go.wait();
      return error.load();
    };
  }
  void let_go() {
    if (std::exchange(is_stalled_, false)) stalled_.set_value();
  }
  void stall_now() {
    stall();
    is_stalled_ = true;
  }
  void TearDown() override {
    if (desk) let_go();
    wait_for_medium();
    ScsiFixture::TearDown();
  }
  void wait_for_medium() {
    if (!side) return;
    side->run_until([this] {
      const auto ready = none(kTestUnitReady);
      return ready->status == kGood || sense_text(ready->sense).substr(0, 1) == "3";
    });
  }
  std::unique_ptr<FakeTask> ended(std::unique_ptr<FakeTask> task) {
    side->run_until([&] { return task->ended(); });
    return task;
  }
  static ByteVector sanitize_cdb(std::uint8_t byte1, std::uint16_t length = 0) {
    return cdb10(0x48, 0, length, byte1);
  }
  static ByteVector overwrite_list(std::uint8_t first, const ByteVector& pattern) {
    ByteVector list(4);
    store_u8(&list[0], first);
    store_be16(&list[2], static_cast<std::uint16_t>(pattern.size()));
    list.insert(list.end(), pattern.begin(), pattern.end());
    return list;
  }
  std::unique_ptr<FakeTask> overwrite(std::uint8_t first, const ByteVector& pattern,
                                      std::uint8_t flags = 0) {
    const ByteVector list = overwrite_list(first, pattern);
    return out(sanitize_cdb(static_cast<std::uint8_t>(0x01 | flags),
                            static_cast<std::uint16_t>(list.size())),
               list);
  }
  bool every_block_is(const ByteVector& block) {
    for (std::uint64_t i = 0; i < 1024; ++i) {
      if (stored(i, 1) != block) return false;
    }
    return true;
  }

  std::atomic<int> error = 0;
  std::promise<void> stalled_;
  bool is_stalled_ = false;
};

TEST_F(Sanitize, OverwritesEveryBlockThenFlushes) {
  set_up();
  const auto pattern = data(512);
  const auto task = ended(overwrite(0x01, pattern));
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 516U);
  EXPECT_TRUE(every_block_is(pattern));
  EXPECT_EQ(desk->seen.back().operation, Operation::flush);
}

TEST_F(Sanitize, ShortPatternsStartAnewInEachBlock) {
  set_up();
  EXPECT_GOOD(ended(overwrite(0x01, hex("11 22 33"))));
  ByteVector block;
  for (int i = 0; i < 512; ++i) block.push_back(std::byte(0x11 * (1 + i % 3)));
  EXPECT_TRUE(every_block_is(block));
}

TEST_F(Sanitize, SeveralPassesMayInvert) {
  set_up();
  EXPECT_GOOD(ended(overwrite(0x82, hex("0f"))));
  EXPECT_TRUE(every_block_is(ByteVector(512, std::byte{0xf0})));
  EXPECT_EQ(desk->count(Operation::write), 2U);
  EXPECT_GOOD(ended(overwrite(0x1f, hex("0f"))));
  EXPECT_TRUE(every_block_is(ByteVector(512, std::byte{0x0f})));
  EXPECT_EQ(desk->count(Operation::write), 2U + 31U);
}

TEST_F(Sanitize, BlockEraseDiscards) {
  set_up();
  EXPECT_GOOD(ended(none(sanitize_cdb(0x02))));
  EXPECT_TRUE(every_block_is(ByteVector(512)));
  EXPECT_EQ(desk->count(Operation::discard), 1U);
}

TEST_F(Sanitize, ParameterListsThatAreWrong) {
  set_up();
  for (std::uint16_t length = 0; length < 5; ++length) {
    EXPECT_SENSE(out(sanitize_cdb(0x01, length), ByteVector(length)), "5/24/00@7");
  }
  EXPECT_SENSE(out(sanitize_cdb(0x01, 517), ByteVector(517)), "5/24/00@7");
  EXPECT_SENSE(overwrite(0x00, hex("aa")), "5/26/00#0");
  EXPECT_SENSE(overwrite(0x21, hex("aa")), "5/26/00#0");
  auto list = overwrite_list(0x01, ByteVector(8));
  store_be16(&list[2], 0);
  EXPECT_SENSE(out(sanitize_cdb(0x01, 12), list), "5/26/00#2");
  store_be16(&list[2], 513);
  EXPECT_SENSE(out(sanitize_cdb(0x01, 12), list), "5/26/00#2");
  store_be16(&list[2], 9);
  EXPECT_SENSE(out(sanitize_cdb(0x01, 12), list), "5/1a/00");
  store_be16(&list[2], 8);
  for (std::size_t size = 0; size < list.size(); ++size) {
    EXPECT_SENSE(out(sanitize_cdb(0x01, 12), ByteVector(list.begin(), list.begin() + size)),
                 "5/1a/00");
  }
  EXPECT_SENSE(none(sanitize_cdb(0x02, 1)), "5/24/00@7");
  EXPECT_SENSE(none(sanitize_cdb(0x1f, 1)), "5/24/00@7");
  EXPECT_EQ(desk->seen.size(), 0U);
}

TEST_F(Sanitize, ReservedFieldsHaveToBeZero) {
  set_up();
  for (const std::uint8_t action : {0x01, 0x02, 0x1f}) {
    EXPECT_SENSE(none(sanitize_cdb(static_cast<std::uint8_t>(0x40 | action))), "5/24/00@1.6");
    for (std::size_t at = 2; at < 7; ++at) {
      auto cdb = sanitize_cdb(action);
      store_u8(&cdb[at], 1);
      EXPECT_SENSE(none(cdb), "5/24/00@" + std::to_string(at));
    }
  }
  EXPECT_EQ(desk->seen.size(), 0U);
}

TEST_F(Sanitize, ServiceActionsThatAreNotThere) {
  set_up();
  EXPECT_SENSE(none(sanitize_cdb(0x03)), "5/24/00@1.4");
  EXPECT_SENSE(none(sanitize_cdb(0x00)), "5/24/00@1.4");
}

TEST_F(Sanitize, WriteProtectedUnits) {
  settings.read_only = true;
  set_up();
  EXPECT_SENSE(none(sanitize_cdb(0x02)), "7/27/00");
  EXPECT_SENSE(none(hex("04 00 00 00 00 00")), "7/27/00");
}

TEST_F(Sanitize, ImmediateGoesOnInTheBackground) {
  set_up();
  stall_now();
  EXPECT_GOOD(none(sanitize_cdb(0x82)));
  const auto refused = none(kTestUnitReady);
  EXPECT_EQ(sense_text(refused->sense).substr(0, 7), "2/04/1b");
  EXPECT_EQ(load_u8(&refused->sense[15]), 0x80) << "a progress indication";
  EXPECT_EQ(sense_text(in(cdb10(0x28, 0, 1), 512)->sense).substr(0, 7), "2/04/1b");
  EXPECT_EQ(sense_text(none(sanitize_cdb(0x82))->sense).substr(0, 7), "2/04/1b");
  EXPECT_GOOD(in(hex("12 00 00 00 60 00"), 96));
  EXPECT_GOOD(in(hex("a0 00 00 00 00 00 00 00 00 ff 00 00"), 255));
  const auto asked = in(hex("03 00 00 00 12 00"), 18);
  EXPECT_EQ(sense_text(asked->data_in).substr(0, 7), "2/04/1b");
  const auto descriptor = in(hex("03 01 00 00 ff 00"), 255);
  EXPECT_EQ(to_hex(descriptor->data_in).substr(0, 32),
            "7202041b00000008"
            "0206000080000000");
  let_go();
  wait_for_medium();
  EXPECT_GOOD(none(kTestUnitReady));
  EXPECT_TRUE(every_block_is(ByteVector(512)));
}

TEST_F(Sanitize, ProgressIsTold) {
  set_up(4096, 1024);  // 4 MiB: four writes
  std::atomic<int> begun = 0;
  std::promise<void> go;
  desk->fault = [&begun, wait = go.get_future().share()](const target::StoreRequest&) {
    if (++begun == 3) wait.wait();
    return 0;
  };
  EXPECT_GOOD(overwrite(0x01, hex("55"), 0x80));
  side->run_until([&] { return begun == 3; });
  EXPECT_EQ(load_be16(&none(kTestUnitReady)->sense[16]), 0x8000);
  go.set_value();
  wait_for_medium();
}

TEST_F(Sanitize, WithARateTakesItsTime) {
  using std::chrono::seconds;
  EXPECT_EQ(target::time_for(64 << 20, 16 << 20), seconds(4));
  EXPECT_EQ(target::time_for(1ULL << 40, 1ULL << 30), seconds(1024));
  EXPECT_EQ(target::time_for(1ULL << 40, 0), seconds(0));
  settings.sanitize_rate = 1ULL << 40;
  set_up();
  const auto pattern = data(512);
  EXPECT_GOOD(ended(overwrite(0x01, pattern)));
  EXPECT_TRUE(every_block_is(pattern));
}

TEST_F(Sanitize, EndsWhatWasUnderWayBeforeItTouchesTheStore) {
  set_up();
  desk->hold = true;
  const auto write = out(cdb10(0x2a, 0, 1), data(512));
  EXPECT_FALSE(write->ended());
  EXPECT_GOOD(none(sanitize_cdb(0x82)));
  EXPECT_EQ(desk->seen.size(), 1U) << "the write is still with the store";
  desk->hold = false;
  desk->release_all();
  ASSERT_TRUE(write->ended());
  EXPECT_EQ(sense_text(write->sense).substr(0, 7), "2/04/1b");
  wait_for_medium();
  EXPECT_TRUE(every_block_is(ByteVector(512)));
}

TEST_F(Sanitize, EndsTasksOfOthers) {
  set_up();
  SessionSide other(device);
  const auto first = other.task(kTestUnitReady);
  first->execute();
  desk->hold = true;
  const auto read = other.task(cdb10(0x28, 0, 1));
  read->read = true;
  read->expected_data_transfer_length = 512;
  read->execute();
  EXPECT_GOOD(none(sanitize_cdb(0x82)));
  other.loop.post([&] { other.loop.stop(); });
  other.loop.run();  // what was posted to end the read
  desk->hold = false;
  desk->release_all();
  other.run_until([&] { return read->ended(); });
  EXPECT_EQ(sense_text(read->sense).substr(0, 7), "2/04/1b");
  wait_for_medium();
  EXPECT_TRUE(every_block_is(ByteVector(512)));
}

TEST_F(Sanitize, GoesOnWithoutTheSession) {
  set_up();
  stall_now();
  EXPECT_GOOD(none(sanitize_cdb(0x82)));
  side.reset();
  let_go();
  side = std::make_unique<SessionSide>(device);
  EXPECT_SENSE(none(kTestUnitReady), "6/29/00");
  wait_for_medium();
  EXPECT_TRUE(every_block_is(ByteVector(512)));
}

TEST_F(Sanitize, AResetDoesNotStopIt) {
  set_up();
  stall_now();
  const auto waiting = none(sanitize_cdb(0x02));
  EXPECT_FALSE(waiting->ended());
  bool answered = false;
  waiting->abort();  // as a session does before it asks for the reset
  EXPECT_TRUE(waiting->released);
  side->nexus->manage(iscsi::TaskManagementFunction::logical_unit_reset, target::encode_lun(0),
                      [&](iscsi::TaskManagementAnswer) { answered = true; });
  side->run_until([&] { return answered; });
  EXPECT_SENSE(none(kTestUnitReady), "6/29/03");
  EXPECT_EQ(sense_text(none(kTestUnitReady)->sense).substr(0, 7), "2/04/1b");
  let_go();
  wait_for_medium();
  EXPECT_TRUE(every_block_is(ByteVector(512)));
}

TEST_F(Sanitize, FailureStaysUntilItIsLeft) {
  set_up();
  desk->fail(Operation::discard, EIO);
  EXPECT_SENSE(ended(none(sanitize_cdb(0x22))), "3/31/03");
  EXPECT_SENSE(none(kTestUnitReady), "3/31/03");
  EXPECT_SENSE(in(cdb10(0x28, 0, 1), 512), "3/31/03");
  EXPECT_EQ(sense_text(in(hex("03 00 00 00 12 00"), 18)->data_in), "3/31/03");
  EXPECT_GOOD(none(sanitize_cdb(0x1f)));
  EXPECT_GOOD(none(kTestUnitReady));
  EXPECT_GOOD(none(sanitize_cdb(0x1f)));  // nothing to leave
}

TEST_F(Sanitize, FailureForGoodEndsWithAnotherSanitize) {
  set_up();
  desk->fail(Operation::discard, EIO);
  EXPECT_SENSE(ended(none(sanitize_cdb(0x02))), "3/31/03");
  EXPECT_SENSE(none(sanitize_cdb(0x1f)), "5/24/00@1.4");
  desk->fault = nullptr;
  EXPECT_GOOD(ended(none(sanitize_cdb(0x02))));
  EXPECT_GOOD(none(kTestUnitReady));
}

TEST_F(Sanitize, WithoutDiscardThereIsOnlyOverwriting) {
  set_up(512, 1024, true, false);
  EXPECT_SENSE(none(sanitize_cdb(0x02)), "5/20/00");
  EXPECT_GOOD(ended(overwrite(0x01, hex("aa"))));
}

// --- FORMAT UNIT ---

TEST_F(Sanitize, FormatDiscardsOrZeroes) {
  set_up();
  EXPECT_GOOD(ended(none(hex("04 00 00 00 00 00"))));
  EXPECT_TRUE(every_block_is(ByteVector(512)));
  EXPECT_EQ(desk->count(Operation::discard), 1U);
  set_up(512, 1024, true, false);
  EXPECT_GOOD(ended(none(hex("04 00 00 00 00 00"))));
  EXPECT_TRUE(every_block_is(ByteVector(512)));
  EXPECT_EQ(desk->count(Operation::write_zeroes), 1U);
}

TEST_F(Sanitize, FormatInTheBackground) {
  set_up();
  stall_now();
  EXPECT_GOOD(out(hex("04 18 00 00 00 00"), hex("00 02 0000")));
  EXPECT_EQ(sense_text(none(kTestUnitReady)->sense).substr(0, 7), "2/04/04");
  error = EIO;
  let_go();
  side->run_until([&] { return sense_text(none(kTestUnitReady)->sense) == "3/31/01"; });
  EXPECT_SENSE(none(sanitize_cdb(0x1f)), "5/24/00@1.4");
  error = 0;
  EXPECT_GOOD(ended(out(hex("04 30 00 00 00 00"), hex("00 00 0000 00000000"))));
  EXPECT_GOOD(none(kTestUnitReady));
}

TEST_F(Sanitize, FormatListsThatAreWrong) {
  set_up();
  EXPECT_SENSE(none(hex("04 40 00 00 00 00")), "5/24/00@1.7");
  EXPECT_SENSE(none(hex("04 10 00 00 00 00")), "5/1a/00");
  for (std::size_t size = 1; size < 8; ++size) {
    if (size < 4) EXPECT_SENSE(out(hex("04 10 00 00 00 00"), ByteVector(size)), "5/1a/00");
    EXPECT_SENSE(out(hex("04 30 00 00 00 00"), ByteVector(size)), "5/1a/00");
  }
  EXPECT_SENSE(out(hex("04 10 00 00 00 00"), hex("01000000")), "5/26/00#0");
  EXPECT_SENSE(out(hex("04 10 00 00 00 00"), hex("00080000")), "5/26/00#1");
  EXPECT_SENSE(out(hex("04 10 00 00 00 00"), hex("00000004")), "5/26/00#2");
  EXPECT_SENSE(out(hex("04 30 00 00 00 00"), hex("0000000100000000")), "5/26/00#3");
  EXPECT_SENSE(out(hex("04 30 00 00 00 00"), hex("0000000000000008")), "5/26/00#4");
  EXPECT_EQ(desk->seen.size(), 0U);
}

}  // namespace
}  // namespace openiser::test
