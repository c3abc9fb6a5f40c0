// SCSI commands of the initiator: window, unsolicited data, responses, aborts.
#include "iscsi/pdu/ahs.h"
#include "iscsi/session/command_credit.h"
#include "iscsi/session/command_table.h"
#include "tests/support/initiator_fixture.h"

namespace openiser::test {
namespace {

class InitiatorCommand : public InitiatorFixture {
 protected:
  InitiatorCommand() { start(); }
  ScsiCommand take_command() { return datamover.take<ScsiCommand>(); }
  void restart() {
    session.reset();
    datamover.sent.clear();
    start();
  }
};

TEST_F(InitiatorCommand, SendsAReadAndTakesItsAnswer) {
  TestTask task;
  std::vector<std::byte> in(4096);
  task.data_in = in;
  task.lun = lun_of(5);
  task.attribute = TaskAttribute::head_of_queue;
  task.cdb[0] = std::byte{0x28};
  session->submit(task);
  EXPECT_EQ(datamover.flushes, 0);
  session->flush();
  EXPECT_EQ(datamover.flushes, 1);
  const auto pdu = take_command();
  EXPECT_TRUE(pdu.read);
  EXPECT_FALSE(pdu.write);
  EXPECT_TRUE(pdu.final);
  EXPECT_EQ(pdu.lun, lun_of(5));
  EXPECT_EQ(pdu.attribute, TaskAttribute::head_of_queue);
  EXPECT_EQ(pdu.cdb, task.cdb);
  EXPECT_EQ(pdu.expected_data_transfer_length, 4096u);
  EXPECT_EQ(pdu.initiator_task_tag, task.initiator_task_tag);
  ASSERT_TRUE(datamover.last.memory);
  EXPECT_EQ(datamover.last.memory->in.data(), in.data());
  EXPECT_TRUE(datamover.last.memory->out.empty());
  EXPECT_EQ(task.times_done, 0);
  answer(pdu.initiator_task_tag);
  EXPECT_EQ(task.times_done, 1);
  EXPECT_FALSE(task.error);
  EXPECT_EQ(task.status, 0);
}

TEST_F(InitiatorCommand, CommandWithoutDataHasNoMemory) {
  TestTask task;
  session->submit(task);
  const auto pdu = take_command();
  EXPECT_FALSE(pdu.read || pdu.write);
  EXPECT_FALSE(datamover.last.memory);
  answer(pdu.initiator_task_tag);
}

TEST_F(InitiatorCommand, BidirectionalCommandBringsItsReadLength) {
  TestTask task;
  const auto out = random_bytes(100);
  std::vector<std::byte> in(300);
  task.data_out = out;
  task.data_in = in;
  session->submit(task);
  const auto pdu = take_command();
  EXPECT_TRUE(pdu.read && pdu.write);
  EXPECT_EQ(pdu.expected_data_transfer_length, 100u);
  const auto ahs = parse_command_ahs(datamover.last.ahs);
  ASSERT_TRUE(ahs);
  EXPECT_EQ(ahs->bidirectional_read_length, 300u);
  answer(pdu.initiator_task_tag);
}

// ImmediateData x InitialR2T x lengths around the limits; the monitor checks every PDU.
TEST_F(InitiatorCommand, BurstMatrix) {
  for (const std::uint32_t segment : {1024u, 8192u}) {
    for (const bool immediate : {false, true}) {
      for (const bool initial_r2t : {false, true}) {
        datamover.max_segment = segment;
        parameters.max_send_data_segment_length = segment;
        parameters.first_burst_length = 4096;
        parameters.immediate_data = immediate;
        parameters.initial_r2t = initial_r2t;
        restart();
        for (const std::uint32_t length :
             {1u, 1023u, 1024u, 1025u, 4095u, 4096u, 4097u, 8192u, 100000u}) {
          const auto out = random_bytes(length);
          TestTask task;
          task.data_out = out;
          session->submit(task);
          const std::uint32_t burst = std::min(length, 4096u);
          const std::uint32_t expect_immediate = immediate ? std::min(burst, segment) : 0;
          const std::uint32_t expect_unsolicited = initial_r2t ? expect_immediate : burst;
          const auto pdu = take_command();
          auto sent = datamover.last.data;
          EXPECT_EQ(sent.size(), expect_immediate);
          EXPECT_EQ(pdu.final, expect_immediate == expect_unsolicited);
          ASSERT_TRUE(datamover.last.memory);
          EXPECT_EQ(datamover.last.memory->immediate_size, expect_immediate);
          EXPECT_EQ(datamover.last.memory->unsolicited_size, expect_unsolicited);
          bool final = pdu.final;
          while (!datamover.sent.empty()) {
            EXPECT_FALSE(final);
            final = datamover.take<DataOut>().final;
            sent.insert(sent.end(), datamover.last.data.begin(), datamover.last.data.end());
          }
          EXPECT_TRUE(final);
          ASSERT_EQ(sent.size(), expect_unsolicited);
          EXPECT_TRUE(std::equal(sent.begin(), sent.end(), out.begin()));
          answer(pdu.initiator_task_tag);
          EXPECT_EQ(task.times_done, 1);
        }
      }
    }
  }
}

// Over iSER the target reads the rest of a long write, and may have all of it but the immediate
// data.
TEST_F(InitiatorCommand, OverIserALongWriteHasNoDataOuts) {
  parameters.rdma_extensions = true;
  parameters.first_burst_length = 4096;
  parameters.immediate_data = true;
  parameters.initial_r2t = false;
  datamover.max_segment = parameters.max_send_data_segment_length = 1024;
  restart();
  for (const std::uint32_t length : {4096u, 4097u}) {
    const auto out = random_bytes(length);
    TestTask task;
    task.data_out = out;
    session->submit(task);
    const auto pdu = take_command();
    EXPECT_EQ(datamover.last.memory->immediate_size, 1024u);
    EXPECT_EQ(datamover.last.memory->unsolicited_size, length == 4096 ? 4096u : 1024u);
    EXPECT_EQ(pdu.final, length != 4096);
    EXPECT_EQ(datamover.sent.size(), length == 4096 ? 3u : 0u);
    while (!datamover.sent.empty()) datamover.take<DataOut>();
    answer(pdu.initiator_task_tag);
  }
}

TEST_F(InitiatorCommand, NeverSendsBeyondTheWindow) {
  for (const std::uint32_t places : {0u, 1u, 2u, 4u}) {
    parameters.max_cmd_sn = parameters.next_cmd_sn + places - 1;
    restart();
    std::vector<TestTask> tasks(10);
    for (TestTask& task : tasks) session->submit(task);
    EXPECT_EQ(datamover.sent.size(), places);
    if (places == 0) {
      max_cmd_sn = parameters.next_cmd_sn;
      NopIn grant;
      grant.stat_sn = stat_sn;
      grant.exp_cmd_sn = exp_cmd_sn;
      grant.max_cmd_sn = max_cmd_sn;
      monitor->granted(max_cmd_sn);
      datamover.deliver(grant);
      EXPECT_EQ(datamover.sent.size(), 1u);
    }
    for (int left = 10; left > 0; --left) {
      ASSERT_FALSE(datamover.sent.empty());
      answer(take_command().initiator_task_tag);
    }
    for (const TestTask& task : tasks) EXPECT_EQ(task.times_done, 1);
  }
}

TEST_F(InitiatorCommand, WindowOfADataInCounts) {
  parameters.max_cmd_sn = parameters.next_cmd_sn - 1;
  restart();
  TestTask task;
  session->submit(task);
  EXPECT_TRUE(datamover.sent.empty());
  monitor->granted(parameters.next_cmd_sn);
  session->window_notify(parameters.next_cmd_sn, parameters.next_cmd_sn);
  EXPECT_EQ(datamover.sent.size(), 1u);
  session->turn_ended();
  EXPECT_EQ(datamover.flushes, 1);
  answer(take_command().initiator_task_tag);
}

TEST(CommandCredit, IgnoresStaleAndImpossibleWindows) {
  CommandCredit credit(0xfffffffe, 0xffffffff);
  credit.update(0xfffffff0, 0xfffffff8);  // stale
  EXPECT_TRUE(credit.is_open());
  credit.take();
  credit.take();
  EXPECT_FALSE(credit.is_open());
  credit.update(9, 7);  // MaxCmdSN < ExpCmdSN - 1
  EXPECT_FALSE(credit.is_open());
  credit.update(0, 0);
  EXPECT_TRUE(credit.is_open());
  EXPECT_EQ(credit.cmd_sn(), 0u);
}

TEST(CommandTable, TagsAreNeverReusedAtOnceNorReserved) {
  CommandTable table;
  TestTask task;
  const std::uint32_t first = table.open(task, 1).tag;
  ASSERT_NE(table.find(first), nullptr);
  table.close(*table.find(first));
  EXPECT_EQ(table.find(first), nullptr);
  const std::uint32_t second = table.open(task, 2).tag;
  EXPECT_NE(first, second);
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_EQ(table.find(kReservedTag), nullptr);
  for (int i = 0; i < 0x20000; ++i) {
    const std::uint32_t tag = table.open(task, 0).tag;
    ASSERT_NE(tag, kReservedTag);
    table.close(*table.find(tag));
  }
  EXPECT_EQ(table.size(), 1u);
}

TEST(CommandTable, IsFullBeforeATagCouldBeForeign) {
  CommandTable table;
  TestTask task;
  std::uint32_t last = 0;
  while (!table.is_full()) last = table.open(task, 0).tag;
  EXPECT_EQ(table.size(), CommandTable::kForeignSlot);
  EXPECT_LT(last & 0xffff, CommandTable::kForeignSlot);
}

TEST_F(InitiatorCommand, SenseAndResiduals) {
  TestTask task;
  std::vector<std::byte> in(512);
  task.data_in = in;
  session->submit(task);
  const auto sense_data = random_bytes(18);
  const Buffer segment = sense_segment(sense_data);
  ScsiResponse response;
  response.initiator_task_tag = take_command().initiator_task_tag;
  response.status = kStatusCheckCondition;
  response.underflow = true;
  response.residual_count = 500;
  datamover.deliver(numbered(response), segment.bytes());
  EXPECT_FALSE(task.error);
  EXPECT_EQ(task.status, kStatusCheckCondition);
  EXPECT_EQ(task.sense, sense_data);
  EXPECT_EQ(task.residual, -500);

  session->submit(task);
  response = {};
  response.initiator_task_tag = take_command().initiator_task_tag;
  response.overflow = true;
  response.residual_count = UINT32_MAX;
  datamover.deliver(numbered(response));
  EXPECT_EQ(task.residual, std::int64_t{UINT32_MAX});
  EXPECT_TRUE(task.sense.empty());
}

TEST_F(InitiatorCommand, SenseLengthBeyondTheSegmentIsNoSense) {
  TestTask task;
  session->submit(task);
  auto segment = random_bytes(10);
  store_be16(segment.data(), 9);
  answer(take_command().initiator_task_tag, kStatusCheckCondition, segment);
  EXPECT_TRUE(task.sense.empty());
  EXPECT_EQ(task.status, kStatusCheckCondition);
}

TEST_F(InitiatorCommand, TargetFailureIsAnError) {
  TestTask task;
  session->submit(task);
  ScsiResponse response;
  response.initiator_task_tag = take_command().initiator_task_tag;
  response.response = 1;
  datamover.deliver(numbered(response));
  EXPECT_EQ(task.error, errc::target_failure);
}

TEST_F(InitiatorCommand, ResponseToAnUnknownTagEndsTheSession) {
  TestTask task;
  session->submit(task);
  answer(take_command().initiator_task_tag + 1);
  EXPECT_EQ(task.times_done, 0) << "its memory is still in use";
  expect_ended(errc::protocol_error);
  EXPECT_EQ(task.times_done, 1);
  EXPECT_EQ(task.error, errc::protocol_error);
}

TEST_F(InitiatorCommand, SecondResponseEndsTheSession) {
  TestTask task;
  session->submit(task);
  const auto tag = take_command().initiator_task_tag;
  answer(tag);
  answer(tag);
  expect_ended(errc::protocol_error);
  EXPECT_EQ(task.times_done, 1);
}

TEST_F(InitiatorCommand, DataTypePdusAreNotTheSessions) {
  DataIn pdu;
  datamover.deliver(pdu);
  expect_ended(errc::unexpected_pdu);
}

TEST_F(InitiatorCommand, TaskMayBeDestroyedAndSubmitAgainInDone) {
  auto first = std::make_unique<TestTask>();
  TestTask second;
  first->on_done = [&] {
    first.reset();
    session->submit(second);
  };
  session->submit(*first);
  answer(take_command().initiator_task_tag);
  EXPECT_EQ(first, nullptr);
  answer(take_command().initiator_task_tag);
  EXPECT_EQ(second.times_done, 1);
}

TEST_F(InitiatorCommand, FlushesOnceATurn) {
  std::vector<TestTask> tasks(3);
  TestTask next;
  tasks[0].on_done = [&] { session->submit(next); };
  for (TestTask& task : tasks) session->submit(task);
  answer(take_command().initiator_task_tag);
  EXPECT_EQ(datamover.flushes, 1);
}

TEST_F(InitiatorCommand, DataTooLongForTheWireIsRefused) {
  TestTask task;
  std::byte byte{};
  task.data_out = Bytes(&byte, std::size_t{UINT32_MAX} + 1);
  session->submit(task);
  EXPECT_EQ(task.error, errc::bad_field);
  EXPECT_TRUE(datamover.sent.empty());
}

// --- aborts ---

class InitiatorAbort : public InitiatorCommand {
 protected:
  InitiatorSession::Answer note() {
    return [this](ErrorCode error, TaskManagementAnswer a) {
      error_ = error;
      answer_ = a;
      ++answers_;
    };
  }
  ErrorCode error_;
  TaskManagementAnswer answer_{};
  int answers_ = 0;
};

TEST_F(InitiatorAbort, AbortsATaskUnderWay) {
  TestTask task;
  task.lun = lun_of(2);
  session->submit(task);
  const auto command = take_command();
  session->abort(task, note());
  EXPECT_EQ(datamover.flushes, 1);
  const auto request = datamover.take<TaskManagementRequest>();
  EXPECT_TRUE(request.immediate);
  EXPECT_EQ(request.function, static_cast<std::uint8_t>(TaskManagementFunction::abort_task));
  EXPECT_EQ(request.referenced_task_tag, command.initiator_task_tag);
  EXPECT_EQ(request.ref_cmd_sn, command.cmd_sn);
  EXPECT_EQ(request.lun, lun_of(2));
  EXPECT_EQ(task.times_done, 0);
  answer_management(request.initiator_task_tag, TaskManagementAnswer::complete);
  EXPECT_EQ(task.times_done, 1);
  EXPECT_EQ(task.error, errc::task_aborted);
  EXPECT_EQ(datamover.deallocated, std::vector<std::uint32_t>{command.initiator_task_tag});
  EXPECT_EQ(answers_, 1);
  EXPECT_EQ(answer_, TaskManagementAnswer::complete);
}

TEST_F(InitiatorAbort, ResponseThatCameFirstIsTheAnswer) {
  TestTask task;
  session->submit(task);
  const auto tag = take_command().initiator_task_tag;
  session->abort(task, note());
  const auto request = datamover.take<TaskManagementRequest>();
  answer(tag, 0x08);
  EXPECT_EQ(task.times_done, 1);
  EXPECT_FALSE(task.error);
  answer_management(request.initiator_task_tag, TaskManagementAnswer::no_task);
  EXPECT_EQ(task.times_done, 1);
  EXPECT_EQ(answers_, 1);
  EXPECT_TRUE(datamover.deallocated.empty());
}

TEST_F(InitiatorAbort, RefusedAbortLeavesTheTask) {
  TestTask task;
  session->submit(task);
  const auto tag = take_command().initiator_task_tag;
  session->abort(task, note());
  answer_management(datamover.take<TaskManagementRequest>().initiator_task_tag,
                    TaskManagementAnswer::not_supported);
  EXPECT_EQ(answers_, 1);
  EXPECT_EQ(task.times_done, 0);
  answer(tag);
  EXPECT_EQ(task.times_done, 1);
}

TEST_F(InitiatorAbort, TaskThatWaitsForTheWindowIsNeverSent) {
  parameters.max_cmd_sn = parameters.next_cmd_sn - 1;
  restart();
  TestTask task;
  session->submit(task);
  session->abort(task, note());
  EXPECT_EQ(task.error, errc::task_aborted);
  EXPECT_EQ(answer_, TaskManagementAnswer::complete);
  EXPECT_TRUE(datamover.sent.empty());
}

TEST_F(InitiatorAbort, TaskThatIsDoneDoesNotExist) {
  TestTask task;
  session->submit(task);
  answer(take_command().initiator_task_tag);
  session->abort(task, note());
  EXPECT_EQ(answer_, TaskManagementAnswer::no_task);
  EXPECT_TRUE(datamover.sent.empty());
}

TEST_F(InitiatorAbort, LunResetConcludesThatLunOnly) {
  TestTask a, b, later;
  a.lun = lun_of(1);
  b.lun = lun_of(2);
  later.lun = lun_of(1);
  session->submit(a);
  session->submit(b);
  take_command();
  const auto tag_b = take_command().initiator_task_tag;
  session->manage(TaskManagementFunction::logical_unit_reset, lun_of(1), note());
  session->submit(later);
  const auto request = datamover.take<TaskManagementRequest>();
  EXPECT_EQ(request.referenced_task_tag, kReservedTag);
  answer_management(request.initiator_task_tag, TaskManagementAnswer::complete);
  EXPECT_EQ(a.error, errc::task_aborted);
  EXPECT_EQ(a.times_done, 1);
  EXPECT_EQ(b.times_done, 0);
  EXPECT_EQ(later.times_done, 0);
  answer(tag_b);
  answer(take_command().initiator_task_tag);
  EXPECT_EQ(later.times_done, 1);
}

TEST_F(InitiatorAbort, ResetConcludesTasksOfItsLunInAnyForm) {
  TestTask flat;
  TestTask other;
  store_u8(flat.lun.data(), 0x40);
  store_u8(&flat.lun[1], 1);
  store_u8(other.lun.data(), 0x41);
  store_u8(&other.lun[1], 1);
  session->submit(flat);
  session->submit(other);
  take_command();
  const auto tag = take_command().initiator_task_tag;
  session->manage(TaskManagementFunction::logical_unit_reset, lun_of(1), note());
  answer_management(datamover.take<TaskManagementRequest>().initiator_task_tag,
                    TaskManagementAnswer::complete);
  EXPECT_EQ(flat.error, errc::task_aborted);
  EXPECT_EQ(other.times_done, 0) << "LUN 257";
  answer(tag);
  EXPECT_EQ(other.times_done, 1);
}

TEST_F(InitiatorAbort, FailedResetConcludesNothing) {
  TestTask task;
  session->submit(task);
  const auto tag = take_command().initiator_task_tag;
  session->manage(TaskManagementFunction::target_warm_reset, {}, note());
  answer_management(datamover.take<TaskManagementRequest>().initiator_task_tag,
                    TaskManagementAnswer::rejected);
  EXPECT_EQ(answer_, TaskManagementAnswer::rejected);
  answer(tag);
  EXPECT_EQ(task.times_done, 1);
}

TEST_F(InitiatorAbort, RejectedCommandIsPluggedThenDone) {
  TestTask task;
  session->submit(task);
  const auto command = take_command();
  reject(encode(command), RejectReason::invalid_pdu_field);
  const auto request = datamover.take<TaskManagementRequest>();
  EXPECT_EQ(request.ref_cmd_sn, command.cmd_sn);
  EXPECT_EQ(task.times_done, 0);
  answer_management(request.initiator_task_tag, TaskManagementAnswer::complete);
  EXPECT_EQ(task.error, errc::protocol_error);
  EXPECT_EQ(task.times_done, 1);
}

TEST_F(InitiatorAbort, RejectedAbortOfARejectedCommandEndsIt) {
  TestTask task;
  session->submit(task);
  reject(encode(take_command()), RejectReason::waiting_for_logout);
  reject(encode(datamover.take<TaskManagementRequest>()), RejectReason::immediate_command_reject);
  EXPECT_EQ(task.error, errc::not_logged_in);
  EXPECT_EQ(task.times_done, 1);
}

TEST_F(InitiatorAbort, RejectedCommandKeepsItsErrorWhenTheConnectionGoes) {
  TestTask task;
  session->submit(task);
  reject(encode(take_command()), RejectReason::invalid_pdu_field);
  datamover.drop();
  EXPECT_EQ(task.error, errc::protocol_error);
  EXPECT_EQ(task.times_done, 1);
}

TEST_F(InitiatorAbort, RejectedDataOutOnlyTells) {
  const auto out = random_bytes(16384);
  TestTask task;
  task.data_out = out;
  session->submit(task);
  const auto tag = take_command().initiator_task_tag;
  reject(encode(datamover.take<DataOut>()), RejectReason::protocol_error);
  EXPECT_EQ(task.times_done, 0);
  EXPECT_FALSE(datamover.terminated());
  answer(tag, kStatusCheckCondition);
  EXPECT_EQ(task.times_done, 1);
}

TEST_F(InitiatorAbort, ManagementAnswersEndWithTheSession) {
  TestTask task;
  session->submit(task);
  session->abort(task, note());
  datamover.drop();
  EXPECT_EQ(answers_, 1);
  EXPECT_EQ(error_, errc::connection_closed);
  EXPECT_EQ(task.times_done, 1);
  session->abort(task, note());
  EXPECT_EQ(answers_, 2);
  session->manage(TaskManagementFunction::logical_unit_reset, {}, note());
  EXPECT_EQ(error_, errc::not_logged_in);
}

}  // namespace
}  // namespace openiser::test
