// Ordering, NOP, Reject, Async Messages and Logout at the target.
#include "tests/support/target_fixture.h"

#include "iscsi/session/admissible.h"

namespace openiser::test {
namespace {

class TargetRequest : public TargetFixture {
 protected:
  TargetRequest() {
    handler.on_execute = [](TargetTask& task) { task.finish(0, {}, 0); };
    start();
  }
  void restart() {
    session.reset();
    datamover.sent.clear();
    start();
  }
  std::vector<std::uint32_t> executed_tags() const {
    std::vector<std::uint32_t> tags;
    for (const auto& control : datamover.sent) tags.push_back(control.bhs.initiator_task_tag());
    return tags;
  }
  NopOut nop(std::uint32_t tag) const {
    NopOut pdu;
    pdu.initiator_task_tag = tag;
    pdu.cmd_sn = cmd_sn;
    return pdu;
  }
};

// --- order (RFC 7143 section 4.2.2.1) ---

TEST_F(TargetRequest, CommandsAreDeliveredInOrder) {
  const auto a = command(1), b = command(2), c = command(3);
  datamover.deliver(c);
  datamover.deliver(b);
  EXPECT_TRUE(datamover.sent.empty());
  datamover.deliver(a);
  EXPECT_EQ(executed_tags(), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST_F(TargetRequest, CommandsOutsideOfTheWindowAreIgnored) {
  auto pdu = command(1);
  for (const std::uint32_t sn : {parameters.next_cmd_sn - 1, parameters.next_cmd_sn + 32}) {
    pdu.cmd_sn = sn;
    datamover.deliver(pdu);
  }
  EXPECT_TRUE(datamover.sent.empty());
  EXPECT_TRUE(handler.executed.empty());
}

TEST_F(TargetRequest, DuplicatesAreIgnored) {
  const auto first = command(1), second = command(2), third = command(3);
  datamover.deliver(third);
  datamover.deliver(third);
  datamover.deliver(first);
  datamover.deliver(first);
  datamover.deliver(second);
  datamover.deliver(third);
  EXPECT_EQ(executed_tags(), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST_F(TargetRequest, ImmediateCommandsOvertakeAndTakeNoNumber) {
  auto pdu = command(1);
  --cmd_sn;
  pdu.immediate = true;
  datamover.deliver(pdu);
  EXPECT_EQ(datamover.take<ScsiResponse>().exp_cmd_sn, parameters.next_cmd_sn);
  datamover.deliver(command(2));
  EXPECT_EQ(datamover.take<ScsiResponse>().exp_cmd_sn, parameters.next_cmd_sn + 1);
}

TEST_F(TargetRequest, WindowClosesWhenAllPlacesAreTaken) {
  handler.on_execute = nullptr;
  for (std::uint32_t i = 0; i < 32; ++i) datamover.deliver(command(i));
  EXPECT_EQ(handler.executed.size(), 32u);
  const auto beyond = command(32);
  datamover.deliver(beyond);
  EXPECT_EQ(handler.executed.size(), 32u);
  handler.executed[5]->finish(0, {}, 0);
  const auto response = datamover.take<ScsiResponse>();
  EXPECT_EQ(response.exp_cmd_sn, response.max_cmd_sn);
  datamover.deliver(beyond);
  EXPECT_EQ(handler.executed.size(), 33u);
}

TEST_F(TargetRequest, ImmediateCommandsAreBounded) {
  handler.on_execute = nullptr;
  limits.immediate_commands = 2;
  restart();
  for (std::uint32_t i = 0; i < 3; ++i) {
    auto pdu = command(i);
    --cmd_sn;
    pdu.immediate = true;
    datamover.deliver(pdu);
    if (i == 2) expect_reject(RejectReason::immediate_command_reject, encode(pdu));
  }
  EXPECT_EQ(handler.executed.size(), 2u);
  handler.executed[0]->finish(0, {}, 0);
  auto pdu = command(9);
  pdu.immediate = true;
  datamover.deliver(pdu);
  EXPECT_EQ(handler.executed.size(), 3u);
}

// RFC 7143 section 7.3: a rejected command counts as not received.
TEST_F(TargetRequest, TagInUseIsRejectedAndItsNumberStaysFree) {
  handler.on_execute = nullptr;
  datamover.deliver(command(1));
  auto again = command(1);
  datamover.deliver(again);
  expect_reject(RejectReason::task_in_progress, encode(again));
  again.initiator_task_tag = 2;
  datamover.deliver(again);
  EXPECT_EQ(handler.executed.size(), 2u);
  EXPECT_EQ(session->counters().rejects, 1u);
}

TEST_F(TargetRequest, MalformedCommandsAreRejected) {
  Bhs bhs = encode(command(1));
  bhs.raw[1] = std::byte{0x87};  // task attribute 7
  datamover.deliver_raw(bhs);
  expect_reject(RejectReason::invalid_pdu_field, bhs);
  bhs = encode(command(1));
  store_be32(&bhs.raw[24], parameters.next_cmd_sn);
  const auto ahs = random_bytes(8);
  datamover.deliver_raw(bhs, {}, ahs);
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::invalid_pdu_field);
  EXPECT_TRUE(handler.executed.empty());
}

TEST_F(TargetRequest, EveryOpcodeHasItsVerdict) {
  for (unsigned opcode = 0; opcode < 64; ++opcode) {
    const auto kind = static_cast<Opcode>(opcode);
    const auto verdict =
        admit_request(ConnectionState::logged_in, SessionType::normal, false, kind);
    switch (kind) {
      case Opcode::nop_out:
      case Opcode::scsi_command:
      case Opcode::task_management_request:
      case Opcode::text_request:
      case Opcode::data_out:
      case Opcode::logout_request:
        EXPECT_EQ(verdict.kind, Admission::Kind::accept) << opcode;
        break;
      case Opcode::login_request:
        EXPECT_EQ(verdict.reason, RejectReason::protocol_error);
        break;
      case Opcode::snack_request:
        EXPECT_EQ(verdict.reason, RejectReason::snack_reject);
        break;
      default:
        EXPECT_EQ(verdict.kind, Admission::Kind::reject) << opcode;
        EXPECT_EQ(verdict.reason, RejectReason::command_not_supported) << opcode;
    }
    for (const auto state :
         {ConnectionState::in_logout, ConnectionState::cleanup_wait, ConnectionState::free}) {
      EXPECT_EQ(admit_request(state, SessionType::normal, false, kind).kind, Admission::Kind::drop);
    }
    const auto discovery =
        admit_request(ConnectionState::logged_in, SessionType::discovery, false, kind);
    EXPECT_EQ(discovery.kind == Admission::Kind::accept,
              kind == Opcode::text_request || kind == Opcode::logout_request);
  }
  EXPECT_EQ(
      admit_request(ConnectionState::logged_in, SessionType::normal, true, Opcode::snack_request)
          .reason,
      RejectReason::protocol_error);
}

TEST_F(TargetRequest, RejectsWhatHasNoPlaceHere) {
  const LoginRequest login;
  datamover.deliver(login);
  expect_reject(RejectReason::protocol_error, encode(login));
  const SnackRequest snack;
  datamover.deliver(snack);
  expect_reject(RejectReason::snack_reject, encode(snack));
  Bhs unknown;
  unknown.raw[0] = std::byte{0x1c};
  datamover.deliver_raw(unknown);
  expect_reject(RejectReason::command_not_supported, unknown);
}

// --- NOP (RFC 7143 sections 11.18 and 11.19) ---

TEST_F(TargetRequest, EchoesAPing) {
  const auto data = random_bytes(500);
  NopOut ping = nop(7);
  ping.lun = lun_of(9);
  datamover.deliver(ping, data);
  const auto echo = datamover.take<NopIn>();
  EXPECT_EQ(echo.initiator_task_tag, 7u);
  EXPECT_EQ(echo.target_transfer_tag, kReservedTag);
  EXPECT_EQ(echo.lun, lun_of(9));
  EXPECT_EQ(datamover.last.data, data);
}

TEST_F(TargetRequest, CutsAnEchoToWhatThePeerTakes) {
  datamover.max_segment = 512;
  datamover.deliver(nop(7), random_bytes(513));
  datamover.take<NopIn>();
  EXPECT_EQ(datamover.last.data, random_bytes(512));
}

TEST_F(TargetRequest, NumberedPingTakesAPlaceAndGivesItBack) {
  NopOut ping = nop(7);
  ping.immediate = false;
  datamover.deliver(ping);
  const auto echo = datamover.take<NopIn>();
  EXPECT_EQ(echo.exp_cmd_sn, parameters.next_cmd_sn + 1);
  EXPECT_EQ(echo.max_cmd_sn, parameters.max_cmd_sn + 1);
}

TEST_F(TargetRequest, NopThatOnlyAcknowledgesIsNotAnswered) {
  datamover.deliver(nop(kReservedTag));
  EXPECT_TRUE(datamover.sent.empty());
}

TEST_F(TargetRequest, PingsASilentInitiatorOnceAndTakesItsAnswer) {
  limits.nop_interval = std::chrono::seconds(10);
  limits.nop_timeout = std::chrono::seconds(5);
  restart();
  ASSERT_TRUE(session->deadline());
  host.clock.advance(std::chrono::seconds(9));
  session->expired(host.clock.now());
  EXPECT_TRUE(datamover.sent.empty());
  host.clock.advance(std::chrono::seconds(1));
  session->expired(host.clock.now());
  const auto ping = datamover.take<NopIn>();
  EXPECT_EQ(ping.initiator_task_tag, kReservedTag);
  EXPECT_NE(ping.target_transfer_tag, kReservedTag);
  EXPECT_EQ(session->deadline(), host.clock.now() + limits.nop_timeout);
  EXPECT_EQ(datamover.flushes, 1);
  NopOut answer = nop(kReservedTag);
  answer.target_transfer_tag = ping.target_transfer_tag;
  host.clock.advance(std::chrono::seconds(4));
  datamover.deliver(answer);
  EXPECT_EQ(session->deadline(), host.clock.now() + limits.nop_interval);
  EXPECT_TRUE(datamover.sent.empty());
}

// The answer brings the deadline forward, so whoever keeps the time has to be told.
TEST_F(TargetRequest, AfterAnAnswerTheNextPingIsDueInTime) {
  limits.nop_interval = std::chrono::seconds(5);
  limits.nop_timeout = std::chrono::seconds(60);
  restart();
  host.clock.advance(limits.nop_interval);
  session->expired(host.clock.now());
  NopOut answer = nop(kReservedTag);
  answer.target_transfer_tag = datamover.take<NopIn>().target_transfer_tag;
  const auto told = host.deadline_changes;
  datamover.deliver(answer);
  EXPECT_EQ(session->deadline(), host.clock.now() + limits.nop_interval);
  EXPECT_GT(host.deadline_changes, told);
}

// RFC 7143 section 11.19.2; the monitor checks the number of the response.
TEST_F(TargetRequest, PingDoesNotAdvanceStatSn) {
  limits.nop_interval = std::chrono::seconds(10);
  restart();
  host.clock.advance(limits.nop_interval);
  session->expired(host.clock.now());
  const auto ping = datamover.take<NopIn>();
  datamover.deliver(command(1));
  EXPECT_EQ(datamover.take<ScsiResponse>().stat_sn, ping.stat_sn);
}

TEST_F(TargetRequest, SilenceAfterAPingEndsTheSession) {
  limits.nop_interval = std::chrono::seconds(10);
  limits.nop_timeout = std::chrono::seconds(5);
  restart();
  host.clock.advance(std::chrono::seconds(10));
  session->expired(host.clock.now());
  datamover.take<NopIn>();
  host.clock.advance(std::chrono::seconds(5));
  session->expired(host.clock.now());
  EXPECT_EQ(datamover.terminations, std::vector<ErrorCode>{errc::nop_timeout});
  datamover.drop();
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::nop_timeout});
}

// tgt 97a7995, 01461ee: with tasks open it ends once, and when they have let go.
TEST_F(TargetRequest, SilenceAfterAPingEndsTasksUnderWay) {
  limits.nop_interval = std::chrono::seconds(10);
  limits.nop_timeout = std::chrono::seconds(5);
  restart();
  handler.on_execute = nullptr;
  handler.on_abort = nullptr;
  for (const std::uint32_t tag : {1u, 2u}) datamover.deliver(command(tag));
  host.clock.advance(std::chrono::seconds(10));
  session->expired(host.clock.now());
  datamover.take<NopIn>();
  host.clock.advance(std::chrono::seconds(5));
  for (int i = 0; i < 3; ++i) session->expired(host.clock.now());
  EXPECT_EQ(datamover.terminations, std::vector<ErrorCode>{errc::nop_timeout});
  datamover.drop();
  ASSERT_EQ(handler.aborted.size(), 2u);
  for (TargetTask* task : handler.aborted) {
    EXPECT_TRUE(host.ended.empty());
    task->release();
  }
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::nop_timeout});
}

TEST_F(TargetRequest, TrafficPostponesThePing) {
  limits.nop_interval = std::chrono::seconds(10);
  restart();
  const Time first = *session->deadline();
  host.clock.advance(std::chrono::seconds(6));
  datamover.deliver(command(1));
  datamover.take<ScsiResponse>();
  host.clock.advance(std::chrono::seconds(4));
  session->expired(first);
  EXPECT_TRUE(datamover.sent.empty());
  EXPECT_EQ(session->deadline(), first + std::chrono::seconds(6));
}

TEST_F(TargetRequest, NoIntervalMeansNoPings) {
  EXPECT_FALSE(session->deadline());
}

// --- Async Messages (RFC 7143 section 11.9) ---

TEST_F(TargetRequest, ReportsAnEvent) {
  const auto sense_data = random_bytes(18);
  session->report_event(lun_of(4), sense_data);
  const auto pdu = datamover.take<AsyncMessage>();
  EXPECT_EQ(pdu.event, 0);
  EXPECT_EQ(pdu.lun, lun_of(4));
  EXPECT_EQ(datamover.last.data.size(), 20u);
  EXPECT_EQ(datamover.flushes, 1);
}

TEST_F(TargetRequest, AsksForLogoutThenDrops) {
  session->request_logout(std::chrono::milliseconds(2500));
  const auto pdu = datamover.take<AsyncMessage>();
  EXPECT_EQ(pdu.event, 1);
  EXPECT_EQ(pdu.parameter3, 3);
  datamover.deliver(command(1));
  EXPECT_EQ(datamover.take<ScsiResponse>().status, 0) << "still served";
  EXPECT_EQ(session->deadline(), host.clock.now() + std::chrono::milliseconds(2500));
  host.clock.advance(std::chrono::milliseconds(2500));
  session->expired(host.clock.now());
  const auto drop = datamover.take<AsyncMessage>();
  EXPECT_EQ(drop.event, 2);
  EXPECT_EQ(drop.parameter1, parameters.cid);
  EXPECT_EQ(datamover.terminations, std::vector<ErrorCode>{ErrorCode()});
  datamover.drop({});
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::terminated});
}

TEST_F(TargetRequest, LogoutThatWasAskedForEndsIt) {
  session->request_logout(std::chrono::seconds(3));
  datamover.take<AsyncMessage>();
  LogoutRequest pdu;
  pdu.immediate = true;
  pdu.initiator_task_tag = 9;
  pdu.cmd_sn = cmd_sn;
  datamover.deliver(pdu);
  EXPECT_EQ(datamover.take<LogoutResponse>().response, 0);
  datamover.drop({});
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::logged_out});
}

// --- Logout (RFC 7143 section 11.14) ---

class TargetLogout : public TargetRequest {
 protected:
  LogoutRequest logout(std::uint8_t reason, std::uint16_t cid = 7, bool immediate = true) {
    LogoutRequest pdu;
    pdu.immediate = immediate;
    pdu.reason = reason;
    pdu.initiator_task_tag = 0x99;
    pdu.cid = cid;
    pdu.cmd_sn = immediate ? cmd_sn : cmd_sn++;
    return pdu;
  }
};

TEST_F(TargetLogout, ClosesTheSession) {
  for (const std::uint8_t reason : {0, 1}) {
    session.reset();
    datamover = FakeDatamover();
    host.ended.clear();
    start();
    datamover.deliver(logout(reason));
    const auto pdu = datamover.take<LogoutResponse>();
    EXPECT_EQ(pdu.response, 0);
    EXPECT_EQ(pdu.initiator_task_tag, 0x99u);
    EXPECT_EQ(datamover.terminations, std::vector<ErrorCode>{ErrorCode()}) << "after the response";
    EXPECT_TRUE(host.ended.empty());
    datamover.drop({});
    EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::logged_out});
  }
}

TEST_F(TargetLogout, WaitsForItsTasks) {
  int lost = 0;
  handler.on_nexus_lost = [&] {
    ++lost;
    EXPECT_TRUE(datamover.sent.empty()) << "it is over before that is said";
  };
  handler.on_execute = nullptr;
  handler.on_abort = nullptr;
  datamover.deliver(read_command(1, 512));
  datamover.deliver(logout(0, 7, false));
  EXPECT_EQ(handler.aborted.size(), 1u);
  EXPECT_TRUE(datamover.sent.empty());
  datamover.deliver(command(2));
  EXPECT_EQ(handler.executed.size(), 1u) << "nothing new";
  EXPECT_EQ(lost, 0);
  handler.executed[0]->release();
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(datamover.take<LogoutResponse>().response, 0);
  EXPECT_EQ(datamover.deallocated, std::vector<std::uint32_t>{1});
}

TEST_F(TargetLogout, WaitsForItsTasksNoLongerThanForAPing) {
  handler.on_execute = nullptr;
  handler.on_abort = nullptr;
  datamover.deliver(read_command(1, 512));
  datamover.deliver(logout(0));
  EXPECT_EQ(session->deadline(), host.clock.now() + limits.nop_timeout);
  host.clock.advance(limits.nop_timeout);
  session->expired(host.clock.now());
  EXPECT_TRUE(datamover.terminated());
  datamover.drop({});
  handler.executed[0]->release();
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::terminated});
}

TEST_F(TargetLogout, ConnectionLostMeanwhile) {
  handler.on_execute = nullptr;
  handler.on_abort = nullptr;
  datamover.deliver(read_command(1, 512));
  datamover.deliver(logout(0));
  datamover.drop();
  EXPECT_TRUE(host.ended.empty());
  handler.executed[0]->release();
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::connection_closed});
}

TEST_F(TargetLogout, WrongCidAndRecoveryAreAnswered) {
  datamover.deliver(logout(1, 8));
  EXPECT_EQ(datamover.take<LogoutResponse>().response, 1);
  datamover.deliver(logout(2));
  EXPECT_EQ(datamover.take<LogoutResponse>().response, 2);
  datamover.deliver(logout(2, 7, false));
  EXPECT_EQ(datamover.take<LogoutResponse>().max_cmd_sn, parameters.max_cmd_sn + 1);
  const auto pdu = logout(3);
  datamover.deliver(pdu);
  expect_reject(RejectReason::invalid_pdu_field, encode(pdu));
  EXPECT_FALSE(datamover.terminated());
}

TEST_F(TargetLogout, PeerThatDoesNotTakeTheResponseIsCutOff) {
  datamover.deliver(logout(0));
  ASSERT_TRUE(session->deadline());
  host.clock.advance(limits.nop_timeout);
  session->expired(host.clock.now());
  EXPECT_EQ(datamover.terminations,
            (std::vector<ErrorCode>{ErrorCode(), make_error_code(errc::terminated)}));
  datamover.drop({});
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::logged_out});
}

}  // namespace
}  // namespace openiser::test
