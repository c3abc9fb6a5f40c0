// Sessions that come, work and go, hundreds of times and at once: reinstated, logged out, dropped,
// always with commands under way (fault 44, 45, 48 and 54).
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "tests/support/hostile_fixture.h"
#include "tests/support/raw_session.h"

namespace openiser::test {
namespace {

constexpr rdmap::RemoteMemory kMemory{rdmap::Stag{0x77}, 0};
constexpr int kInFlight = 16;

// Reads and writes whose data and answers nobody waits for.
void leave_commands(RawSession& session) {
  for (std::uint32_t i = 0; i < kInFlight; ++i) {
    const bool read = i % 2 == 0;
    session.send(
        block_command(read ? kRead10 : kWrite10, 0x100 + i, session.next_cmd_sn(), i * 8,
                      static_cast<std::uint16_t>(8 + i)),
        read ? iser::ControlHeader{.read = kMemory} : iser::ControlHeader{.write = kMemory});
  }
}

class StormTest : public HostileCaseTest<Carrier> {
 protected:
  RawSession busy_session(std::uint8_t initiator_port = 5) {
    RawSession session(port(), GetParam(), initiator_port);
    leave_commands(session);
    return session;
  }
};

// Each login takes the place of the one before, whose commands are still open.
TEST_P(StormTest, Reinstatement) {
  serve();
  std::unique_ptr<RawSession> before;
  for (int round = 0; round < 300; ++round) {
    auto now = std::make_unique<RawSession>(port(), GetParam());
    if (before) {
      EXPECT_TRUE(before->socket().sees_end()) << round;
    }
    leave_commands(*now);
    before = std::move(now);
  }
}

// Some reinstatements are given up before they are granted. Each round is another initiator port:
// what it leaves behind is not the next one's concern.
TEST_P(StormTest, ReinstatementThatIsBrokenOff) {
  serve();
  const std::string keys = GetParam() == Carrier::plain ? "" : kRfc7145Keys;
  for (std::uint8_t round = 0; round < 30; ++round) {
    const RawSession session = busy_session(round);
    const auto again = [&](RawIscsi& peer) { peer.requests.header.isid[5] = std::byte{round}; };
    RawIscsi unfinished(port());
    again(unfinished);
    ASSERT_EQ(unfinished.ask(0, 1, names("AuthMethod=None|")), 0);
    if (round % 3 == 0) unfinished.reset();
    RawIscsi unheard(port());
    again(unheard);
    ASSERT_TRUE(unheard.send(unheard.requests.at(1, 3, names(keys))));
    if (round % 2 == 0) unheard.reset();
    RawIscsi refused(port());
    again(refused);
    EXPECT_NE(refused.log_in(names("RDMAExtensions=Perhaps|")), 0);
  }
}

TEST_P(StormTest, Drops) {
  serve();
  for (int round = 0; round < 60; ++round) {
    RawSession session = busy_session();
    if (round % 2 == 0) session.socket().reset();
  }
}

// A logout with commands under way: they are aborted, the response comes, the target closes
// (RFC 7143 section 11.14, RFC 7145 section 5.2.1).
TEST_P(StormTest, Logouts) {
  serve();
  for (int round = 0; round < 60; ++round) {
    RawSession session = busy_session();
    if (session.is_iser()) session.iser().answers_reads = true;
    ASSERT_TRUE(session.send(logout(0x99, 0)));
    bool answered = false;
    while (const auto pdu = session.receive())
      answered |= pdu->bhs.opcode() == iscsi::Opcode::logout_response;
    EXPECT_TRUE(answered) << round;
    EXPECT_TRUE(session.socket().sees_end());
  }
}

// The data of a write never comes, nor anything else: a logout is not kept open for it.
TEST_P(StormTest, ALogoutWithAnUnansweredReadEndsInTime) {
  auto config = daemon_config();
  config.limits.nop_timeout = 1;
  serve(std::move(config));
  RawSession session(port(), GetParam());
  ASSERT_TRUE(
      session.send(block_command(kWrite10, 0x20, session.next_cmd_sn(), 0, 8), {.write = kMemory}));
  ASSERT_TRUE(session.send(logout(0x99, 0)));
  EXPECT_TRUE(session.socket().sees_end());
}

TEST_P(StormTest, ManyAtOnce) {
  serve();
  std::vector<std::thread> threads;
  for (std::uint8_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int round = 0; round < 25; ++round) {
        // All threads are the same initiator port: they reinstate each other, also in mid-login.
        RawIscsi raw(port());
        if (t % 2 == 0) {
          raw.log_in();
        } else {
          raw.send(raw.requests.at(1, 3, names(kRfc7145Keys)));
        }
        if (round % 3 == 0) raw.reset();
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Carriers, StormTest, ::testing::ValuesIn(kCarriers),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace openiser::test
