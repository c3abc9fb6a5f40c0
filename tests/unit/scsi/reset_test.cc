// Task management that reaches over to other sessions, each of which has a thread here.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/support/two_sessions.h"

namespace openiser::test {
namespace {

using iscsi::TaskManagementAnswer;
using iscsi::TaskManagementFunction;

const ByteVector kTestUnitReady = hex("00 00 00 00 00 00");

class Management : public TwoSessions {
 protected:
  void manage(TaskManagementFunction function, std::uint16_t lun = 0) {
    answer.reset();
    side->nexus->manage(function, target::encode_lun(lun),
                        [this](TaskManagementAnswer given) { answer = given; });
  }
  FakeTask& held_read() {
    auto task = other->task(cdb10(0x28, 0, 1));
    task->read = true;
    task->expected_data_transfer_length = 512;
    tasks.push_back(std::move(task));
    tasks.back()->execute();
    return *tasks.back();
  }

  std::optional<TaskManagementAnswer> answer;
  std::vector<std::unique_ptr<FakeTask>> tasks;
};

TEST_F(Management, LogicalUnitResetTellsEveryNexus) {
  two_sessions();
  manage(TaskManagementFunction::logical_unit_reset);
  settle();
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_EQ(on_other(kTestUnitReady), "6/29/03");
  EXPECT_EQ(on_other(kTestUnitReady), "good");
  EXPECT_SENSE(none(kTestUnitReady), "6/29/03");
  EXPECT_GOOD(none(kTestUnitReady));
}

TEST_F(Management, LogicalUnitResetEndsTasksOfOthersWhenTheStoreHasLetGo) {
  two_sessions();
  desk->hold = true;
  FakeTask& task = held_read();
  manage(TaskManagementFunction::logical_unit_reset);
  settle();
  EXPECT_FALSE(answer.has_value()) << "the store still has the request";
  EXPECT_FALSE(task.ended());
  desk->release_all();
  settle();
  EXPECT_EQ(task.status, kTaskAborted);
  EXPECT_TRUE(task.data_in.empty());
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
}

TEST_F(Management, LogicalUnitResetLeavesOtherUnitsAlone) {
  set_up();
  target::LogicalUnitSettings second;
  second.lun = 1;
  device->units[1] = target::make_logical_unit(kName, second, target::make_null_store(4096));
  open();
  desk->hold = true;
  other = std::make_unique<SessionSide>(device);
  on_other(kTestUnitReady);
  FakeTask& task = held_read();
  manage(TaskManagementFunction::logical_unit_reset, 1);
  settle();
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_FALSE(task.ended());
  desk->release_all();
  EXPECT_EQ(task.status, kGood);
  EXPECT_GOOD(none(kTestUnitReady, 0));
  EXPECT_SENSE(none(kTestUnitReady, 1), "6/29/03");
}

TEST_F(Management, LunThatIsNotThere) {
  two_sessions();
  for (const auto function :
       {TaskManagementFunction::logical_unit_reset, TaskManagementFunction::clear_task_set,
        TaskManagementFunction::abort_task_set}) {
    manage(function, 9);
    EXPECT_EQ(answer, TaskManagementAnswer::no_lun);
  }
}

TEST_F(Management, TaskThatWaitsForItsDataHoldsNobodyUp) {
  two_sessions();
  auto task = other->task(cdb10(0x2a, 0, 1));
  task->write = true;
  task->hold_data = true;
  task->data_out = data(512);
  task->expected_data_transfer_length = 512;
  task->execute();
  manage(TaskManagementFunction::logical_unit_reset);
  settle();
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_FALSE(task->ended()) << "its status must not overtake its data";
  task->deliver();
  EXPECT_EQ(task->status, kTaskAborted);
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(Management, TaskThatWaitsForItsDataCanBeAbortedAfterwards) {
  two_sessions();
  auto task = other->task(cdb10(0x2a, 0, 1));
  task->write = true;
  task->hold_data = true;
  task->data_out = data(512);
  task->expected_data_transfer_length = 512;
  task->execute();
  manage(TaskManagementFunction::logical_unit_reset);
  settle();
  task->abort();
  EXPECT_TRUE(task->released);
}

TEST_F(Management, TasksWhoseTurnHasNotComeEndToo) {
  two_sessions();
  desk->hold = true;
  held_read();
  for (int i = 0; i < 3; ++i) {
    auto task = other->task(cdb10(0x28, 1, 1));
    task->attribute = iscsi::TaskAttribute::ordered;
    tasks.push_back(std::move(task));
    tasks.back()->execute();
  }
  manage(TaskManagementFunction::logical_unit_reset);
  desk->release_all();
  settle();
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  // The first was done before the reset reached its thread.
  EXPECT_EQ(tasks[0]->status, kGood);
  for (const auto& task : tasks) EXPECT_TRUE(task->ended());
}

TEST_F(Management, WaitingTasksAreClearedBehindARunningOne) {
  two_sessions();
  desk->hold = true;
  held_read();
  auto waiting = other->task(cdb10(0x28, 1, 1));
  waiting->attribute = iscsi::TaskAttribute::ordered;
  waiting->execute();
  manage(TaskManagementFunction::logical_unit_reset);
  settle();
  EXPECT_EQ(waiting->status, kTaskAborted);
  EXPECT_FALSE(tasks[0]->ended());
  desk->release_all();
  settle();
  EXPECT_EQ(tasks[0]->status, kTaskAborted);
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
}

TEST_F(Management, ClearTaskSetEndsTasksWithoutAnAttention) {
  two_sessions();
  desk->hold = true;
  FakeTask& task = held_read();
  manage(TaskManagementFunction::clear_task_set);
  settle();
  desk->hold = false;
  desk->release_all();
  settle();
  EXPECT_EQ(task.status, kTaskAborted);
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_EQ(on_other(kTestUnitReady), "good");
  EXPECT_GOOD(none(kTestUnitReady));
}

TEST_F(Management, AbortTaskSetIsTheSessionsOwnAffair) {
  two_sessions();
  desk->hold = true;
  FakeTask& task = held_read();
  manage(TaskManagementFunction::abort_task_set);
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  settle();
  EXPECT_FALSE(task.ended());
  desk->release_all();
  EXPECT_EQ(task.status, kGood);
}

TEST_F(Management, TargetResetsReachEveryUnit) {
  for (const auto function :
       {TaskManagementFunction::target_warm_reset, TaskManagementFunction::target_cold_reset}) {
    two_sessions();
    target::LogicalUnitSettings second;
    second.lun = 1;
    device->units[1] = target::make_logical_unit(kName, second, target::make_null_store(4096));
    open();
    manage(function);
    settle();
    EXPECT_EQ(answer, TaskManagementAnswer::complete);
    EXPECT_EQ(on_other(kTestUnitReady), "6/29/03");
    EXPECT_SENSE(none(kTestUnitReady, 0), "6/29/03");
    EXPECT_SENSE(none(kTestUnitReady, 1), "6/29/03");
    other.reset();
  }
}

// SAM-5 section 7: whose tasks a function ends, seen from another nexus with a task on each of two
// units; the function is about LUN 1.
struct Reach {
  TaskManagementFunction function;
  bool lun_0;
  bool lun_1;
};
class ManagementReach : public Management, public ::testing::WithParamInterface<Reach> {};

INSTANTIATE_TEST_SUITE_P(
    Functions, ManagementReach,
    ::testing::Values(Reach{TaskManagementFunction::abort_task_set, false, false},
                      Reach{TaskManagementFunction::clear_task_set, false, true},
                      Reach{TaskManagementFunction::logical_unit_reset, false, true},
                      Reach{TaskManagementFunction::target_warm_reset, true, true},
                      Reach{TaskManagementFunction::target_cold_reset, true, true},
                      Reach{TaskManagementFunction::i_t_nexus_reset, false, false}));

TEST_P(ManagementReach, EndsTheTasksItIsAboutAndNoOthers) {
  set_up();
  const auto second = FaultStore::make_desk(1 << 20);
  target::LogicalUnitSettings unit;
  unit.lun = 1;
  device->units[1] = target::make_logical_unit(kName, unit, std::make_unique<FaultStore>(second));
  open();
  open_other();
  desk->hold = second->hold = true;
  std::vector<std::unique_ptr<FakeTask>> reads;
  for (const std::uint16_t lun : {0, 1}) {
    reads.push_back(other->task(cdb10(0x28, 0, 1), lun));
    reads.back()->read = true;
    reads.back()->expected_data_transfer_length = 512;
    reads.back()->execute();
  }
  manage(GetParam().function, 1);
  settle();
  const bool waits = GetParam().lun_0 || GetParam().lun_1;
  EXPECT_EQ(answer.has_value(), !waits) << "stores have requests of tasks that end";
  desk->release_all();
  second->release_all();
  settle();
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_EQ(reads[0]->status, GetParam().lun_0 ? kTaskAborted : kGood);
  EXPECT_EQ(reads[1]->status, GetParam().lun_1 ? kTaskAborted : kGood);
}

// There is nothing else in a reset that could fail: what the store had is over.
TEST_F(Management, ResetWaitsForRequestsThatFailToo) {
  two_sessions();
  desk->hold = true;
  FakeTask& task = held_read();
  manage(TaskManagementFunction::logical_unit_reset);
  settle();
  EXPECT_FALSE(answer.has_value());
  desk->fail(StoreDesk::Operation::read, EIO);
  desk->release_all();
  settle();
  EXPECT_EQ(task.status, kTaskAborted);
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_EQ(on_other(kTestUnitReady), "6/29/03");
}

TEST_F(Management, NexusResetTellsThisNexusAlone) {
  two_sessions();
  manage(TaskManagementFunction::i_t_nexus_reset);
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  settle();
  EXPECT_EQ(on_other(kTestUnitReady), "good");
  EXPECT_SENSE(none(kTestUnitReady), "6/29/07");
}

TEST_F(Management, OthersAreNotSupported) {
  two_sessions();
  manage(TaskManagementFunction::clear_aca);
  EXPECT_EQ(answer, TaskManagementAnswer::not_supported);
  manage(TaskManagementFunction::query_async_event);
  EXPECT_EQ(answer, TaskManagementAnswer::not_supported);
  manage(TaskManagementFunction::task_reassign);
  EXPECT_EQ(answer, TaskManagementAnswer::reassign_not_supported);
}

TEST_F(Management, PowerOnCoversAReset) {
  two_sessions();
  other = std::make_unique<SessionSide>(device);
  manage(TaskManagementFunction::logical_unit_reset);
  settle();
  EXPECT_EQ(on_other(kTestUnitReady), "6/29/00");
  EXPECT_EQ(on_other(kTestUnitReady), "good");
}

TEST_F(Management, NexusThatGoesBeforeTheResetReachesItHoldsNobodyUp) {
  two_sessions();
  manage(TaskManagementFunction::logical_unit_reset);
  other->nexus.reset();
  settle();
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
}

TEST_F(Management, LoopThatGoesBeforeTheResetReachesItHoldsNobodyUp) {
  two_sessions();
  manage(TaskManagementFunction::logical_unit_reset);
  other.reset();
  side->run_until([&] { return answer.has_value(); });
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
}

TEST_F(Management, NexusThatGoesBeforeItsAnswerIsNotCalled) {
  two_sessions();
  desk->hold = true;
  FakeTask& task = held_read();
  manage(TaskManagementFunction::logical_unit_reset);
  side->nexus.reset();
  settle();
  desk->release_all();
  settle();
  EXPECT_EQ(task.status, kTaskAborted);
  EXPECT_FALSE(answer.has_value());
}

TEST_F(Management, TwoResetsAtATimeBothWait) {
  two_sessions();
  auto third = std::make_unique<SessionSide>(device);
  desk->hold = true;
  held_read();
  manage(TaskManagementFunction::logical_unit_reset);
  std::optional<TaskManagementAnswer> second;
  third->nexus->manage(TaskManagementFunction::logical_unit_reset, target::encode_lun(0),
                       [&](TaskManagementAnswer given) { second = given; });
  const auto settle_third = [&] {
    settle();
    third->loop.post([&] { third->loop.stop(); });
    third->loop.run();
    settle();
  };
  settle_third();
  EXPECT_FALSE(answer.has_value());
  EXPECT_FALSE(second.has_value());
  desk->release_all();
  settle_third();
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_EQ(second, TaskManagementAnswer::complete);
}

// Sessions on threads of their own read, write and reset one unit in memory; each ends everything
// it began, and a sanitizer sees the rest.
TEST(ManyThreads, ResetsWhileOthersWork) {
  auto device = std::make_shared<target::TargetDevice>();
  device->name = "iqn.2026-01.test:shared";
  device->units[0] =
      target::make_logical_unit(device->name, {}, target::make_memory_store(1 << 20));
  constexpr int kSessions = 3;
  std::atomic<int> busy{kSessions};
  std::vector<std::thread> threads;
  for (int number = 0; number < kSessions; ++number) {
    threads.emplace_back([&, number] {
      SessionSide side(device);
      int left = 300;
      std::unique_ptr<FakeTask> task;
      std::function<void()> next = [&] {
        if (left-- == 0) {
          --busy;
          return;
        }
        if (left % 20 == number) {
          side.nexus->manage(TaskManagementFunction::logical_unit_reset, target::encode_lun(0),
                             [&](TaskManagementAnswer) { side.loop.post(next); });
          return;
        }
        task = side.task(cdb10(0x28, static_cast<std::uint32_t>(left), 8));
        task->read = true;
        task->expected_data_transfer_length = 4096;
        task->on_end = [&] { side.loop.post(next); };
        task->execute();
      };
      side.loop.post(next);
      side.run_until([&] { return busy == 0; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(busy, 0);
}

}  // namespace
}  // namespace openiser::test
