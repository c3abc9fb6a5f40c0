#include "target/daemon.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/hex.h"
#include "iscsi/errors.h"
#include "rdmap/verbs/verbs.h"
#include "tests/support/daemon.h"
#include "tests/support/raw_iscsi.h"
#include "tests/support/raw_session.h"

namespace openiser::target {
namespace {

using test::Carrier;
using test::daemon_config;
using test::eventually;
using test::names;
using test::RawIscsi;
using test::RawSession;
using test::RunningDaemon;
using test::test_unit_ready;

constexpr int kTargetNotFound = 0x0203;
constexpr int kCannotInclude = 0x0208;
constexpr int kSessionMissing = 0x020a;

class DaemonTest : public ::testing::Test {
 protected:
  const test::QuietLog quiet;
};

TEST_F(DaemonTest, AnInitiatorLogsIn) {
  RunningDaemon daemon;
  RawIscsi host(daemon.port());
  EXPECT_EQ(host.log_in(), 0);
  EXPECT_NE(host.tsih, 0);
  EXPECT_EQ(test::value_in(host.text_answer, "TargetPortalGroupTag"), "1");
  const auto sessions = daemon->sessions().list();
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].tsih, host.tsih);
  EXPECT_EQ(sessions[0].wire, "plain");
  EXPECT_EQ(sessions[0].nexus.initiator_name, test::kInitiatorName);
  host.close();
  EXPECT_TRUE(eventually([&] { return daemon->sessions().list().empty(); }));
}

TEST_F(DaemonTest, ALoginMayComeByteByByte) {
  RunningDaemon daemon;
  RawIscsi host(daemon.port());
  for (const char c : test::wire_form(host.requests.at(1, 3, names()))) {
    ASSERT_TRUE(host.write({&c, 1}));
  }
  const auto answer = host.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->bhs.opcode(), iscsi::Opcode::login_response);
}

TEST_F(DaemonTest, CommandsBehindTheLoginAreNotLost) {
  RunningDaemon daemon;
  RawIscsi host(daemon.port());
  iscsi::NopOut ping;
  ping.initiator_task_tag = 0x99;
  ping.cmd_sn = 100;
  test::ControlPdu nop{encode(ping), {}, {}};
  // In one piece, though a decent initiator waits for the answer.
  ASSERT_TRUE(host.write(test::wire_form(host.requests.at(1, 3, names())) + test::wire_form(nop)));
  ASSERT_TRUE(host.receive());
  const auto answer = host.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->bhs.opcode(), iscsi::Opcode::nop_in);
  EXPECT_EQ(answer->bhs.initiator_task_tag(), 0x99u);
}

TEST_F(DaemonTest, AnUnknownTargetIsRefused) {
  RunningDaemon daemon;
  RawIscsi host(daemon.port());
  EXPECT_EQ(host.log_in("InitiatorName=iqn.x:y|TargetName=iqn.x:nothing|"), kTargetNotFound);
  EXPECT_TRUE(host.sees_end());
}

TEST_F(DaemonTest, DiscoveryListsTargetsAtTheAddressInUse) {
  RunningDaemon daemon;
  RawIscsi host(daemon.port());
  ASSERT_EQ(host.log_in("InitiatorName=iqn.x:y|SessionType=Discovery|"), 0);
  iscsi::TextRequest ask;
  ask.initiator_task_tag = 5;
  ask.cmd_sn = 100;
  ASSERT_TRUE(host.send(test::pdu_of(encode(ask), test::with_nuls("SendTargets=All|"))));
  const auto answer = host.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->bhs.opcode(), iscsi::Opcode::text_response);
  EXPECT_EQ(test::with_bars(answer->data.bytes()),
            "TargetName=iqn.2026-11.org.example:disk1|TargetAddress=127.0.0.1:" +
                std::to_string(daemon.port()) + ",1|");
}

TEST_F(DaemonTest, AStrangerIsTurnedAwayAtOnce) {
  RunningDaemon daemon;
  RawIscsi stranger(daemon.port());
  ASSERT_TRUE(stranger.write("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(stranger.sees_end());
}

TEST_F(DaemonTest, SilenceIsNotWaitedForForever) {
  auto config = daemon_config();
  config.limits.login_timeout = 1;
  RunningDaemon daemon(std::move(config));
  for (const char* beginning : {"", "MPA ID Req", "\x43\x87"}) {
    RawIscsi silent(daemon.port());
    ASSERT_TRUE(silent.write(beginning));
    EXPECT_TRUE(silent.sees_end()) << beginning;
  }
}

TEST_F(DaemonTest, ASilentRdmaPeerIsNotWaitedForForever) {
  auto config = daemon_config();
  config.limits.login_timeout = 1;
  RunningDaemon daemon(std::move(config));
  RawIscsi peer(daemon.port());
  // A complete Request of revision 1 without private data; the Reply comes, and then no login.
  ASSERT_TRUE(peer.write(std::string("MPA ID Req Frame\x40\x01\x00\x00", 20)));
  EXPECT_EQ(peer.read(20).substr(0, 16), "MPA ID Rep Frame");
  EXPECT_TRUE(peer.sees_end());
}

TEST_F(DaemonTest, RdmaFirstIsRejectedWhereRdmaIsOff) {
  auto config = daemon_config();
  config.negotiation.rdma_extensions = false;
  RunningDaemon daemon(std::move(config));
  RawIscsi peer(daemon.port());
  ASSERT_TRUE(peer.write(std::string("MPA ID Req Frame\x40\x01\x00\x00", 20)));
  const std::string reply = peer.read(20);
  ASSERT_EQ(reply.size(), 20u);
  EXPECT_EQ(reply.substr(0, 16), "MPA ID Rep Frame");
  EXPECT_NE(reply[16] & 0x20, 0) << "R";
  EXPECT_TRUE(peer.sees_end());
}

TEST_F(DaemonTest, TheSameInitiatorPortTakesThePlaceOfItsOldSession) {
  RunningDaemon daemon;
  RawIscsi first(daemon.port());
  ASSERT_EQ(first.log_in(), 0);
  RawIscsi second(daemon.port());
  EXPECT_EQ(second.log_in(), 0);
  EXPECT_NE(first.tsih, second.tsih);
  EXPECT_TRUE(first.sees_end());
  const auto sessions = daemon->sessions().list();
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].tsih, second.tsih);
}

TEST_F(DaemonTest, OtherInitiatorPortsStay) {
  RunningDaemon daemon;
  RawIscsi first(daemon.port());
  ASSERT_EQ(first.log_in(), 0);
  RawIscsi second(daemon.port());
  second.requests.header.isid[5] = std::byte{99};
  EXPECT_EQ(second.log_in(), 0);
  EXPECT_EQ(daemon->sessions().list().size(), 2u);
}

// Who goes away while it waits for the old session's end leaves nothing behind.
TEST_F(DaemonTest, ReinstatementsThatAreBrokenOff) {
  RunningDaemon daemon;
  for (int i = 0; i < 20; ++i) {
    RawIscsi host(daemon.port());
    ASSERT_TRUE(host.send(host.requests.at(1, 3, names())));
  }
  // Some of them may be served only now.
  EXPECT_TRUE(eventually([&] { return RawIscsi(daemon.port()).log_in() == 0; }));
  EXPECT_TRUE(eventually([&] { return daemon->sessions().list().empty(); }));
}

TEST_F(DaemonTest, ThereIsOneConnectionASession) {
  RunningDaemon daemon;
  RawIscsi first(daemon.port());
  ASSERT_EQ(first.log_in(), 0);
  RawIscsi second(daemon.port());
  second.requests.header.tsih = first.tsih;
  EXPECT_EQ(second.log_in(), kCannotInclude);
  RawIscsi third(daemon.port());
  third.requests.header.tsih = static_cast<std::uint16_t>(first.tsih + 1);
  EXPECT_EQ(third.log_in(), kSessionMissing);
}

TEST_F(DaemonTest, ConnectionsBeyondTheLimitAreClosed) {
  auto config = daemon_config();
  config.limits.connections = 1;
  RunningDaemon daemon(std::move(config));
  RawIscsi first(daemon.port());
  ASSERT_EQ(first.log_in(), 0);
  RawIscsi second(daemon.port());
  EXPECT_TRUE(second.sees_end());
  first.close();
  EXPECT_TRUE(eventually([&] { return RawIscsi(daemon.port()).log_in() == 0; }));
}

TEST_F(DaemonTest, DrainsAtOnceWhenNobodyIsThere) {
  RunningDaemon daemon;
  daemon->drain();
  daemon.join();
}

TEST_F(DaemonTest, DrainAsksForLogout) {
  auto config = daemon_config();
  config.limits.drain_timeout = 60;
  RunningDaemon daemon(std::move(config));
  RawIscsi host(daemon.port());
  ASSERT_EQ(host.log_in(), 0);
  daemon->drain();
  const auto message = host.receive();
  ASSERT_TRUE(message);
  ASSERT_EQ(message->bhs.opcode(), iscsi::Opcode::async_message);
  EXPECT_EQ(iscsi::decode<iscsi::AsyncMessage>(message->bhs)->event, 1);
  iscsi::LogoutRequest logout;
  logout.immediate = true;
  logout.initiator_task_tag = 6;
  logout.cmd_sn = 100;
  ASSERT_TRUE(host.send({encode(logout), {}, {}}));
  const auto answer = host.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->bhs.opcode(), iscsi::Opcode::logout_response);
  host.close();
  daemon.join();
}

TEST_F(DaemonTest, DrainEndsWhoDoesNotLogOut) {
  RunningDaemon daemon;
  RawIscsi host(daemon.port());
  ASSERT_EQ(host.log_in(), 0);
  daemon->drain();
  EXPECT_TRUE(host.sees_end());
  host.close();
  daemon.join();
}

TEST_F(DaemonTest, ASecondDrainDoesNotWait) {
  auto config = daemon_config();
  config.limits.drain_timeout = 3600;
  RunningDaemon daemon(std::move(config));
  RawIscsi host(daemon.port());
  ASSERT_EQ(host.log_in(), 0);
  RawIscsi half(daemon.port());
  ASSERT_TRUE(half.write("\x43"));
  daemon->drain();
  ASSERT_TRUE(host.receive());
  daemon->drain();
  EXPECT_TRUE(host.sees_end());
  host.close();
  half.close();
  daemon.join();
}

TEST_F(DaemonTest, ReloadAddsTargets) {
  RunningDaemon daemon;
  auto next = daemon_config();
  next.log_level = "off";
  next.targets.push_back(next.targets[0]);
  next.targets[1].name = "iqn.2026-11.org.example:disk2";
  daemon->reload(next);
  const auto logs_in = [&] {
    RawIscsi host(daemon.port());
    return host.log_in("InitiatorName=iqn.x:y|TargetName=iqn.2026-11.org.example:disk2|") == 0;
  };
  EXPECT_TRUE(eventually(logs_in));
}

// Sense key and additional sense code of TEST UNIT READY, in hexadecimal; "good" if it is that.
std::string readiness(RawSession& session) {
  const auto response =
      session.ask<iscsi::ScsiResponse>(test_unit_ready(0x20, session.next_cmd_sn()));
  if (!response) return "none";
  if (response->status == 0) return "good";
  const Bytes data = session.last->data.bytes();  // a length of two bytes, then the sense data
  return data.size() < 16 ? "short" : to_hex(data.subspan(4, 1)) + to_hex(data.subspan(14, 2));
}

TEST_F(DaemonTest, ReloadChangesHowAPortalGroupIsAccessed) {
  RunningDaemon daemon;
  RawSession session(daemon.port(), Carrier::plain);
  EXPECT_EQ(readiness(session), "good");
  auto next = daemon_config();
  next.log_level = "off";
  next.portals[0].alua = config::Portal::Alua::standby;
  daemon->reload(next);
  EXPECT_TRUE(eventually([&] { return readiness(session) == "062a06"; }));
  EXPECT_EQ(readiness(session), "02040b");
  next.portals[0].alua = config::Portal::Alua::active_non_optimized;
  daemon->reload(next);
  EXPECT_TRUE(eventually([&] { return readiness(session) == "062a06"; }));
  EXPECT_EQ(readiness(session), "good");
}

std::string start_error(config::Daemon config) {
  try {
    const Daemon daemon(std::move(config));
  } catch (const StartError& error) {
    return error.what();
  }
  return "none";
}

TEST_F(DaemonTest, APortalByVerbsWithoutADeviceIsASpokenError) {
  if (rdmap::verbs_device_carries("127.0.0.1")) GTEST_SKIP() << "an RDMA device has the loopback";
  auto config = daemon_config();
  config.portals[0].transport = config::Portal::Transport::verbs;
  EXPECT_EQ(start_error(std::move(config)).find("cannot listen by verbs at 127.0.0.1:0: "), 0u);
}

TEST_F(DaemonTest, APortInUseIsASpokenError) {
  RunningDaemon daemon;
  auto config = daemon_config();
  config.portals[0].port = daemon.port();
  config.portals[0].at = {3, 5};
  EXPECT_EQ(start_error(std::move(config)),
            "cannot listen at 127.0.0.1:" + std::to_string(daemon.port()) +
                " (line 3): Address already in use");
}

TEST_F(DaemonTest, AMissingFileIsASpokenError) {
  auto config = daemon_config();
  config.targets[0].luns[0].kind = config::Lun::Kind::file;
  config.targets[0].luns[0].size = 0;
  config.targets[0].luns[0].path = "/nonexistent/disk1.img";
  EXPECT_EQ(start_error(std::move(config)),
            "iqn.2026-11.org.example:disk1 LUN 0: cannot open /nonexistent/disk1.img: No such file "
            "or directory");
}

}  // namespace
}  // namespace openiser::target
