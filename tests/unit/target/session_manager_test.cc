#include "target/session_manager.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "iscsi/errors.h"
#include "tests/support/tcp.h"

namespace openiser::target {
namespace {

using iscsi::errc;

NexusName nexus(unsigned char isid = 1, std::string target = "iqn.2026-11.org.example:disk1") {
  return {.initiator_name = "iqn.2026-11.org.example:host",
          .isid = {std::byte{isid}},
          .target_name = std::move(target),
          .portal_group_tag = 1};
}

struct Member final : SessionManager::Member {
  void admitted(std::uint16_t given) override { tsih = given; }
  void end_session(ErrorCode why) override { ended.push_back(why); }

  std::optional<std::uint16_t> tsih;
  std::vector<ErrorCode> ended;
  SessionManager::Ticket ticket;
};

class SessionManagerTest : public ::testing::Test {
 protected:
  void join(Member& member, NexusName name = nexus()) {
    auto ticket = manager.join(std::move(name), "192.0.2.1:1000", loop, member);
    ASSERT_TRUE(ticket);
    member.ticket = std::move(*ticket);
  }
  void settle() {
    bool done = false;
    loop.post([&] { done = true; });
    EXPECT_TRUE(test::run_until(loop, [&] { return done; }));
  }

  rdmap::EventLoop loop;
  SessionManager manager;
  Member a, b, c;
};

TEST_F(SessionManagerTest, AdmitsAtOnceButNotFromInsideJoin) {
  join(a);
  EXPECT_EQ(a.tsih, std::nullopt);
  settle();
  ASSERT_TRUE(a.tsih);
  EXPECT_NE(*a.tsih, 0);
}

TEST_F(SessionManagerTest, DifferentNexusesDoNotMeet) {
  join(a, nexus(1));
  join(b, nexus(2));
  join(c, nexus(1, "iqn.2026-11.org.example:disk2"));
  settle();
  ASSERT_TRUE(a.tsih && b.tsih && c.tsih);
  EXPECT_NE(*a.tsih, *b.tsih);
  EXPECT_TRUE(a.ended.empty());
}

TEST_F(SessionManagerTest, ReinstatementWaitsForTheOldSessionToGo) {
  join(a);
  join(b);
  settle();
  EXPECT_EQ(a.ended, std::vector{make_error_code(errc::reinstated)});
  EXPECT_EQ(b.tsih, std::nullopt) << "granted while the old session was there";
  a.ticket = {};
  settle();
  EXPECT_TRUE(b.tsih);
  EXPECT_TRUE(b.ended.empty());
}

TEST_F(SessionManagerTest, TheLastOfSeveralReinstatementsWins) {
  join(a);
  join(b);
  join(c);
  settle();
  EXPECT_EQ(a.ended.size(), 1u);
  EXPECT_EQ(b.ended, std::vector{make_error_code(errc::reinstated)});
  b.ticket = {};
  a.ticket = {};
  settle();
  EXPECT_EQ(b.tsih, std::nullopt);
  EXPECT_TRUE(c.tsih);
}

// Those that wait are meant as well; whoever is told goes as ever.
TEST_F(SessionManagerTest, EndsThoseThatAreChosen) {
  join(a);
  join(b);
  join(c, nexus(9));
  std::size_t asked = 0;
  manager.end_where(
      [&](const SessionManager::SessionInfo& session) {
        ++asked;
        EXPECT_EQ(session.peer_address, "192.0.2.1:1000");
        return session.nexus.isid == nexus(1).isid;
      },
      errc::terminated);
  settle();
  EXPECT_EQ(asked, 3u);
  EXPECT_EQ(a.ended.back(), errc::terminated);
  EXPECT_EQ(b.ended, std::vector{make_error_code(errc::terminated)});
  EXPECT_TRUE(c.ended.empty());
  EXPECT_EQ(manager.list().size(), 3u) << "until they have gone";
}

TEST_F(SessionManagerTest, OneThatWaitsMayGoFirst) {
  join(a);
  join(b);
  b.ticket = {};
  a.ticket = {};
  join(c);
  settle();
  EXPECT_TRUE(c.tsih);
  EXPECT_EQ(b.tsih, std::nullopt);
}

TEST_F(SessionManagerTest, NothingIsToldOnceTheTicketIsGone) {
  join(a);
  a.ticket = {};
  settle();
  EXPECT_EQ(a.tsih, std::nullopt);
  join(a);
  settle();
  join(b);
  a.ticket = {};  // the word of its end is under way
  settle();
  EXPECT_TRUE(a.ended.empty());
  EXPECT_TRUE(b.tsih);
}

TEST_F(SessionManagerTest, DiscoverySessionsTakeNobodysPlace) {
  join(a, nexus(1, ""));
  join(b, nexus(1, ""));
  settle();
  EXPECT_TRUE(a.tsih && b.tsih);
  EXPECT_TRUE(a.ended.empty());
}

TEST_F(SessionManagerTest, ListsSessionsWithTheirWire) {
  join(a, nexus(1));
  join(b, nexus(2));
  settle();
  a.ticket.set_wire("plain");
  const auto all = manager.list();
  ASSERT_EQ(all.size(), 2u);
  const auto& first = all[0].tsih == *a.tsih ? all[0] : all[1];
  EXPECT_EQ(first.wire, "plain");
  EXPECT_EQ(first.peer_address, "192.0.2.1:1000");
  EXPECT_TRUE(manager.exists(*a.tsih, nexus().initiator_name));
  EXPECT_FALSE(manager.exists(*a.tsih, "iqn.2026-11.org.example:other"));
  EXPECT_FALSE(manager.exists(0, nexus().initiator_name));
  a.ticket = {};
  EXPECT_EQ(manager.list().size(), 1u);
}

TEST_F(SessionManagerTest, RefusesWhenEveryTsihIsInUse) {
  std::vector<std::unique_ptr<Member>> all;
  for (int i = 0; i < 0xffff; ++i) {
    all.push_back(std::make_unique<Member>());
    join(*all.back(), nexus(1, ""));
  }
  const auto refused = manager.join(nexus(), "", loop, a);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::login_out_of_resources);
  all.pop_back();
  join(a);
  settle();
  EXPECT_TRUE(a.tsih);
}

// Reinstatement loops of several threads over one nexus: for the thread sanitizer above all.
TEST(SessionManagerThreads, OneHolderAtATime) {
  constexpr int kThreads = 4, kRounds = 200;
  SessionManager manager;
  std::atomic<int> holders = 0;
  std::atomic<int> most = 0;

  struct Contender final : SessionManager::Member {
    Contender(SessionManager& sessions, std::atomic<int>& now, std::atomic<int>& peak)
        : manager(sessions), holders(now), most(peak) {}
    void start() { ticket = std::move(*manager.join(nexus(), "", loop, *this)); }
    void admitted(std::uint16_t) override {
      holding = true;
      const int now = ++holders;
      if (now > most) most = now;
      loop.post([this] { end_session({}); });
    }
    void end_session(ErrorCode) override {
      if (!ticket) return;
      if (std::exchange(holding, false)) --holders;
      ticket = {};
      if (++rounds < kRounds) {
        loop.post([this] { start(); });
      } else {
        loop.stop();
      }
    }
    SessionManager& manager;
    std::atomic<int>& holders;
    std::atomic<int>& most;
    rdmap::EventLoop loop;
    bool holding = false;
    int rounds = 0;
    SessionManager::Ticket ticket;
  };

  std::vector<std::unique_ptr<Contender>> contenders;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    contenders.push_back(std::make_unique<Contender>(manager, holders, most));
    threads.emplace_back([&contender = *contenders.back()] {
      contender.loop.post([&contender] { contender.start(); });
      contender.loop.run();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(holders, 0);
  EXPECT_TRUE(manager.list().empty());
}

}  // namespace
}  // namespace openiser::target
