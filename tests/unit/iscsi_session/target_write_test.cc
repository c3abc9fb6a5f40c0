// Write data at the target: immediate, unsolicited, solicited, and what is wrong with it.
#include "tests/support/target_fixture.h"

namespace openiser::test {
namespace {

constexpr std::array<unsigned, 3> kUnexpectedData{0x0b, 0x0c, 0x0c};
constexpr std::array<unsigned, 3> kIncorrectAmount{0x0b, 0x0c, 0x0d};
constexpr std::array<unsigned, 3> kCrcError{0x0b, 0x47, 0x05};
constexpr std::array<unsigned, 3> kInsufficientResources{0x0b, 0x55, 0x03};

class TargetWrite : public TargetFixture {
 protected:
  TargetWrite() {
    handler.on_execute = [this](TargetTask& task) {
      task.receive_data(want.value_or(task.expected_data_transfer_length));
    };
    handler.on_data = [](TargetTask& task, const DataPieces& pieces) {
      std::size_t size = 0;
      for (const Buffer& piece : pieces) size += piece.size();
      task.finish(0, {}, size);
    };
    start();
  }
  void restart() {
    session.reset();
    datamover.gets.clear();
    handler.data.clear();
    start();
  }
  void complete_gets(Bytes out) {
    while (!datamover.gets.empty()) datamover.complete_get(out);
  }
  // Unsolicited Data-Outs of `segment` bytes from `offset` to `end`.
  void send_data_outs(std::uint32_t tag, Bytes out, std::uint32_t offset, std::uint32_t end,
                      std::uint32_t segment) {
    for (std::uint32_t sn = 0; offset < end; ++sn) {
      const std::uint32_t length = std::min(segment, end - offset);
      datamover.deliver(data_out(tag, sn, offset, offset + length == end),
                        out.subspan(offset, length));
      offset += length;
    }
  }
  void expect_check_condition(std::array<unsigned, 3> expected) {
    EXPECT_EQ(datamover.take<ScsiResponse>().status, kStatusCheckCondition);
    EXPECT_EQ(sense(), expected);
  }

  std::optional<std::uint32_t> want;
};

TEST_F(TargetWrite, ImmediateDataStaysWhereItWasReceived) {
  const auto out = random_bytes(4096);
  const std::byte* place = nullptr;
  handler.on_data = [&](TargetTask& task, const DataPieces& pieces) {
    ASSERT_EQ(pieces.size(), 1u);
    place = pieces[0].data();
    task.finish(0, {}, 4096);
  };
  ControlPdu pdu{encode(write_command(1, 4096)), {}, Buffer::copy_of(out)};
  const std::byte* received = pdu.data.data();
  session->control_notify(std::move(pdu));
  EXPECT_EQ(place, received);
  session->turn_ended();
  EXPECT_TRUE(handler.data[1] == out);
  EXPECT_TRUE(datamover.gets.empty());
  EXPECT_EQ(datamover.take<ScsiResponse>().status, 0);
  EXPECT_EQ(session->counters().bytes_written, 4096u);
}

TEST_F(TargetWrite, WritesOneAfterTheOtherUseTheSameVectors) {
  std::set<const Buffer*> vectors;
  DataPieces kept;
  handler.on_data = [&](TargetTask& task, DataPieces& pieces) {
    vectors.insert(pieces.data());
    kept.clear();
    kept.swap(pieces);
    task.finish(0, {}, 4096);
  };
  for (std::uint32_t i = 0; i < 100; ++i) {
    datamover.deliver(write_command(i, 4096), random_bytes(4096, i));
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_TRUE(std::ranges::equal(kept[0].bytes(), random_bytes(4096, i)));
  }
  EXPECT_LE(vectors.size(), 3u) << "the session's, the task's and the handler's";
}

// ImmediateData x InitialR2T x lengths around FirstBurstLength and MaxBurstLength. The initiator
// does what it may, in Data-Outs of 4096 bytes.
TEST_F(TargetWrite, BurstMatrix) {
  for (const bool immediate_data : {false, true}) {
    for (const bool initial_r2t : {false, true}) {
      parameters.immediate_data = immediate_data;
      parameters.initial_r2t = initial_r2t;
      restart();
      std::uint32_t tag = 0;
      for (const std::uint32_t length :
           {1u, 4095u, 4096u, 4097u, 16383u, 16384u, 16385u, 65536u, 81920u, 81921u, 1048576u}) {
        const auto out = random_bytes(length, ++tag);
        const std::uint32_t burst = std::min(length, parameters.first_burst_length);
        const std::uint32_t immediate = immediate_data ? std::min(burst, 4096u) : 0;
        const std::uint32_t unsolicited = initial_r2t ? immediate : burst;
        datamover.deliver(write_command(tag, length, immediate == unsolicited),
                          Bytes(out).first(immediate));
        send_data_outs(tag, out, immediate, unsolicited, 4096);
        std::uint32_t r2ts = 0;
        while (!datamover.gets.empty()) {
          EXPECT_LE(datamover.gets.size(), parameters.max_outstanding_r2t);
          ++r2ts;
          datamover.complete_get(out);
        }
        EXPECT_EQ(r2ts, (length - unsolicited + 65535) / 65536) << length;
        EXPECT_TRUE(handler.data[tag] == out) << length;
        const auto response = datamover.take<ScsiResponse>();
        EXPECT_EQ(response.status, 0) << length;
        EXPECT_FALSE(response.underflow || response.overflow);
      }
    }
  }
}

TEST_F(TargetWrite, R2tsAskUpToMaxBurstInOrder) {
  const auto out = random_bytes(200000);
  datamover.deliver(write_command(1, 200000));
  ASSERT_EQ(datamover.gets.size(), 2u);
  EXPECT_EQ(datamover.gets[0].pdu.buffer_offset, 0u);
  EXPECT_EQ(datamover.gets[0].pdu.desired_data_transfer_length, 65536u);
  EXPECT_EQ(datamover.gets[0].pdu.lun, lun_of(3));
  EXPECT_EQ(datamover.gets[1].pdu.buffer_offset, 65536u);
  EXPECT_NE(datamover.gets[0].pdu.target_transfer_tag, datamover.gets[1].pdu.target_transfer_tag);
  // Done in another order: data still comes in order.
  std::swap(datamover.gets[0], datamover.gets[1]);
  datamover.complete_get(out);
  datamover.complete_get(out);
  complete_gets(out);
  EXPECT_TRUE(handler.data[1] == out);
  EXPECT_EQ(datamover.take<ScsiResponse>().exp_data_sn, 0u);
}

TEST_F(TargetWrite, OneOutstandingR2tMeansOne) {
  parameters.max_outstanding_r2t = 1;
  restart();
  const auto out = random_bytes(200000);
  datamover.deliver(write_command(1, 200000));
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(datamover.gets.size(), 1u);
    datamover.complete_get(out);
  }
  EXPECT_TRUE(handler.data[1] == out);
}

TEST_F(TargetWrite, FetchesOnlyWhatTheHandlerWants) {
  want = 70000;
  const auto out = random_bytes(100000);
  datamover.deliver(write_command(1, 100000), Bytes(out).first(1000));
  complete_gets(out);
  EXPECT_EQ(handler.data[1].size(), 70000u);
  EXPECT_TRUE(std::equal(handler.data[1].begin(), handler.data[1].end(), out.begin()));
  const auto response = datamover.take<ScsiResponse>();
  EXPECT_TRUE(response.underflow);
  EXPECT_EQ(response.residual_count, 30000u);
}

TEST_F(TargetWrite, UnsolicitedDataBeyondWhatIsWantedIsDropped) {
  for (const std::uint32_t wanted : {0u, 1u, 4095u, 4096u, 4097u, 16383u, 16384u}) {
    want = wanted;
    handler.data.clear();
    const auto out = random_bytes(16384);
    datamover.deliver(write_command(1, 16384, false), Bytes(out).first(4096));
    send_data_outs(1, out, 4096, 16384, 4096);
    EXPECT_TRUE(datamover.gets.empty());
    ASSERT_EQ(handler.data.count(1), 1u);
    EXPECT_TRUE(std::ranges::equal(handler.data[1], Bytes(out).first(wanted)));
    EXPECT_EQ(datamover.take<ScsiResponse>().residual_count, 16384 - wanted);
  }
}

TEST_F(TargetWrite, WantsMoreThanExpectedGetsWhatIsExpected) {
  want = 5000;
  const auto out = random_bytes(1000);
  datamover.deliver(write_command(1, 1000));
  complete_gets(out);
  EXPECT_TRUE(handler.data[1] == out);
  datamover.take<ScsiResponse>();
}

TEST_F(TargetWrite, NothingExpectedIsReceivedAtOnce) {
  datamover.deliver(write_command(1, 0));
  EXPECT_EQ(handler.data.count(1), 1u);
  EXPECT_EQ(datamover.take<ScsiResponse>().status, 0);
}

TEST_F(TargetWrite, DataIsHandedOverAfterExecuteHasReturned) {
  bool inside = false;
  handler.on_execute = [&](TargetTask& task) {
    inside = true;
    task.receive_data(10);
    inside = false;
  };
  handler.on_data = [&](TargetTask& task, const DataPieces&) {
    EXPECT_FALSE(inside);
    task.finish(0, {}, 10);
  };
  datamover.deliver(write_command(1, 10), random_bytes(10));
  EXPECT_EQ(datamover.sent.size(), 1u);
}

TEST_F(TargetWrite, HandlerMayAskForDataLater) {
  handler.on_execute = nullptr;
  const auto out = random_bytes(30000);
  datamover.deliver(write_command(1, 30000, false), Bytes(out).first(4096));
  send_data_outs(1, out, 4096, 16384, 8192);
  EXPECT_TRUE(datamover.gets.empty());
  handler.executed[0]->receive_data(30000);
  EXPECT_EQ(datamover.gets.size(), 1u);
  EXPECT_EQ(datamover.flushes, 1);
  complete_gets(out);
  EXPECT_TRUE(handler.data[1] == out);
}

TEST_F(TargetWrite, ResponseWaitsForTheLastUnsolicitedDataOut) {
  handler.on_execute = [](TargetTask& task) {
    task.finish(kStatusCheckCondition, random_bytes(18), 0);
  };
  const auto out = random_bytes(16384);
  datamover.deliver(write_command(1, 16384, false), Bytes(out).first(4096));
  EXPECT_TRUE(datamover.sent.empty());
  send_data_outs(1, out, 4096, 16384, 6144);
  EXPECT_EQ(datamover.take<ScsiResponse>().status, kStatusCheckCondition);
  EXPECT_TRUE(handler.aborted.empty());
}

TEST_F(TargetWrite, ResponseWaitsForR2tsUnderWay) {
  const auto out = random_bytes(200000);
  datamover.deliver(write_command(1, 200000));
  handler.executed[0]->finish(0x08, {}, 0);
  EXPECT_TRUE(datamover.sent.empty());
  datamover.complete_get(out);
  EXPECT_TRUE(datamover.sent.empty());
  datamover.complete_get(out);
  EXPECT_TRUE(datamover.gets.empty());
  EXPECT_EQ(datamover.take<ScsiResponse>().status, 0x08);
  EXPECT_EQ(handler.data.count(1), 0u);
}

TEST_F(TargetWrite, EmptyDataOutsAreTaken) {
  const auto out = random_bytes(100);
  datamover.deliver(write_command(1, 100, false));
  datamover.deliver(data_out(1, 0, 0, false));
  datamover.deliver(data_out(1, 1, 0, false), out);
  datamover.deliver(data_out(1, 2, 100, true));
  EXPECT_TRUE(handler.data[1] == out);
}

// --- faults of the initiator ---

TEST_F(TargetWrite, ImmediateDataThatWasNotAllowed) {
  parameters.immediate_data = false;
  restart();
  datamover.deliver(write_command(1, 4096), random_bytes(4096));
  expect_check_condition(kUnexpectedData);
  EXPECT_TRUE(handler.executed.empty());
  EXPECT_TRUE(datamover.deallocated.empty());
}

TEST_F(TargetWrite, FaultyImmediateDataIsAnsweredAfterTheLastDataOut) {
  parameters.immediate_data = false;
  restart();
  const auto out = random_bytes(8192);
  datamover.deliver(write_command(1, 8192, false), Bytes(out).first(4096));
  EXPECT_TRUE(datamover.sent.empty());
  datamover.deliver(data_out(1, 0, 4096, true), Bytes(out).subspan(4096));
  expect_check_condition(kUnexpectedData);
}

TEST_F(TargetWrite, DataWithACommandThatWritesNothing) {
  datamover.deliver(read_command(1, 4096), random_bytes(10));
  expect_check_condition(kIncorrectAmount);
  EXPECT_TRUE(handler.executed.empty());
}

TEST_F(TargetWrite, ImmediateDataBeyondFirstBurstOrExpectedLength) {
  datamover.deliver(write_command(1, 100000), random_bytes(16385));
  expect_check_condition(kIncorrectAmount);
  datamover.deliver(write_command(2, 100), random_bytes(101));
  expect_check_condition(kIncorrectAmount);
}

TEST_F(TargetWrite, UnsolicitedSumBeyondFirstBurst) {
  const auto out = random_bytes(100000);
  datamover.deliver(write_command(1, 100000, false), Bytes(out).first(4096));
  datamover.deliver(data_out(1, 0, 4096, false), Bytes(out).subspan(4096, 12289));
  EXPECT_EQ(handler.aborted.size(), 1u);
  EXPECT_TRUE(datamover.sent.empty()) << "F is still to come";
  datamover.deliver(data_out(1, 1, 16385, true), Bytes(out).subspan(16385, 100));
  expect_check_condition(kIncorrectAmount);
  EXPECT_TRUE(datamover.deallocated.empty()) << "it ended with a response";
}

TEST_F(TargetWrite, UnsolicitedSumBeyondExpectedLength) {
  datamover.deliver(write_command(1, 5000, false), random_bytes(4096));
  datamover.deliver(data_out(1, 0, 4096, true), random_bytes(905));
  expect_check_condition(kIncorrectAmount);
}

// RFC 7143 section 11.4.7.2
TEST_F(TargetWrite, UnsolicitedSumBelowFirstBurst) {
  datamover.deliver(write_command(1, 100000, false), random_bytes(4096));
  datamover.deliver(data_out(1, 0, 4096, true), random_bytes(12287));
  expect_check_condition(kIncorrectAmount);
}

TEST_F(TargetWrite, DataOutsInR2tMode) {
  parameters.initial_r2t = true;
  restart();
  datamover.deliver(write_command(1, 8192, false), random_bytes(4096));
  datamover.deliver(data_out(1, 0, 4096, true), random_bytes(4096));
  EXPECT_EQ(handler.aborted.size(), 1u);
  EXPECT_TRUE(datamover.sent.empty()) << "an R2T is under way";
  datamover.complete_get(random_bytes(8192));
  expect_check_condition(kUnexpectedData);
}

TEST_F(TargetWrite, DataOutAfterTheLast) {
  handler.on_execute = nullptr;
  datamover.deliver(write_command(1, 8192), random_bytes(4096));
  datamover.deliver(data_out(1, 0, 4096, true), random_bytes(100));
  expect_check_condition(kUnexpectedData);
}

TEST_F(TargetWrite, DataSnOutOfOrder) {
  for (const std::uint32_t sn : {1u, UINT32_MAX}) {
    datamover.deliver(write_command(1, 8192, false), random_bytes(4096));
    datamover.deliver(data_out(1, sn, 4096, true), random_bytes(4096));
    expect_check_condition(kCrcError);
  }
}

TEST_F(TargetWrite, BufferOffsetOutOfOrder) {
  for (const std::uint32_t offset : {0u, 4095u, 4097u, UINT32_MAX}) {
    datamover.deliver(write_command(1, 8192, false), random_bytes(4096));
    datamover.deliver(data_out(1, 0, offset, true), random_bytes(4096));
    expect_check_condition(kIncorrectAmount);
  }
}

TEST_F(TargetWrite, HandlerThatReleasesLateDelaysTheCheckCondition) {
  handler.on_abort = nullptr;
  datamover.deliver(write_command(1, 8192, false), random_bytes(4096));
  datamover.deliver(data_out(1, 7, 4096, true), random_bytes(4096));
  EXPECT_TRUE(datamover.sent.empty());
  TargetTask& task = *handler.executed[0];
  task.send_data(Buffer::copy_of(random_bytes(10)), 0);
  task.receive_data(10);
  task.finish(0, {}, 0);
  EXPECT_TRUE(datamover.sent.empty());
  task.release();
  expect_check_condition(kCrcError);
}

TEST_F(TargetWrite, SecondFaultChangesNothing) {
  handler.on_abort = nullptr;
  datamover.deliver(write_command(1, 8192, false), random_bytes(4096));
  datamover.deliver(data_out(1, 7, 4096, true), random_bytes(4096));
  datamover.deliver(data_out(1, 8, 4096, true), random_bytes(4096));
  EXPECT_EQ(handler.aborted.size(), 1u);
  handler.executed[0]->release();
  expect_check_condition(kCrcError);
}

TEST_F(TargetWrite, DataOutForAnUnknownTaskIsRejected) {
  const DataOut pdu = data_out(99, 0, 0, true);
  datamover.deliver(pdu, random_bytes(10));
  expect_reject(RejectReason::invalid_pdu_field, encode(pdu));
}

TEST_F(TargetWrite, DataOutWithAnUnknownTransferTagIsRejected) {
  datamover.deliver(write_command(1, 100000));
  DataOut pdu = data_out(1, 0, 0, true);
  pdu.target_transfer_tag = 0x55;
  datamover.deliver(pdu, random_bytes(10));
  expect_reject(RejectReason::invalid_pdu_field, encode(pdu));
  EXPECT_TRUE(handler.aborted.empty());
}

// --- memory ---

TEST_F(TargetWrite, ManyWritesShareLittleMemory) {
  limits.command_window = 128;
  limits.buffer_bytes = std::size_t{3} << 20;
  restart();
  std::vector<std::vector<std::byte>> outs;
  for (std::uint32_t i = 0; i < 128; ++i) {
    outs.push_back(random_bytes(1 << 20, i));
    datamover.deliver(write_command(i, 1 << 20), Bytes(outs[i]).first(8192));
  }
  std::size_t rounds = 0;
  while (!datamover.gets.empty() && ++rounds < 10000)
    datamover.complete_get(outs[datamover.gets.front().pdu.initiator_task_tag]);
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_TRUE(handler.data[i] == outs[i]);
  EXPECT_EQ(datamover.sent.size(), 128u);
  EXPECT_EQ(session->counters().tasks, 0u);
}

TEST_F(TargetWrite, NoMoreIsFetchedThanAWindowAtATime) {
  limits.transfer_window = 100000;
  restart();
  const auto out = random_bytes(60000);
  for (std::uint32_t i = 0; i < 5; ++i) datamover.deliver(write_command(i, 60000));
  EXPECT_EQ(datamover.gets.size(), 2u) << "one leaves the window open, two do not";
  datamover.complete_get(out);
  EXPECT_EQ(datamover.gets.size(), 2u);
  complete_gets(out);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_TRUE(handler.data[i] == out);
  EXPECT_EQ(datamover.sent.size(), 5u);
}

TEST_F(TargetWrite, OneLargerThanTheWindowIsFetchedWhole) {
  limits.transfer_window = 1000;
  restart();
  const auto out = random_bytes(1 << 20);
  datamover.deliver(write_command(1, 1 << 20));
  datamover.deliver(write_command(2, 4096));
  complete_gets(out);
  EXPECT_TRUE(handler.data[1] == out);
  EXPECT_TRUE(handler.data[2] == std::vector(out.begin(), out.begin() + 4096));
}

TEST_F(TargetWrite, WhatIsAbortedLeavesTheWindow) {
  limits.transfer_window = 1000;
  restart();
  const auto out = random_bytes(60000);
  for (std::uint32_t i = 1; i <= 3; ++i) datamover.deliver(write_command(i, 60000));
  ASSERT_EQ(datamover.gets.size(), 1u);
  for (const std::uint32_t tag : {1u, 2u}) {
    datamover.deliver(manage(TaskManagementFunction::abort_task, 50 + tag, tag));
    datamover.return_aborted();
    datamover.take<TaskManagementResponse>();
  }
  complete_gets(out);
  EXPECT_TRUE(handler.data[3] == out);
  EXPECT_EQ(session->counters().tasks, 0u);
}

TEST_F(TargetWrite, WriteThatNeverFitsIsRefused) {
  limits.buffer_bytes = std::size_t{1} << 20;
  restart();
  datamover.deliver(write_command(1, UINT32_MAX));
  expect_check_condition(kInsufficientResources);
  datamover.deliver(write_command(2, 1 << 20));
  EXPECT_FALSE(datamover.gets.empty());
}

TEST_F(TargetWrite, AbortedWriteDoesNotHoldUpTheQueueForMemory) {
  limits.buffer_bytes = std::size_t{1} << 20;
  restart();
  const auto out = random_bytes(1 << 20);
  for (std::uint32_t i = 1; i <= 3; ++i) datamover.deliver(write_command(i, 1 << 20));
  datamover.deliver(manage(TaskManagementFunction::abort_task, 50, 2));
  datamover.take<TaskManagementResponse>();
  complete_gets(out);
  EXPECT_TRUE(handler.data[1] == out);
  EXPECT_TRUE(handler.data[3] == out);
  EXPECT_EQ(handler.data.count(2), 0u);
}

TEST_F(TargetWrite, AbortedWriteDoesNotLeaveItsPlaceInTheQueueToAnother) {
  limits.buffer_bytes = std::size_t{1} << 20;
  restart();
  const auto out = random_bytes(1 << 20);
  for (std::uint32_t i = 1; i <= 4; ++i) datamover.deliver(write_command(i, 1 << 20));
  datamover.deliver(manage(TaskManagementFunction::abort_task, 50, 3));
  datamover.deliver(write_command(5, 1 << 20));
  EXPECT_EQ(handler.executed[4], handler.executed[2]) << "in the object of task 3";
  std::vector<std::uint32_t> order;
  while (!datamover.gets.empty()) {
    const std::uint32_t tag = datamover.gets.front().pdu.initiator_task_tag;
    if (order.empty() || order.back() != tag) order.push_back(tag);
    datamover.complete_get(out);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 2, 4, 5}));
}

}  // namespace
}  // namespace openiser::test
