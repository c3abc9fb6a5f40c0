// Task management at the target (RFC 7143 sections 4.2.3, 11.5 and 11.6).
#include "tests/support/bytes.h"
#include "tests/support/target_fixture.h"

namespace openiser::test {
namespace {

using Function = TaskManagementFunction;
using Answer = TaskManagementAnswer;

class TargetManagement : public TargetFixture {
 protected:
  TargetManagement() {
    handler.on_abort = nullptr;
    start();
  }
  void restart() {
    session.reset();
    handler = FakeHandler();
    handler.on_abort = nullptr;
    datamover.sent.clear();
    datamover.deallocated.clear();
    start();
  }
  TargetTask& open(std::uint32_t tag, std::uint8_t lun = 3) {
    ScsiCommand pdu = read_command(tag, 512);
    pdu.lun = lun_of(lun);
    datamover.deliver(pdu);
    return *handler.executed.back();
  }
  void expect_answer(Answer answer, std::uint32_t tag = 100) {
    const auto pdu = datamover.take<TaskManagementResponse>();
    EXPECT_EQ(pdu.response, answer);
    EXPECT_EQ(pdu.initiator_task_tag, tag);
  }
  std::vector<std::uint32_t> aborted_tags() const {
    std::vector<std::uint32_t> tags;
    for (const TargetTask* task : handler.aborted) tags.push_back(task->initiator_task_tag);
    return tags;
  }
};

// --- ABORT TASK ---

TEST_F(TargetManagement, AbortTaskAnswersAfterTheRelease) {
  TargetTask& task = open(1);
  datamover.deliver(manage(Function::abort_task, 100, 1));
  EXPECT_EQ(aborted_tags(), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(datamover.sent.empty());
  EXPECT_EQ(datamover.deallocated, std::vector<std::uint32_t>{1});
  task.send_data(Buffer::copy_of(random_bytes(512)), 0);
  task.finish(0, {}, 512);
  EXPECT_TRUE(datamover.sent.empty() && datamover.puts.empty());
  task.release();
  expect_answer(Answer::complete);
  EXPECT_TRUE(datamover.sent.empty()) << "an aborted task has no response";
  EXPECT_TRUE(handler.managed.empty());
  EXPECT_EQ(session->counters().aborted, 1u);
  EXPECT_EQ(session->counters().tasks, 0u);
}

TEST_F(TargetManagement, AbortTaskGivesThePlaceBack) {
  TargetTask& task = open(1);
  datamover.deliver(manage(Function::abort_task, 100, 1));
  task.release();
  EXPECT_EQ(datamover.take<TaskManagementResponse>().max_cmd_sn, parameters.max_cmd_sn + 1);
}

TEST_F(TargetManagement, AbortTaskWaitsForR2tsToComeBack) {
  handler.on_execute = [](TargetTask& task) { task.receive_data(200000); };
  handler.on_abort = [](TargetTask& task) { task.release(); };
  datamover.deliver(write_command(1, 200000));
  ASSERT_EQ(datamover.gets.size(), 2u);
  datamover.deliver(manage(Function::abort_task, 100, 1));
  EXPECT_TRUE(datamover.sent.empty());
  EXPECT_TRUE(datamover.gets.empty());
  datamover.return_aborted();
  expect_answer(Answer::complete);
}

TEST_F(TargetManagement, LateDataOutsOfAnAbortedTaskAreDropped) {
  handler.on_abort = [](TargetTask& task) { task.release(); };
  datamover.deliver(write_command(1, 16384, false), random_bytes(4096));
  datamover.deliver(manage(Function::abort_task, 100, 1));
  expect_answer(Answer::complete);
  datamover.deliver(data_out(1, 0, 4096, false), random_bytes(4096));
  DataOut solicited = data_out(1, 0, 4096, true);
  solicited.target_transfer_tag = 4;
  datamover.deliver(solicited, random_bytes(4096));
  EXPECT_TRUE(datamover.sent.empty());
  // Until the tag belongs to another task.
  datamover.deliver(read_command(1, 10));
  handler.executed.back()->finish(0, {}, 10);
  datamover.take<ScsiResponse>();
  datamover.deliver(data_out(1, 1, 8192, true), random_bytes(4096));
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::invalid_pdu_field);
}

TEST_F(TargetManagement, DataOutsOfATaskThatIsBeingAbortedAreDropped) {
  datamover.deliver(write_command(1, 16384, false), random_bytes(4096));
  datamover.deliver(manage(Function::abort_task, 100, 1));
  DataOut solicited = data_out(1, 0, 4096, false);
  solicited.target_transfer_tag = 4;
  datamover.deliver(solicited, random_bytes(4096));
  datamover.deliver(data_out(1, 0, 4096, false), random_bytes(4096));
  EXPECT_TRUE(datamover.sent.empty());
  EXPECT_EQ(handler.aborted.size(), 1u);
  handler.aborted[0]->release();
  expect_answer(Answer::complete);
}

TEST_F(TargetManagement, AbortOfATaskThatIsOver) {
  open(1).finish(0, {}, 512);
  datamover.take<ScsiResponse>();
  auto pdu = manage(Function::abort_task, 100, 1);
  pdu.ref_cmd_sn = parameters.next_cmd_sn;
  datamover.deliver(pdu);
  expect_answer(Answer::no_task);
}

TEST_F(TargetManagement, AbortOfATaskOnAnotherLun) {
  open(1, 4);
  auto pdu = manage(Function::abort_task, 100, 1);
  pdu.ref_cmd_sn = parameters.next_cmd_sn;
  datamover.deliver(pdu);
  expect_answer(Answer::no_task);
  EXPECT_TRUE(handler.aborted.empty());
}

// RFC 7143 section 11.6.1 b)
TEST_F(TargetManagement, AbortOfACommandThatHasNotComePlugsItsNumber) {
  const auto missing = command(1);
  const auto next = command(2);
  datamover.deliver(next);
  auto pdu = manage(Function::abort_task, 100, 1);
  pdu.ref_cmd_sn = missing.cmd_sn;
  datamover.deliver(pdu);
  expect_answer(Answer::complete);
  ASSERT_EQ(handler.executed.size(), 1u) << "what waited behind it goes on";
  EXPECT_EQ(handler.executed[0]->initiator_task_tag, 2u);
  datamover.deliver(missing);
  EXPECT_EQ(handler.executed.size(), 1u) << "the late command is ignored";
}

TEST_F(TargetManagement, AbortOfACommandBeyondTheRequestIsNoTask) {
  auto pdu = manage(Function::abort_task, 100, 1);
  pdu.ref_cmd_sn = pdu.cmd_sn;
  datamover.deliver(pdu);
  expect_answer(Answer::no_task);
  pdu.ref_cmd_sn = parameters.next_cmd_sn - 1;
  datamover.deliver(pdu);
  expect_answer(Answer::no_task);
}

TEST_F(TargetManagement, AbortOfTaskManagementIsRejected) {
  open(1);
  datamover.deliver(manage(Function::abort_task_set, 100));
  datamover.deliver(manage(Function::abort_task, 101, 100));
  expect_answer(Answer::rejected, 101);
  datamover.deliver(manage(Function::abort_task, 102, 102));
  expect_answer(Answer::rejected, 102);
}

TEST_F(TargetManagement, TwoFunctionsMayWaitForOneTask) {
  TargetTask& task = open(1);
  datamover.deliver(manage(Function::abort_task, 100, 1));
  datamover.deliver(manage(Function::logical_unit_reset, 101));
  EXPECT_EQ(handler.aborted.size(), 1u);
  EXPECT_TRUE(datamover.sent.empty());
  task.release();
  expect_answer(Answer::complete, 100);
  expect_answer(Answer::complete, 101);
}

// --- LUNs in different forms ---

TEST_F(TargetManagement, LunMayBeAddressedInAnyForm) {
  parameters.protocol_level = 2;
  const auto in_form = [](std::string_view digits) {
    Lun lun{};
    std::ranges::copy(hex(digits), lun.begin());
    return lun;
  };
  const Lun forms[] = {in_form("0003"), in_form("4003"), in_form("d2000003")};
  struct Row {
    Function function;
    std::vector<std::uint32_t> aborts;
    Answer answer;
  };
  const Row rows[] = {{Function::abort_task, {1}, Answer::complete},
                      {Function::abort_task_set, {1}, Answer::complete},
                      {Function::clear_task_set, {1}, Answer::complete},
                      {Function::logical_unit_reset, {1}, Answer::complete},
                      {Function::query_task, {}, Answer::function_succeeded},
                      {Function::query_task_set, {}, Answer::function_succeeded}};
  for (const Row& row : rows) {
    for (const Lun& sent : forms) {
      for (const Lun& asked : forms) {
        restart();
        ScsiCommand pdu = read_command(1, 512);
        pdu.lun = sent;
        datamover.deliver(pdu);
        open(2, 4);
        auto request = manage(row.function, 100, 1);
        if (row.function != Function::abort_task && row.function != Function::query_task)
          request.referenced_task_tag = kReservedTag;
        request.lun = asked;
        datamover.deliver(request);
        EXPECT_EQ(aborted_tags(), row.aborts);
        const auto aborted = handler.aborted;
        for (TargetTask* task : aborted) task->release();
        expect_answer(row.answer);
      }
    }
  }
}

// --- functions that cover many tasks ---

TEST_F(TargetManagement, ScopeMatrix) {
  struct Row {
    Function function;
    std::vector<std::uint32_t> covered;
    bool session_ends;
  };
  const Row rows[] = {
      {Function::abort_task_set, {1, 3}, false},
      {Function::clear_task_set, {1, 3}, false},
      {Function::logical_unit_reset, {1, 3}, false},
      {Function::target_warm_reset, {1, 2, 3}, false},
      {Function::target_cold_reset, {1, 2, 3}, true},
      {Function::i_t_nexus_reset, {1, 2, 3}, true},
  };
  for (const Row& row : rows) {
    parameters.protocol_level = 2;
    datamover = FakeDatamover();
    restart();
    open(1, 3);
    open(2, 4);
    open(3, 3);
    datamover.deliver(manage(row.function, 100));
    EXPECT_EQ(aborted_tags(), row.covered);
    EXPECT_EQ(handler.managed, std::vector<Function>{row.function});
    const auto aborted = handler.aborted;
    for (TargetTask* task : aborted) {
      EXPECT_TRUE(datamover.sent.empty()) << "not before the last release";
      task->release();
    }
    expect_answer(Answer::complete);
    EXPECT_EQ(datamover.deallocated, row.covered);
    EXPECT_EQ(datamover.terminated(), row.session_ends);
  }
}

TEST_F(TargetManagement, AnswerIsTheScsiLayers) {
  for (const Answer answer : {Answer::no_lun, Answer::authorization_failed, Answer::rejected}) {
    handler.on_manage = [&](Function, const auto& done) { done(answer); };
    datamover.deliver(manage(Function::logical_unit_reset, 100));
    expect_answer(answer);
  }
}

TEST_F(TargetManagement, WaitsForTheScsiLayerToo) {
  std::function<void(Answer)> done;
  handler.on_manage = [&](Function, auto d) { done = std::move(d); };
  datamover.deliver(manage(Function::logical_unit_reset, 100));
  EXPECT_TRUE(datamover.sent.empty());
  const int flushes = datamover.flushes;
  done(Answer::complete);
  expect_answer(Answer::complete);
  EXPECT_EQ(datamover.flushes, flushes + 1);
}

TEST_F(TargetManagement, LateAnswerOfTheScsiLayerFindsNobody) {
  std::function<void(Answer)> done;
  handler.on_manage = [&](Function, auto d) { done = std::move(d); };
  datamover.deliver(manage(Function::logical_unit_reset, 100));
  datamover.drop();
  EXPECT_EQ(host.ended.size(), 1u);
  done(Answer::complete);
  session.reset();
  done(Answer::complete);
}

TEST_F(TargetManagement, CommandsBehindTheRequestAreNotCovered) {
  TargetTask& before = open(1);
  const auto request = manage(Function::abort_task_set, 100);
  TargetTask& after = open(2);
  datamover.deliver(request);
  EXPECT_EQ(aborted_tags(), std::vector<std::uint32_t>{1});
  before.release();
  expect_answer(Answer::complete);
  after.finish(0, {}, 512);
  EXPECT_EQ(datamover.take<ScsiResponse>().initiator_task_tag, 2u);
}

// RFC 7143 section 4.2.3.3 b)
TEST_F(TargetManagement, SetFunctionsWaitForTheCommandsBeforeThem) {
  for (const Function function :
       {Function::abort_task_set, Function::clear_task_set, Function::logical_unit_reset}) {
    restart();
    const auto missing = command(1);
    datamover.deliver(manage(function, 100));
    EXPECT_TRUE(datamover.sent.empty());
    EXPECT_TRUE(handler.managed.empty());
    datamover.deliver(missing);
    EXPECT_EQ(aborted_tags(), std::vector<std::uint32_t>{1});
    handler.executed[0]->release();
    expect_answer(Answer::complete);
  }
}

TEST_F(TargetManagement, TargetResetPlugsWhatIsMissing) {
  const auto missing = command(1);
  const auto held = command(2);
  datamover.deliver(held);
  datamover.deliver(manage(Function::target_warm_reset, 100));
  const auto pdu = datamover.take<TaskManagementResponse>();
  EXPECT_EQ(pdu.exp_cmd_sn, cmd_sn);
  EXPECT_EQ(pdu.max_cmd_sn, parameters.max_cmd_sn + 2);
  datamover.deliver(missing);
  EXPECT_TRUE(handler.executed.empty());
  datamover.deliver(command(3));
  EXPECT_EQ(handler.executed.size(), 1u);
}

TEST_F(TargetManagement, NumberedRequestsAreOrderedToo) {
  const auto first = read_command(1, 512);
  auto request = manage(Function::logical_unit_reset, 100);
  request.immediate = false;
  ++cmd_sn;
  datamover.deliver(request);
  EXPECT_TRUE(handler.managed.empty());
  datamover.deliver(first);
  EXPECT_EQ(aborted_tags(), std::vector<std::uint32_t>{1});
  handler.executed[0]->release();
  const auto pdu = datamover.take<TaskManagementResponse>();
  EXPECT_EQ(pdu.exp_cmd_sn, cmd_sn);
  EXPECT_EQ(pdu.max_cmd_sn, parameters.max_cmd_sn + 2);
}

TEST_F(TargetManagement, RequestFromTheFarFutureIsRejected) {
  auto pdu = manage(Function::abort_task_set, 100);
  pdu.cmd_sn = parameters.max_cmd_sn + 2;
  datamover.deliver(pdu);
  expect_reject(RejectReason::invalid_pdu_field, encode(pdu));
  pdu.cmd_sn = parameters.max_cmd_sn + 1;
  datamover.deliver(pdu);
  EXPECT_TRUE(datamover.sent.empty()) << "it waits for the whole window";
}

TEST_F(TargetManagement, ImmediateRequestsAreBounded) {
  limits.immediate_commands = 2;
  restart();
  handler.on_manage = [](Function, const auto&) {};
  for (std::uint32_t tag = 100; tag < 102; ++tag)
    datamover.deliver(manage(Function::logical_unit_reset, tag));
  EXPECT_TRUE(datamover.sent.empty());
  const auto pdu = manage(Function::logical_unit_reset, 102);
  datamover.deliver(pdu);
  expect_reject(RejectReason::immediate_command_reject, encode(pdu));
}

TEST_F(TargetManagement, TagInUseIsRejected) {
  open(1);
  const auto pdu = manage(Function::abort_task, 1, 1);
  datamover.deliver(pdu);
  expect_reject(RejectReason::task_in_progress, encode(pdu));
}

// --- what is not done ---

TEST_F(TargetManagement, UnsupportedFunctions) {
  open(1);
  datamover.deliver(manage(Function::clear_aca, 100));
  expect_answer(Answer::not_supported);
  datamover.deliver(manage(Function::task_reassign, 100, 1));
  expect_answer(Answer::reassign_not_supported);
  for (unsigned function = 0; function < 128; ++function) {
    if (function >= 1 && function <= 8) continue;
    datamover.deliver(manage(static_cast<Function>(function), 100));
    expect_answer(Answer::not_supported);
  }
  EXPECT_TRUE(handler.aborted.empty());
  EXPECT_TRUE(handler.managed.empty());
}

// RFC 7144 section 6.4.2
TEST_F(TargetManagement, QueriesWithProtocolLevel2) {
  parameters.protocol_level = 2;
  restart();
  open(1, 3);
  datamover.deliver(manage(Function::query_task, 100, 1));
  expect_answer(Answer::function_succeeded);
  datamover.deliver(manage(Function::query_task, 100, 2));
  expect_answer(Answer::complete);
  datamover.deliver(manage(Function::query_task_set, 100));
  expect_answer(Answer::function_succeeded);
  auto other = manage(Function::query_task_set, 100);
  other.lun = lun_of(4);
  datamover.deliver(other);
  expect_answer(Answer::complete);
  handler.on_manage = [](Function, const auto& done) { done(Answer::function_succeeded); };
  datamover.deliver(manage(Function::query_async_event, 100));
  expect_answer(Answer::function_succeeded);
  EXPECT_TRUE(handler.aborted.empty());
}

TEST_F(TargetManagement, ColdResetAnswersThenDropsTheConnection) {
  datamover.deliver(manage(Function::target_cold_reset, 100));
  expect_answer(Answer::complete);
  EXPECT_EQ(datamover.take<AsyncMessage>().event, 2);
  EXPECT_EQ(datamover.terminations, std::vector<ErrorCode>{ErrorCode()});
  datamover.drop({});
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::terminated});
}

TEST_F(TargetManagement, ColdResetForgetsTheFunctionsBehindIt) {
  std::vector<std::function<void(Answer)>> done;
  handler.on_manage = [&](Function, auto d) { done.push_back(std::move(d)); };
  datamover.deliver(manage(Function::target_cold_reset, 100));
  datamover.deliver(manage(Function::logical_unit_reset, 101));
  ASSERT_EQ(done.size(), 2u);
  done[0](Answer::complete);
  expect_answer(Answer::complete, 100);
  done[1](Answer::complete);
  EXPECT_EQ(datamover.take<AsyncMessage>().event, 2);
  EXPECT_TRUE(datamover.sent.empty());
}

TEST_F(TargetManagement, FailedColdResetEndsNothing) {
  handler.on_manage = [](Function, const auto& done) { done(Answer::authorization_failed); };
  datamover.deliver(manage(Function::target_cold_reset, 100));
  expect_answer(Answer::authorization_failed);
  EXPECT_FALSE(datamover.terminated());
}

}  // namespace
}  // namespace openiser::test
