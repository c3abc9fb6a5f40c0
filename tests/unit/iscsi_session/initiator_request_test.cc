// NOP, Text, Async Messages, Logout and ends at the initiator.
#include "tests/support/initiator_fixture.h"
#include "tests/support/login.h"

namespace openiser::test {
namespace {

class InitiatorRequest : public InitiatorFixture {
 protected:
  InitiatorRequest() { start(); }
  void restart() {
    session.reset();
    datamover.sent.clear();
    start();
  }
  NopIn target_ping(std::uint32_t ttt) {
    NopIn pdu;
    pdu.target_transfer_tag = ttt;
    pdu.lun = lun_of(6);
    pdu.stat_sn = stat_sn;
    pdu.exp_cmd_sn = exp_cmd_sn;
    pdu.max_cmd_sn = max_cmd_sn;
    return pdu;
  }
  void answer_ping(std::uint32_t tag, Bytes data = {}) {
    NopIn pdu;
    pdu.initiator_task_tag = tag;
    datamover.deliver(numbered(pdu), data);
  }
};

// --- NOP (RFC 7143 sections 11.18 and 11.19) ---

TEST_F(InitiatorRequest, AnswersATargetsPing) {
  datamover.deliver(target_ping(0x1234));
  const auto pdu = datamover.take<NopOut>();
  EXPECT_TRUE(pdu.immediate);
  EXPECT_EQ(pdu.initiator_task_tag, kReservedTag);
  EXPECT_EQ(pdu.target_transfer_tag, 0x1234u);
  EXPECT_EQ(pdu.lun, lun_of(6));
  EXPECT_EQ(datamover.flushes, 1);
}

TEST_F(InitiatorRequest, NopThatOnlyCarriesNumbersIsNotAnswered) {
  datamover.deliver(target_ping(kReservedTag));
  EXPECT_TRUE(datamover.sent.empty());
}

TEST_F(InitiatorRequest, PingBringsItsEcho) {
  const auto data = random_bytes(100);
  std::vector<std::byte> got;
  int calls = 0;
  session->ping(data, [&](ErrorCode error, Bytes echo) {
    EXPECT_FALSE(error);
    got = copy_bytes(echo);
    ++calls;
  });
  EXPECT_EQ(datamover.flushes, 1);
  const auto pdu = datamover.take<NopOut>();
  EXPECT_FALSE(pdu.immediate) << "numbered: iSER limits how many immediate ones are outstanding";
  EXPECT_EQ(pdu.target_transfer_tag, kReservedTag);
  EXPECT_EQ(datamover.last.data, data);
  answer_ping(pdu.initiator_task_tag, data);
  EXPECT_EQ(got, data);
  EXPECT_EQ(calls, 1);
}

TEST_F(InitiatorRequest, PingDataIsCutToWhatCanComeBack) {
  parameters.max_recv_data_segment_length = 600;
  restart();
  session->ping(random_bytes(1000), [](ErrorCode, Bytes) {});
  datamover.take<NopOut>();
  EXPECT_EQ(datamover.last.data.size(), 600u);
}

TEST_F(InitiatorRequest, EchoOfNoPingEndsTheSession) {
  answer_ping(0x77);
  expect_ended(errc::protocol_error);
}

TEST_F(InitiatorRequest, RejectedPingFails) {
  ErrorCode got;
  session->ping({}, [&](ErrorCode error, Bytes) { got = error; });
  reject(encode(datamover.take<NopOut>()), RejectReason::immediate_command_reject);
  EXPECT_EQ(got, errc::protocol_error);
}

TEST_F(InitiatorRequest, KeepAlive) {
  limits.nop_interval = std::chrono::seconds(5);
  limits.nop_timeout = std::chrono::seconds(10);
  restart();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(session->deadline(), host.clock.now() + limits.nop_interval);
    host.clock.advance(limits.nop_interval);
    session->expired(host.clock.now());
    const auto ping = datamover.take<NopOut>();
    EXPECT_NE(ping.initiator_task_tag, kReservedTag);
    EXPECT_EQ(session->deadline(), host.clock.now() + limits.nop_timeout);
    // The answer brings the deadline forward, so the host has to be told.
    const auto told = host.deadline_changes;
    answer_ping(ping.initiator_task_tag);
    EXPECT_GT(host.deadline_changes, told);
  }
  host.clock.advance(limits.nop_interval);
  session->expired(host.clock.now());
  host.clock.advance(limits.nop_timeout);
  session->expired(host.clock.now());
  expect_ended(errc::nop_timeout);
  EXPECT_FALSE(session->deadline());
}

TEST_F(InitiatorRequest, OnlyOnePingIsUnderWay) {
  limits.nop_interval = std::chrono::seconds(5);
  limits.nop_timeout = std::chrono::seconds(10);
  restart();
  host.clock.advance(limits.nop_interval);
  session->expired(host.clock.now());
  datamover.take<NopOut>();
  // Other traffic shows that the target lives, so it is not given up; nor is it pinged again.
  for (int i = 0; i < 5; ++i) {
    host.clock.advance(std::chrono::seconds(9));
    session->expired(host.clock.now());
    datamover.deliver(target_ping(kReservedTag));
  }
  EXPECT_TRUE(datamover.sent.empty());
  EXPECT_FALSE(datamover.terminated());
}

// --- SendTargets (RFC 7143 Appendix C) ---

class InitiatorText : public InitiatorRequest {
 protected:
  void ask(std::string what) {
    session->send_targets(std::move(what), [this](ErrorCode e, std::vector<TargetRecord> r) {
      error = e;
      records = std::move(r);
      ++calls;
    });
  }
  ErrorCode error;
  std::vector<TargetRecord> records;
  int calls = 0;
};

TEST_F(InitiatorText, AsksAndReads) {
  ask("All");
  const auto pdu = datamover.take<TextRequest>();
  EXPECT_TRUE(pdu.final && !pdu.immediate && !pdu.continues);
  EXPECT_EQ(pdu.target_transfer_tag, kReservedTag);
  EXPECT_EQ(as_text(datamover.last.data), std::string_view("SendTargets=All\0", 16));
  answer_text(pdu.initiator_task_tag,
              std::string("TargetName=a") + '\0' + "TargetAddress=h:1,1" + '\0' +
                  "TargetAddress=[::1]:3260,2" + '\0' + "TargetName=b" + '\0',
              true, kReservedTag);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(error);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].name, "a");
  EXPECT_EQ(records[0].addresses, (std::vector<std::string>{"h:1,1", "[::1]:3260,2"}));
  EXPECT_TRUE(records[1].addresses.empty());
}

TEST_F(InitiatorText, FetchesTheRestWithEmptyRequests) {
  ask("All");
  const auto first = datamover.take<TextRequest>();
  answer_text(first.initiator_task_tag, "TargetName=iqn.a", false, 0x55);
  for (const std::string_view piece : {"bc", "d"}) {
    const auto more = datamover.take<TextRequest>();
    EXPECT_EQ(more.initiator_task_tag, first.initiator_task_tag);
    EXPECT_EQ(more.target_transfer_tag, 0x55u);
    EXPECT_TRUE(more.final);
    EXPECT_TRUE(datamover.last.data.empty());
    answer_text(first.initiator_task_tag, piece, piece == "d", 0x55);
  }
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].name, "iqn.abcd");
}

TEST_F(InitiatorText, OneExchangeAtATime) {
  ask("a");
  ask("b");
  ASSERT_EQ(datamover.sent.size(), 1u);
  const auto first = datamover.take<TextRequest>();
  answer_text(first.initiator_task_tag, "", true, kReservedTag);
  EXPECT_EQ(calls, 1);
  const auto second = datamover.take<TextRequest>();
  EXPECT_NE(first.initiator_task_tag, second.initiator_task_tag);
  answer_text(second.initiator_task_tag, "", true, kReservedTag);
  EXPECT_EQ(calls, 2);
}

TEST_F(InitiatorText, EndlessAnswersAreCutOff) {
  ask("All");
  const auto tag = datamover.take<TextRequest>().initiator_task_tag;
  const std::string piece(8192, 'a');
  int pdus = 0;
  for (; calls == 0 && pdus < 2000; ++pdus) answer_text(tag, piece, false, 1);
  EXPECT_EQ(error, errc::text_too_long);
  EXPECT_LE(pdus, 513);

  error = {};
  datamover.sent.clear();
  ask("All");
  const auto next = datamover.take<TextRequest>().initiator_task_tag;
  for (pdus = 0; calls == 1 && pdus < 20000; ++pdus) answer_text(next, "", false, 1);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(error, errc::text_too_long) << "also in empty pieces";
}

TEST_F(InitiatorText, BadAnswersAreErrors) {
  const auto answer = [&](std::string_view text) {
    ask("All");
    answer_text(datamover.take<TextRequest>().initiator_task_tag, text, true, kReservedTag);
    return error;
  };
  EXPECT_EQ(answer("SendTargets=Reject"), errc::negotiation_failed);
  EXPECT_EQ(answer("SendTargets=NotUnderstood"), errc::negotiation_failed);
  EXPECT_EQ(answer("nonsense"), errc::bad_text);
  EXPECT_EQ(answer("TargetAddress=h:1,1"), errc::bad_text);
  EXPECT_FALSE(answer("X-extra=1"));
}

TEST_F(InitiatorText, FinalFieldErrorsEndTheSession) {
  ask("All");
  TextResponse response;
  response.initiator_task_tag = datamover.take<TextRequest>().initiator_task_tag;
  response.final = false;  // without a Target Transfer Tag
  datamover.deliver(numbered(response));
  expect_ended(errc::bad_field);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(error, errc::bad_field);
}

TEST_F(InitiatorText, AnswerToNoQuestionEndsTheSession) {
  answer_text(5, "", true, kReservedTag);
  expect_ended(errc::protocol_error);
}

TEST_F(InitiatorText, RejectedQuestionFailsAndTheNextIsAsked) {
  ask("a");
  ask("b");
  reject(encode(datamover.take<TextRequest>()), RejectReason::protocol_error);
  EXPECT_EQ(error, errc::protocol_error);
  EXPECT_EQ(datamover.sent.size(), 1u);
}

TEST_F(InitiatorText, DiscoverySessionWaitsForItsAnswerWithoutPings) {
  parameters.session_type = SessionType::discovery;
  limits.nop_interval = std::chrono::seconds(5);
  limits.nop_timeout = std::chrono::seconds(10);
  restart();
  for (int i = 0; i < 10; ++i) {
    host.clock.advance(std::chrono::seconds(10));
    session->expired(host.clock.now());
  }
  EXPECT_TRUE(datamover.sent.empty());
  EXPECT_FALSE(datamover.terminated()) << "nothing is waited for";
  ask("All");
  for (int i = 0; i < 3; ++i) {
    host.clock.advance(std::chrono::seconds(10));
    session->expired(host.clock.now());
  }
  expect_ended(errc::nop_timeout);
  EXPECT_EQ(error, errc::nop_timeout);
}

// --- Async Messages (RFC 7143 section 11.9) ---

TEST_F(InitiatorRequest, AsyncMessagesAreReported) {
  AsyncMessage message;
  message.lun = lun_of(3);
  datamover.deliver(numbered(message), random_bytes(20));
  ASSERT_EQ(host.messages.size(), 1u);
  EXPECT_EQ(host.messages[0].lun, lun_of(3));
  EXPECT_FALSE(datamover.terminated());
}

TEST_F(InitiatorRequest, LogsOutWhenAsked) {
  AsyncMessage message;
  message.event = 1;
  message.parameter3 = 3;
  datamover.deliver(numbered(message));
  datamover.deliver(numbered(message));
  EXPECT_EQ(datamover.take<LogoutRequest>().reason, 0);
  EXPECT_TRUE(datamover.sent.empty());
}

TEST_F(InitiatorRequest, DropNotificationsEndTheSession) {
  for (const std::uint8_t event : {2, 3}) {
    session.reset();
    datamover = FakeDatamover();
    host.ended.clear();
    start();
    AsyncMessage message;
    message.event = event;
    datamover.deliver(numbered(message));
    expect_ended(errc::connection_closed);
  }
}

TEST_F(InitiatorRequest, NegotiationRequestIsHonouredWithEmptyText) {
  AsyncMessage message;
  message.event = 4;
  datamover.deliver(numbered(message));
  const auto pdu = datamover.take<TextRequest>();
  EXPECT_TRUE(datamover.last.data.empty());
  answer_text(pdu.initiator_task_tag, "", true, kReservedTag);
  EXPECT_FALSE(datamover.terminated());
}

// RFC 7143 section 13.12: the target says how much it takes now.
TEST_F(InitiatorRequest, ATargetMayDeclareItsDataSegmentLengthAnew) {
  for (const auto& [text, segment] :
       {std::pair("MaxRecvDataSegmentLength=512", 512u),
        std::pair("MaxRecvDataSegmentLength=65536", 65536u), std::pair("X-vendor=1", 65536u),
        std::pair("MaxRecvDataSegmentLength=511", 65536u)}) {
    AsyncMessage message;
    message.event = 4;
    datamover.deliver(numbered(message));
    const auto pdu = datamover.take<TextRequest>();
    answer_text(pdu.initiator_task_tag, std::string(text) + '\0', true, kReservedTag);
    EXPECT_EQ(datamover.max_segment, segment);
    EXPECT_FALSE(datamover.terminated());
  }
}

// RFC 7143 section 6.4: what belongs to login is refused, whoever brings it up.
TEST_F(InitiatorRequest, WhatATargetMayNotNegotiateNowIsRefused) {
  AsyncMessage message;
  message.event = 4;
  datamover.deliver(numbered(message));
  const auto pdu = datamover.take<TextRequest>();
  // What the initiator says to it.
  const auto answer_to = [&](const std::string& text, bool continues = false) {
    TextResponse response;
    response.initiator_task_tag = pdu.initiator_task_tag;
    response.final = false;
    response.continues = continues;
    response.target_transfer_tag = 0x55;
    datamover.deliver(numbered(response), as_bytes(with_nuls(text)));
    EXPECT_EQ(datamover.take<TextRequest>().target_transfer_tag, 0x55u);
    return with_bars(datamover.last.data);
  };
  EXPECT_EQ(answer_to("MaxBurstLength=512|"), "MaxBurstLength=Reject|");
  EXPECT_EQ(answer_to("X-a=1|TargetAlias=disk|MaxRecvDataSegmentLength=512|InitialR2T=Yes|"),
            "X-a=NotUnderstood|InitialR2T=Reject|");
  EXPECT_EQ(answer_to("HeaderDig", true), "") << "there is more to come";
  EXPECT_EQ(answer_to("est=CRC32C|X-b=NotUnderstood|"), "HeaderDigest=Reject|");
  answer_text(pdu.initiator_task_tag, "", true, kReservedTag);
  EXPECT_EQ(datamover.max_segment, 512u);
  EXPECT_FALSE(datamover.terminated());
}

TEST_F(InitiatorRequest, VendorEventsAreToldAndNothingElse) {
  for (const int event : {5, 6, 100, 248, 255}) {
    AsyncMessage message;
    message.event = static_cast<std::uint8_t>(event);
    datamover.deliver(numbered(message), random_bytes(12));
    EXPECT_EQ(host.messages.back().event, event);
    EXPECT_TRUE(datamover.sent.empty());
    EXPECT_FALSE(datamover.terminated());
  }
}

// --- Reject ---

TEST_F(InitiatorRequest, RejectWithoutAHeaderEndsTheSession) {
  datamover.deliver(numbered(Reject()), random_bytes(47));
  expect_ended(errc::protocol_error);
}

TEST_F(InitiatorRequest, RejectOfSomethingUnknownOnlyTells) {
  reject(encode(NopOut()), RejectReason::protocol_error);
  ScsiCommand command;
  command.initiator_task_tag = 99;
  reject(encode(command), RejectReason::protocol_error);
  EXPECT_FALSE(datamover.terminated());
  EXPECT_TRUE(datamover.sent.empty());
}

// --- Logout and ends ---

TEST_F(InitiatorRequest, LogoutThenTheEnd) {
  TestTask running, waiting;
  session->submit(running);
  datamover.take<ScsiCommand>();
  session->logout();
  session->submit(waiting);
  EXPECT_EQ(waiting.error, errc::not_logged_in);
  const auto pdu = datamover.take<LogoutRequest>();
  EXPECT_TRUE(pdu.immediate);
  EXPECT_EQ(pdu.reason, 0);
  EXPECT_EQ(pdu.cid, parameters.cid);
  LogoutResponse response;
  response.initiator_task_tag = pdu.initiator_task_tag;
  datamover.deliver(numbered(response));
  EXPECT_FALSE(datamover.terminated()) << "the target closes first";
  EXPECT_EQ(running.times_done, 0);
  datamover.drop();
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::logged_out});
  EXPECT_EQ(running.times_done, 1);
  EXPECT_EQ(running.error, errc::logged_out);
}

TEST_F(InitiatorRequest, RefusedLogoutEndsTheSessionAnyway) {
  session->logout();
  LogoutResponse response;
  response.initiator_task_tag = datamover.take<LogoutRequest>().initiator_task_tag;
  response.response = 3;
  datamover.deliver(numbered(response));
  expect_ended(errc::terminated);
}

TEST_F(InitiatorRequest, LogoutTimesOut) {
  session->logout();
  EXPECT_EQ(session->deadline(), host.clock.now() + limits.logout_timeout);
  host.clock.advance(limits.logout_timeout);
  session->expired(host.clock.now());
  expect_ended(errc::terminated);
}

TEST_F(InitiatorRequest, TargetThatDoesNotCloseIsCutOff) {
  session->logout();
  LogoutResponse response;
  response.initiator_task_tag = datamover.take<LogoutRequest>().initiator_task_tag;
  datamover.deliver(numbered(response));
  EXPECT_EQ(session->deadline(), host.clock.now() + limits.close_timeout);
  host.clock.advance(limits.close_timeout);
  session->expired(host.clock.now());
  EXPECT_EQ(datamover.terminations, std::vector<ErrorCode>{ErrorCode()});
  host.clock.advance(limits.logout_timeout);
  session->expired(host.clock.now());
  EXPECT_EQ(datamover.terminations,
            (std::vector<ErrorCode>{ErrorCode(), make_error_code(errc::terminated)}));
  expect_ended(errc::logged_out);
}

TEST_F(InitiatorRequest, LogoutResponseUnasked) {
  LogoutResponse response;
  response.initiator_task_tag = kReservedTag;
  datamover.deliver(numbered(response));
  expect_ended(errc::protocol_error);
}

TEST_F(InitiatorRequest, EveryTaskIsDoneOnceAtTheEnd) {
  parameters.max_cmd_sn = parameters.next_cmd_sn + 3;
  restart();
  std::vector<TestTask> tasks(10);
  int after_end = 0;
  TestTask late;
  for (TestTask& task : tasks) {
    task.on_done = [&] {
      EXPECT_TRUE(host.ended.empty()) << "all tasks, then session_ended()";
      if (after_end++ == 0) session->submit(late);
    };
    session->submit(task);
  }
  session->end(errc::terminated);
  session->end(errc::reinstated);
  EXPECT_EQ(after_end, 0);
  expect_ended(errc::terminated);
  for (const TestTask& task : tasks) {
    EXPECT_EQ(task.times_done, 1);
    EXPECT_EQ(task.error, errc::terminated);
  }
  EXPECT_EQ(late.times_done, 1);
  EXPECT_EQ(late.error, errc::not_logged_in);
}

TEST_F(InitiatorRequest, EverythingFailsAfterTheEnd) {
  datamover.drop();
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::connection_closed});
  int calls = 0;
  TestTask task;
  session->submit(task);
  EXPECT_EQ(task.error, errc::not_logged_in);
  session->ping({}, [&](ErrorCode error, Bytes) { calls += error == errc::not_logged_in; });
  session->send_targets("", [&](ErrorCode error, auto) { calls += error == errc::not_logged_in; });
  session->logout();
  session->flush();
  session->end(errc::terminated);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(host.ended.size(), 1u);
  EXPECT_FALSE(session->deadline());
}

// RFC 7143 sections 11.4.2 and 7.7: a malformed PDU of each kind.
TEST_F(InitiatorRequest, MalformedPdusEndTheSession) {
  for (const auto opcode :
       {Opcode::nop_in, Opcode::scsi_response, Opcode::task_management_response,
        Opcode::text_response, Opcode::logout_response, Opcode::async_message, Opcode::reject,
        Opcode::data_in, Opcode::r2t, Opcode::login_response, Opcode::scsi_command}) {
    session.reset();
    datamover = FakeDatamover();
    host.ended.clear();
    start();
    Bhs bhs;  // no F bit
    bhs.raw[0] = static_cast<std::byte>(opcode);
    datamover.deliver_raw(bhs);
    ASSERT_TRUE(datamover.terminated()) << static_cast<int>(opcode);
    datamover.drop();
    EXPECT_EQ(host.ended.size(), 1u);
  }
}

}  // namespace
}  // namespace openiser::test
