// How connections end: gracefully, by error, and at every step of a conversation; every lease comes
// back and the end is told once.
#include <gtest/gtest.h>

#include "tests/support/iser.h"

namespace openiser::test {
namespace {

// What disconnected() may say of a loopback connection that a test breaks.
const ErrorCode kBroken = make_error_code(boost::system::errc::io_error);

ControlPdu logout_request() {
  return control_pdu(iscsi::encode(iscsi::LogoutRequest{.initiator_task_tag = 3}));
}
ControlPdu logout_response() {
  return control_pdu(iscsi::encode(iscsi::LogoutResponse{.initiator_task_tag = 3}));
}

TEST(IserEnd, LogoutResponseArrivesBeforeTheTargetCloses) {
  IserPair pair;
  pair.target_client.on_control = [&](ControlPdu&) {
    pair.target->send_control(logout_response(), nullptr);
    pair.target->connection_terminate({});
  };
  pair.send(logout_request());
  pair.run();
  EXPECT_EQ(pair.initiator_client.count(Opcode::logout_response), 1U);
  EXPECT_EQ(pair.initiator_client.end.value_or(ErrorCode()), errc::connection_closed);
  EXPECT_EQ(pair.target_client.end.value_or(errc::protocol_error), ErrorCode());
}

// Held behind a read, and by the limit on unexpected PDUs: the one goes out, the other may not.
TEST(IserEnd, GracefulEndSendsWhatIsHeldButForPdusThePeerWouldNotTake) {
  auto settings = IserPairSettings::of(Dialect::rfc7145);
  settings.target_parameters.peer_max_outstanding_unexpected_pdus = 2;
  IserPair pair(settings);
  pair.target_client.on_control = [&](ControlPdu&) {
    for (int i = 0; i < 3; ++i)
      pair.target->send_control(control_pdu(iscsi::encode(iscsi::AsyncMessage{})), nullptr);
    pair.target->send_control(logout_response(), nullptr);
    pair.target->connection_terminate({});
  };
  pair.send(logout_request());
  pair.run();
  EXPECT_EQ(pair.initiator_client.opcodes(),
            (std::vector{Opcode::async_message, Opcode::logout_response}));
}

TEST(IserEnd, TerminateGivesItsReasonBack) {
  IserPair pair;
  pair.initiator->connection_terminate(errc::nop_timeout);
  EXPECT_FALSE(pair.initiator_client.end);  // not inside the call
  pair.run();
  EXPECT_EQ(pair.initiator_client.end.value_or(ErrorCode()), errc::nop_timeout);
  EXPECT_TRUE(pair.target_client.end);
}

TEST(IserEnd, TerminatingTwiceEndsOnce) {
  IserPair pair;
  pair.initiator->connection_terminate(errc::nop_timeout);
  pair.initiator->connection_terminate({});
  pair.run();
  EXPECT_EQ(pair.initiator_client.end.value_or(ErrorCode()), errc::nop_timeout);
}

// RFC 7145 section 3.1.7: afterwards the iSCSI layer owns its buffers again.
TEST(IserEnd, TerminateClosesTheInitiatorsMemoryAtOnce) {
  IserPair pair;
  pair.target_client.on_control = [&](ControlPdu&) {
    pair.target->put_data({.initiator_task_tag = kTag}, Buffer::copy_of(noise(100)), true);
    pair.target->flush();
  };
  Command command;
  command.in.resize(100);
  command.send(*pair.initiator);
  pair.initiator->flush();
  while (pair.target_client.pdus.empty() && pair.link.step()) {
  }
  pair.initiator->connection_terminate({});
  pair.run();
  EXPECT_EQ(command.in, std::vector<std::byte>(100));
  EXPECT_TRUE(pair.initiator_client.end);
  EXPECT_TRUE(pair.target_client.end);
}

TEST(IserEnd, DownCallsAfterwardsAreHarmless) {
  IserPair pair;
  pair.initiator->connection_terminate({});
  pair.run();
  ASSERT_TRUE(pair.target_client.end);
  Command command;
  command.out = noise(10);
  command.send(*pair.initiator);
  pair.initiator->deallocate_task_resources(kTag);
  CountingOwner owner;
  pair.target->put_data({.initiator_task_tag = kTag}, owner.lease(10), true);
  pair.target->get_data({.initiator_task_tag = kTag, .desired_data_transfer_length = 10},
                        owner.lease(10));
  pair.run();
  EXPECT_EQ(owner.out, 0);
  EXPECT_FALSE(pair.target->deadline());
}

TEST(IserEnd, DataCallsBetweenTheWishAndTheEndComplete) {
  IserPair pair;
  CountingOwner owner;
  pair.target->connection_terminate({});
  pair.target->put_data({.initiator_task_tag = kTag}, owner.lease(10), true);
  pair.target->get_data({.initiator_task_tag = kTag, .desired_data_transfer_length = 10},
                        owner.lease(10));
  pair.run();
  ASSERT_EQ(pair.target_client.completions.size(), 2U);
  for (const auto& done : pair.target_client.completions) EXPECT_TRUE(done.status);
  pair.target_client.completions.clear();
  EXPECT_EQ(owner.out, 0);
}

TEST(IserEnd, ReadsThatWaitComplete) {
  auto settings = IserPairSettings::of(Dialect::rfc7145);
  settings.target_link.outbound_reads = 1;
  IserPair pair(settings);
  CountingOwner owner;
  pair.target_client.on_control = [&](ControlPdu&) {
    for (std::uint32_t i = 0; i < 5; ++i)
      pair.target->get_data({.initiator_task_tag = kTag,
                             .r2t_sn = i,
                             .buffer_offset = i * 10,
                             .desired_data_transfer_length = 10},
                            owner.lease(10));
    pair.target->connection_terminate(errc::nop_timeout);
  };
  Command command;
  command.out = noise(100);
  command.send(*pair.initiator);
  pair.run();
  EXPECT_EQ(pair.target_client.completions.size(), 5U);
  pair.target_client.completions.clear();
  EXPECT_EQ(owner.out, 0);
  EXPECT_EQ(pair.target_client.end.value_or(ErrorCode()), errc::nop_timeout);
}

TEST(IserEnd, ConnectionMayBeDestroyedAtAnyTime) {
  for (std::size_t steps = 0; steps < 30; ++steps) {
    IserPair pair;
    DiskTarget target(*pair.target, pair.target_client, pair.pool);
    Command command;
    command.out = noise(300000);
    command.in.resize(300000);
    command.send(*pair.initiator);
    pair.initiator->flush();
    pair.link.run(steps);
    pair.initiator.reset();
    pair.link.run();
    EXPECT_TRUE(pair.target_client.end);
  }
}

// A write, a read and a bidirectional command with unsolicited data, and a logout: everything that
// happens on a connection.
struct Conversation {
  explicit Conversation(Dialect dialect)
      : pair([&] {
          auto settings = IserPairSettings::of(dialect);
          settings.both([](auto&, auto& p) {
            p.initial_r2t = false;
            p.iser_hello_required = iscsi::Parameters::HelloRequired::yes;
          });
          settings.target_link.outbound_reads = 2;
          return settings;
        }()),
        target(*pair.target, pair.target_client, pair.pool) {
    target.immediate_only = false;
    target.piece = 50000;
    commands[0].out = noise(200000, 1);
    commands[0].immediate = 100;
    commands[0].unsolicited = 65536;
    commands[1].in.resize(200000);
    commands[2].out = noise(120000, 2);
    commands[2].in.resize(120000);
    for (std::uint32_t i = 0; i < 3; ++i) {
      commands[i].tag = i;
      commands[i].send(*pair.initiator);
    }
    pair.send(logout_request());
    const auto serve = pair.target_client.on_control;
    pair.target_client.on_control = [this, serve](ControlPdu& pdu) {
      serve(pdu);
      if (pdu.bhs.opcode() != Opcode::logout_request) return;
      pair.target->send_control(logout_response(), nullptr);
    };
    pair.initiator_client.on_control = [this](ControlPdu&) {
      if (pair.initiator_client.pdus.size() == 3) pair.target->connection_terminate({});
    };
  }

  IserPair pair;
  DiskTarget target;
  std::array<Command, 3> commands;
};

class IserFailure : public ::testing::TestWithParam<Dialect> {};

TEST_P(IserFailure, AtEveryStepEverythingComesBackAndTheEndIsToldOnce) {
  std::size_t n = 0;
  for (bool broken = true; broken; ++n) {
    {
      Conversation conversation(GetParam());
      IserPair& pair = conversation.pair;
      pair.link.fail_after(n, kBroken);
      pair.run();
      broken = pair.initiator_client.pdus.size() < 4;
      ASSERT_TRUE(pair.initiator_client.end) << n;
      ASSERT_TRUE(pair.target_client.end) << n;
      if (broken) {
        EXPECT_TRUE(*pair.initiator_client.end || *pair.target_client.end) << n;
      }
      pair.initiator_client.pdus.clear();
      pair.target_client.pdus.clear();
      pair.target_client.completions.clear();
      // Both connections still exist, and hold nothing.
      EXPECT_EQ(pair.pool.outstanding(), 0U) << n;
    }
  }
  EXPECT_GT(n, 20U);
}

INSTANTIATE_TEST_SUITE_P(Dialects, IserFailure,
                         ::testing::Values(Dialect::rfc5046, Dialect::rfc7145),
                         [](const auto& info) {
                           return std::string(info.param == Dialect::rfc5046 ? "Rfc5046"
                                                                             : "Rfc7145");
                         });

}  // namespace
}  // namespace openiser::test
