// Unit attentions, the order of commands, aborts.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using iscsi::TaskAttribute;
using Operation = StoreDesk::Operation;

const ByteVector kTestUnitReady = hex("00 00 00 00 00 00");

class Attention : public ScsiFixture {
 protected:
  // Another session, which has not been used yet.
  void fresh() { side = std::make_unique<SessionSide>(device); }
};

TEST_F(Attention, FirstCommandOfASessionIsTold) {
  set_up();
  fresh();
  EXPECT_SENSE(none(kTestUnitReady), "6/29/00");
  EXPECT_GOOD(none(kTestUnitReady));
}

TEST_F(Attention, EachUnitTells) {
  set_up();
  target::LogicalUnitSettings other;
  other.lun = 1;
  device->units[1] = target::make_logical_unit(kName, other, target::make_null_store(4096));
  fresh();
  EXPECT_SENSE(none(kTestUnitReady, 1), "6/29/00");
  EXPECT_SENSE(none(kTestUnitReady, 0), "6/29/00");
  EXPECT_GOOD(none(kTestUnitReady, 1));
  EXPECT_GOOD(none(kTestUnitReady, 0));
}

TEST_F(Attention, ReadIsNotDone) {
  set_up();
  fresh();
  EXPECT_SENSE(in(cdb10(0x28, 0, 1), 512), "6/29/00");
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(Attention, UnknownCommandIsTold) {
  set_up();
  fresh();
  EXPECT_SENSE(none(hex("ff 00 00 00 00 00")), "6/29/00");
}

TEST_F(Attention, InquiryAndReportLunsLeaveIt) {
  set_up();
  fresh();
  EXPECT_GOOD(in(hex("12 00 00 00 60 00"), 96));
  EXPECT_GOOD(in(hex("a0 00 00 00 00 00 00 00 01 00 00 00"), 256));
  EXPECT_SENSE(none(kTestUnitReady), "6/29/00");
}

TEST_F(Attention, RequestSenseGivesItAsData) {
  set_up();
  fresh();
  const auto task = in(hex("03 00 00 00 ff 00"), 255);
  EXPECT_GOOD(task);
  EXPECT_EQ(sense_text(task->data_in), "6/29/00");
  EXPECT_GOOD(none(kTestUnitReady));
}

TEST_F(Attention, ChangedCapacity) {
  set_up();
  desk->properties.size = 2048 * 512;
  target::check_capacity(*device->units[0]);
  bool told = false;
  side->run_until([&] {
    told = told || none(kTestUnitReady)->status == kCheckCondition;
    return told;
  });
  EXPECT_EQ(load_be32(in(cdb10(0x25, 0, 0), 8)->data_in.data()), 2047U);
}

TEST_F(Attention, CapacityOfNothingIsNotBelieved) {
  set_up();
  desk->properties.size = 511;
  target::check_capacity(*device->units[0]);
  EXPECT_EQ(load_be32(in(cdb10(0x25, 0, 0), 8)->data_in.data()), 1023U);
}

TEST_F(Attention, CapacityThatIsTheSameTellsNobody) {
  set_up();
  target::check_capacity(*device->units[0]);
  side->loop.post([&] { side->loop.stop(); });
  side->loop.run();
  EXPECT_GOOD(none(kTestUnitReady));
}

class Order : public ScsiFixture {
 protected:
  FakeTask& start(TaskAttribute attribute, std::uint32_t lba) {
    auto task = side->task(cdb10(0x28, lba, 1));
    task->read = true;
    task->expected_data_transfer_length = 512;
    task->attribute = attribute;
    tasks.push_back(std::move(task));
    tasks.back()->execute();
    return *tasks.back();
  }
  // LBAs of the reads the store has seen.
  std::vector<std::uint64_t> seen() const {
    std::vector<std::uint64_t> lbas;
    for (const auto& each : desk->seen) lbas.push_back(each.offset / 512);
    return lbas;
  }
  using Lbas = std::vector<std::uint64_t>;
  std::vector<std::unique_ptr<FakeTask>> tasks;
};

TEST_F(Order, SimpleTasksRunTogether) {
  set_up();
  desk->hold = true;
  start(TaskAttribute::simple, 0);
  start(TaskAttribute::untagged, 1);
  start(TaskAttribute::simple, 2);
  EXPECT_EQ(seen(), (Lbas{0, 1, 2}));
  desk->release_all();
}

TEST_F(Order, OrderedTaskWaitsForThoseBeforeIt) {
  set_up();
  desk->hold = true;
  start(TaskAttribute::simple, 0);
  start(TaskAttribute::simple, 1);
  start(TaskAttribute::ordered, 2);
  desk->release(1);
  EXPECT_EQ(seen(), (Lbas{0, 1}));
  desk->release(0);
  EXPECT_EQ(seen(), (Lbas{0, 1, 2}));
  desk->release_all();
}

TEST_F(Order, WhatComesAfterAnOrderedTaskWaitsForIt) {
  set_up();
  desk->hold = true;
  start(TaskAttribute::ordered, 0);
  start(TaskAttribute::simple, 1);
  start(TaskAttribute::simple, 2);
  start(TaskAttribute::ordered, 3);
  start(TaskAttribute::simple, 4);
  EXPECT_EQ(seen(), (Lbas{0}));
  desk->release();
  EXPECT_EQ(seen(), (Lbas{0, 1, 2}));
  desk->release();
  desk->release();
  EXPECT_EQ(seen(), (Lbas{0, 1, 2, 3}));
  desk->release();
  EXPECT_EQ(seen(), (Lbas{0, 1, 2, 3, 4}));
  desk->release_all();
  for (const auto& task : tasks) EXPECT_GOOD(task);
}

TEST_F(Order, HeadOfQueueTasksStartAtOnce) {
  set_up();
  desk->hold = true;
  start(TaskAttribute::ordered, 0);
  start(TaskAttribute::simple, 1);
  start(TaskAttribute::head_of_queue, 2);
  EXPECT_EQ(seen(), (Lbas{0, 2}));
  desk->release_all();
  EXPECT_EQ(seen(), (Lbas{0, 2, 1}));
}

TEST_F(Order, UnitsDoNotWaitForEachOther) {
  set_up();
  target::LogicalUnitSettings other;
  other.lun = 1;
  device->units[1] = target::make_logical_unit(kName, other, target::make_null_store(4096));
  open();
  desk->hold = true;
  start(TaskAttribute::ordered, 0);
  EXPECT_GOOD(none(kTestUnitReady, 1));
  desk->release_all();
}

TEST_F(Order, ManyWaitingTasksDoNotPileUpOnTheStack) {
  set_up();
  desk->hold = true;
  start(TaskAttribute::ordered, 0);
  for (std::uint32_t i = 0; i < 20000; ++i) start(TaskAttribute::ordered, i % 1024);
  desk->hold = false;
  desk->release_all();
  for (const auto& task : tasks) ASSERT_EQ(task->status, kGood);
}

TEST_F(Order, AcaTasksAreRefused) {
  set_up();
  EXPECT_SENSE(&start(TaskAttribute::aca, 0), "5/49/00");
}

TEST_F(Order, CommandsThatComeInAtAnEndAreTaken) {
  set_up();
  auto second = side->task(kTestUnitReady);
  auto first = side->task(kTestUnitReady);
  first->on_end = [&] { second->execute(); };
  first->execute();
  EXPECT_GOOD(first);
  EXPECT_GOOD(second);
}

class Abort : public ScsiFixture {};

TEST_F(Abort, WaitsForTheStore) {
  set_up();
  desk->hold = true;
  const auto task = in(cdb10(0x28, 0, 1), 512);
  task->abort();
  EXPECT_FALSE(task->ended()) << "the store may still write to its buffer";
  desk->release_all();
  EXPECT_TRUE(task->released);
  EXPECT_TRUE(task->data_in.empty());
  EXPECT_EQ(side->pool.outstanding, 0U);
}

TEST_F(Abort, BeginsNothingMore) {
  set_up(512, 8192);
  desk->hold = true;
  const auto task = in(cdb16(0x88, 0, 8192), 8192 * 512);
  ASSERT_EQ(desk->held.size(), 4U);
  task->abort();
  desk->release_all();
  EXPECT_TRUE(task->released);
  EXPECT_EQ(desk->seen.size(), 4U);
}

TEST_F(Abort, OfAWriteThatWaitsForItsData) {
  set_up();
  auto task = out_task(cdb10(0x2a, 0, 1), data(512));
  task->hold_data = true;
  task->execute();
  task->abort();
  EXPECT_TRUE(task->released);
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(Abort, OfATaskWhoseTurnHasNotCome) {
  set_up();
  desk->hold = true;
  const auto first = in(cdb10(0x28, 0, 1), 512);
  auto second = side->task(cdb10(0x28, 1, 1));
  second->attribute = TaskAttribute::ordered;
  second->read = true;
  second->expected_data_transfer_length = 512;
  second->execute();
  const auto third = in(cdb10(0x28, 2, 1), 512);
  second->abort();
  EXPECT_TRUE(second->released);
  desk->hold = false;
  desk->release_all();
  EXPECT_GOOD(first);
  EXPECT_GOOD(third);
}

TEST_F(Abort, AtEveryStepOfALongRead) {
  for (std::size_t steps = 0; steps < 8; ++steps) {
    set_up(512, 8192);
    desk->hold = true;
    const auto task = in(cdb16(0x88, 0, 4096), 4096 * 512);
    for (std::size_t i = 0; i < steps && !desk->held.empty(); ++i) desk->release();
    if (task->ended()) continue;
    task->abort();
    desk->release_all();
    EXPECT_TRUE(task->released);
    EXPECT_EQ(side->pool.outstanding, 0U);
    EXPECT_GOOD(none(kTestUnitReady));
  }
}

TEST_F(Abort, FromInsideSendData) {
  set_up(512, 8192);
  // As when the connection is found dead while it is written to.
  class Dying final : public iscsi::TargetTask {
   public:
    Dying(iscsi::TaskHandler& handler, FakePool& pool) : handler_(handler), pool_(pool) {
      cdb_ = cdb16(0x88, 0, 4096);
      cdb = cdb_;
      read = true;
      expected_data_transfer_length = 4096 * 512;
    }
    void send_data(Buffer, std::uint32_t) override {
      if (++sent == 2) handler_.abort(*this);
    }
    void receive_data(std::uint32_t) override {}
    void finish(std::uint8_t, Bytes, std::uint64_t) override { finished = true; }
    void release() override { released = true; }
    Buffer take_buffer(std::size_t size) override { return pool_.take(size); }
    int sent = 0;
    bool finished = false;
    bool released = false;

   private:
    iscsi::TaskHandler& handler_;
    FakePool& pool_;
    ByteVector cdb_;
  } task(*side->nexus, side->pool);
  side->nexus->execute(task);
  EXPECT_TRUE(task.released);
  EXPECT_FALSE(task.finished);
  EXPECT_EQ(task.sent, 2);
}

}  // namespace
}  // namespace openiser::test
