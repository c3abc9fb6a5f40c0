// How a target's session ends, whoever ends it and whenever the handler lets go.
#include "iscsi/session/connection_state.h"
#include "tests/support/target_fixture.h"

namespace openiser::test {
namespace {

class TargetEnd : public TargetFixture {
 protected:
  TargetEnd() {
    handler.on_abort = nullptr;
    start();
  }
};

TEST_F(TargetEnd, EndAbortsReleasesClosesAndReportsOnce) {
  datamover.deliver(read_command(1, 512));
  datamover.deliver(write_command(2, 512, false));
  session->end(errc::reinstated);
  session->end(errc::terminated);
  EXPECT_EQ(handler.aborted.size(), 2u);
  EXPECT_EQ(datamover.terminations, std::vector<ErrorCode>{errc::reinstated});
  datamover.drop();
  EXPECT_TRUE(host.ended.empty());
  handler.aborted[0]->release();
  EXPECT_TRUE(host.ended.empty());
  handler.aborted[1]->release();
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::reinstated});
}

TEST_F(TargetEnd, HandlerThatReleasesFirst) {
  handler.on_abort = [](TargetTask& task) { task.release(); };
  datamover.deliver(read_command(1, 512));
  session->end(errc::reinstated);
  EXPECT_TRUE(host.ended.empty()) << "the connection is still there";
  datamover.drop();
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::reinstated});
}

TEST_F(TargetEnd, OwnWishIsAnnounced) {
  session->end(errc::terminated);
  const auto drop = datamover.take<AsyncMessage>();
  EXPECT_EQ(drop.event, 2);
  EXPECT_EQ(drop.parameter1, parameters.cid);
  EXPECT_EQ(drop.parameter3, 0);
  EXPECT_EQ(datamover.terminations, std::vector<ErrorCode>{ErrorCode()});
}

TEST_F(TargetEnd, NothingIsTakenAfterTheEnd) {
  session->end(errc::terminated);
  datamover.sent.clear();
  datamover.deliver(read_command(1, 512));
  datamover.deliver(Reject());
  session->report_event({}, {});
  session->request_logout(std::chrono::seconds(1));
  EXPECT_TRUE(datamover.sent.empty());
  EXPECT_TRUE(handler.executed.empty());
}

TEST_F(TargetEnd, LostConnectionWithR2tsUnderWay) {
  handler.on_execute = [](TargetTask& task) { task.receive_data(200000); };
  datamover.deliver(write_command(1, 200000));
  EXPECT_EQ(datamover.gets.size(), 2u);
  datamover.drop();
  EXPECT_EQ(handler.aborted.size(), 1u);
  handler.aborted[0]->release();
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::connection_closed});
}

TEST_F(TargetEnd, LateCallsOfTheHandlerDoNothing) {
  datamover.deliver(write_command(1, 512));
  TargetTask& task = *handler.executed[0];
  datamover.drop();
  task.send_data(Buffer::copy_of(random_bytes(10)), 0);
  task.receive_data(512);
  task.finish(0, {}, 0);
  EXPECT_TRUE(host.ended.empty());
  task.release();
  EXPECT_EQ(host.ended.size(), 1u);
}

TEST_F(TargetEnd, ReleaseWithoutAbortEndsSilently) {
  datamover.deliver(read_command(1, 512));
  handler.executed[0]->release();
  EXPECT_EQ(datamover.deallocated, std::vector<std::uint32_t>{1});
  EXPECT_TRUE(datamover.sent.empty());
  EXPECT_EQ(session->counters().tasks, 0u);
}

class CountingOwner final : public BufferOwner {
 public:
  int released = 0;
  void release(std::byte*, std::size_t) noexcept override { ++released; }
};

TEST_F(TargetEnd, CommandsHeldBackByAGapGiveTheirBuffersBack) {
  CountingOwner owner;
  std::array<std::byte, 16> block{};
  command(1);
  session->control_notify(
      {encode(write_command(2, 16)), {}, Buffer(block.data(), block.size(), &owner)});
  session->turn_ended();
  EXPECT_EQ(owner.released, 0);
  session->end(errc::reinstated);
  EXPECT_EQ(owner.released, 1);
  datamover.drop();
  EXPECT_EQ(host.ended.size(), 1u);
  EXPECT_TRUE(handler.executed.empty());
}

TEST_F(TargetEnd, SessionMayEndItselfInsideOfACallOfItsOwn) {
  handler.on_execute = [this](TargetTask& task) {
    session->end(errc::terminated);
    EXPECT_TRUE(host.ended.empty());
    task.release();
  };
  handler.on_abort = nullptr;
  datamover.deliver(read_command(1, 512));
  datamover.drop();
  EXPECT_EQ(host.ended.size(), 1u);
}

TEST_F(TargetEnd, BuffersOutliveTheSession) {
  datamover.deliver(read_command(1, 512));
  Buffer buffer = handler.executed[0]->take_buffer(4096);
  datamover.drop();
  handler.executed[0]->release();
  session.reset();
  std::memset(buffer.data(), 1, buffer.size());
}

// RFC 7143 section 8.1.2
// --- idleness ---

class TargetIdle : public TargetFixture {
 protected:
  TargetIdle() {
    limits.idle_timeout = std::chrono::seconds(60);
    limits.nop_timeout = std::chrono::seconds(7);
    start();
  }
  void pass(int seconds) {
    host.clock.advance(std::chrono::seconds(seconds));
    session->expired(host.now());
  }
  Duration left() const { return *session->deadline() - host.now(); }
};

TEST_F(TargetIdle, AnInitiatorIsAskedToLogOut) {
  EXPECT_EQ(left(), std::chrono::seconds(60));
  pass(59);
  EXPECT_TRUE(datamover.sent.empty());
  pass(1);
  const auto message = datamover.take<AsyncMessage>();
  EXPECT_EQ(message.event, 1);
  EXPECT_EQ(message.parameter3, 7);
  EXPECT_EQ(left(), std::chrono::seconds(7));
  pass(7);
  EXPECT_EQ(datamover.take<AsyncMessage>().event, 2) << "the connection is dropped";
  EXPECT_TRUE(datamover.terminated());
  datamover.drop({});
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::terminated});
}

TEST_F(TargetIdle, WhoLogsOutWhenAskedIsAnswered) {
  pass(60);
  datamover.take<AsyncMessage>();
  LogoutRequest logout;
  logout.immediate = true;
  logout.initiator_task_tag = 9;
  logout.cmd_sn = cmd_sn;
  datamover.deliver(logout);
  EXPECT_EQ(datamover.take<LogoutResponse>().response, 0);
}

TEST_F(TargetIdle, CommandsAreNoIdlenessButPingsAre) {
  handler.on_execute = [](TargetTask& task) { task.finish(0, {}, 0); };
  pass(50);
  datamover.deliver(command(1));
  datamover.take<ScsiResponse>();
  EXPECT_EQ(left(), std::chrono::seconds(60));
  pass(50);
  NopOut nop;
  nop.immediate = true;
  nop.initiator_task_tag = 9;
  nop.cmd_sn = cmd_sn;
  datamover.deliver(nop);
  datamover.take<NopIn>();
  EXPECT_EQ(left(), std::chrono::seconds(10));
}

TEST_F(TargetIdle, ATaskUnderWayIsNoIdleness) {
  datamover.deliver(command(1));
  pass(60);
  EXPECT_TRUE(datamover.sent.empty());
  EXPECT_EQ(left(), std::chrono::seconds(60));
  handler.executed.at(0)->finish(0, {}, 0);
  datamover.take<ScsiResponse>();
  pass(60);
  EXPECT_EQ(datamover.take<AsyncMessage>().event, 1);
}

TEST(ConnectionState, TransitionTable) {
  using State = ConnectionState;
  using Event = ConnectionEvent;
  struct Row {
    State from;
    Event event;
    State to;
  };
  const Row rows[] = {
      {State::logged_in, Event::logout_wanted, State::logout_requested},
      {State::logged_in, Event::logout_started, State::in_logout},
      {State::logged_in, Event::logout_done, State::logged_in},
      {State::logged_in, Event::lost, State::cleanup_wait},
      {State::logged_in, Event::cleaned_up, State::logged_in},
      {State::in_logout, Event::logout_wanted, State::in_logout},
      {State::in_logout, Event::logout_started, State::in_logout},
      {State::in_logout, Event::logout_done, State::free},
      {State::in_logout, Event::lost, State::cleanup_wait},
      {State::in_logout, Event::cleaned_up, State::in_logout},
      {State::logout_requested, Event::logout_wanted, State::logout_requested},
      {State::logout_requested, Event::logout_started, State::in_logout},
      {State::logout_requested, Event::logout_done, State::logout_requested},
      {State::logout_requested, Event::lost, State::cleanup_wait},
      {State::logout_requested, Event::cleaned_up, State::logout_requested},
      {State::cleanup_wait, Event::logout_wanted, State::cleanup_wait},
      {State::cleanup_wait, Event::logout_started, State::cleanup_wait},
      {State::cleanup_wait, Event::logout_done, State::cleanup_wait},
      {State::cleanup_wait, Event::lost, State::cleanup_wait},
      {State::cleanup_wait, Event::cleaned_up, State::free},
      {State::free, Event::lost, State::free},
      {State::free, Event::logout_started, State::free},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(next_state(row.from, row.event), row.to)
        << static_cast<int>(row.from) << " " << static_cast<int>(row.event);
  }
}

}  // namespace
}  // namespace openiser::test
