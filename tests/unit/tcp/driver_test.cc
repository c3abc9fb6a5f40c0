#include <thread>

#include "tests/support/tcp.h"

namespace openiser::rdmap {
namespace {

using std::chrono::milliseconds;
using test::pattern;
using test::run_until;
using test::ScriptedEndpoint;

// A driver with a scripted endpoint on one end of a connection.
struct End {
  End(EventLoop& loop, Socket socket)
      : driver(std::make_unique<TcpDriver>(loop, std::move(socket), [this](ErrorCode error) {
          ++closed;
          why = error;
        })) {}

  ScriptedEndpoint endpoint;
  int closed = 0;
  ErrorCode why;
  std::unique_ptr<TcpDriver> driver;
};

class TcpDriverTest : public ::testing::Test {
 protected:
  // Both ends driven.
  void start(int buffer = 0) {
    auto pair = test::connected_pair(buffer);
    first = std::make_unique<End>(loop, std::move(pair.first));
    second = std::make_unique<End>(loop, std::move(pair.second));
    first->driver->drive(first->endpoint);
    second->driver->drive(second->endpoint);
  }
  // One end driven, the other in the test's hands.
  void start_raw(int buffer = 0) {
    auto pair = test::connected_pair(buffer);
    first = std::make_unique<End>(loop, std::move(pair.first));
    peer = std::move(pair.second);
    first->driver->drive(first->endpoint);
  }
  bool until(const std::function<bool()>& condition) { return run_until(loop, condition); }
  // Lets everything that is ready happen.
  void settle() {
    int rounds = 0;
    EXPECT_TRUE(until([&] { return ++rounds > 50; }));
  }

  void peer_writes(std::string_view text) {
    EXPECT_EQ(::send(peer.fd(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // What the peer has got so far, until it would block or the end.
  std::string peer_reads() {
    std::string text(1 << 20, '\0');
    const ssize_t n = recv(peer.fd(), text.data(), text.size(), MSG_DONTWAIT);
    peer_sees_end = n == 0;
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  bool peer_gets_all(std::string& into) {
    return until([&] {
      into += peer_reads();
      return peer_sees_end;
    });
  }

  EventLoop loop;
  ScriptedEndpoint next;  // outlives the drivers
  std::unique_ptr<End> first;
  std::unique_ptr<End> second;
  Socket peer;
  bool peer_sees_end = false;
};

TEST_F(TcpDriverTest, AttachesBeforeAnythingElse) {
  start_raw();
  EXPECT_EQ(first->endpoint.attached, 1);
}

TEST_F(TcpDriverTest, DropsWithoutWaitingForThePeer) {
  start_raw(4096);
  first->endpoint.send(pattern(1 << 20));
  settle();
  first->endpoint.close(CloseWish::after_sending);
  settle();
  EXPECT_EQ(first->closed, 0) << "the peer reads nothing";
  first->driver->drop();
  EXPECT_EQ(first->closed, 0) << "not from inside the call";
  first->driver->drop();
  EXPECT_TRUE(until([&] { return first->closed > 0; }));
  settle();
  EXPECT_EQ(first->closed, 1);
  EXPECT_EQ(first->endpoint.closed, 1);
}

TEST_F(TcpDriverTest, DropsFromInsideATurn) {
  start_raw();
  first->endpoint.on_received = [&] { first->driver->drop(); };
  peer_writes("x");
  EXPECT_TRUE(until([&] { return first->closed > 0; }));
  settle();
  EXPECT_EQ(first->closed, 1);
  EXPECT_EQ(first->endpoint.closed, 1);
}

TEST_F(TcpDriverTest, CarriesBytesAndTheirEcho) {
  start();
  second->endpoint.echo = true;
  first->endpoint.send("hello");
  EXPECT_TRUE(until([&] { return first->endpoint.received_bytes == "hello"; }));
  EXPECT_EQ(second->endpoint.received_bytes, "hello");
}

TEST_F(TcpDriverTest, MovesMuchBothWaysAtOnce) {
  start();
  const std::string there = pattern(24 << 20, 1);
  const std::string back = pattern(24 << 20, 2);
  first->endpoint.send(there);
  second->endpoint.send(back);
  EXPECT_TRUE(until([&] {
    return first->endpoint.received_bytes.size() == back.size() &&
           second->endpoint.received_bytes.size() == there.size();
  }));
  EXPECT_TRUE(first->endpoint.received_bytes == back);
  EXPECT_TRUE(second->endpoint.received_bytes == there);
}

TEST_F(TcpDriverTest, FillsTinyAndScatteredWindows) {
  for (const auto& [window, pieces] : {std::pair{1u, 1u}, {7u, 3u}, {300u, 300u}, {5000u, 64u}}) {
    start();
    second->endpoint.window = window;
    second->endpoint.pieces = pieces;
    const std::string text = pattern(20000, window);
    first->endpoint.send(text);
    EXPECT_TRUE(until([&] { return second->endpoint.received_bytes.size() == text.size(); }));
    EXPECT_TRUE(second->endpoint.received_bytes == text) << window;
  }
}

TEST_F(TcpDriverTest, GathersManySmallPieces) {
  start();
  first->endpoint.gather_piece = 3;
  const std::string text = pattern(100000);
  first->endpoint.send(text);
  EXPECT_TRUE(until([&] { return second->endpoint.received_bytes.size() == text.size(); }));
  EXPECT_TRUE(second->endpoint.received_bytes == text);
}

TEST_F(TcpDriverTest, SendsOnWhenAFullSocketTakesMore) {
  start_raw(4096);
  const std::string text = pattern(1 << 20);
  first->endpoint.send(text);
  settle();
  EXPECT_GT(first->endpoint.unsent(), 0u);
  std::string got;
  EXPECT_TRUE(until([&] {
    got += peer_reads();
    return got.size() == text.size();
  }));
  EXPECT_TRUE(got == text);
}

TEST_F(TcpDriverTest, OneTurnSendsWhatSeveralCallsQueued) {
  start_raw();
  for (const char* part : {"a", "b", "c"}) first->endpoint.send(part);
  int sends = 0;
  first->endpoint.on_sent = [&] { ++sends; };
  EXPECT_TRUE(until([&] { return first->endpoint.sent_total == 3; }));
  EXPECT_EQ(sends, 1);
}

TEST_F(TcpDriverTest, TakesNothingWhileThereIsNoRoom) {
  start_raw();
  first->endpoint.capacity = 10;
  peer_writes("0123456789abcdef");
  EXPECT_TRUE(until([&] { return first->endpoint.received_bytes.size() == 10; }));
  settle();
  EXPECT_EQ(first->endpoint.received_bytes, "0123456789");
  first->endpoint.capacity = SIZE_MAX;
  first->endpoint.host->attention();
  EXPECT_TRUE(until([&] { return first->endpoint.received_bytes == "0123456789abcdef"; }));
}

TEST_F(TcpDriverTest, NoticesRoomThatSendingMakes) {
  start_raw();
  first->endpoint.window = 0;
  first->endpoint.on_sent = [&] { first->endpoint.offer(100); };
  peer_writes("data");
  settle();
  EXPECT_EQ(first->endpoint.received_bytes, "");
  first->endpoint.send("answer");
  EXPECT_TRUE(until([&] { return first->endpoint.received_bytes == "data"; }));
}

TEST_F(TcpDriverTest, AnIdleConnectionCostsNoTurns) {
  start_raw();
  first->endpoint.capacity = 0;
  peer_writes("waiting");
  settle();
  // Blocked or idle, the loop sleeps: run() returns only through the timer.
  Timer alarm(loop, [&] { loop.stop(); });
  alarm.set(loop.now() + milliseconds(20));
  const std::clock_t before = std::clock();
  loop.run();
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 100);
}

TEST_F(TcpDriverTest, ReportsAGracefulEndByThePeerOnce) {
  start_raw();
  peer_writes("last words");
  peer = Socket();
  EXPECT_TRUE(until([&] { return first->closed > 0; }));
  settle();
  EXPECT_EQ(first->endpoint.received_bytes, "last words");
  EXPECT_EQ(first->endpoint.closed, 1);
  EXPECT_EQ(first->endpoint.why, ErrorCode());
  EXPECT_EQ(first->closed, 1);
  EXPECT_EQ(first->endpoint.host, nullptr);
}

TEST_F(TcpDriverTest, AnswersWhatCameBeforeTheEnd) {
  start_raw();
  first->endpoint.echo = true;
  peer_writes("question");
  shutdown(peer.fd(), SHUT_WR);
  std::string got;
  EXPECT_TRUE(peer_gets_all(got));
  EXPECT_EQ(got, "question");
}

TEST_F(TcpDriverTest, ReportsAResetOnce) {
  start_raw();
  settle();
  test::reset(peer);
  EXPECT_TRUE(until([&] { return first->closed > 0; }));
  EXPECT_EQ(first->endpoint.closed, 1);
  EXPECT_EQ(first->endpoint.why, boost::system::errc::connection_reset);
  EXPECT_EQ(first->why, first->endpoint.why);
}

TEST_F(TcpDriverTest, ReportsAResetWhileSendingOnce) {
  start_raw(4096);
  first->endpoint.send(pattern(1 << 20));
  settle();
  test::reset(peer);
  EXPECT_TRUE(until([&] { return first->closed > 0; }));
  settle();
  EXPECT_EQ(first->endpoint.closed, 1);
  EXPECT_TRUE(first->why.failed());
}

TEST_F(TcpDriverTest, ClosesAfterSendingAll) {
  start_raw(4096);
  const std::string text = pattern(300000);
  first->endpoint.send(text);
  first->endpoint.close(CloseWish::after_sending);
  std::string got;
  EXPECT_TRUE(peer_gets_all(got));
  EXPECT_TRUE(got == text);
  EXPECT_EQ(first->closed, 0) << "did not wait for the peer's end";
  peer = Socket();
  EXPECT_TRUE(until([&] { return first->closed == 1; }));
  EXPECT_EQ(first->endpoint.closed, 1);
  EXPECT_EQ(first->why, ErrorCode());
}

// A close with unread input is a reset, which would destroy the last words on their way.
TEST_F(TcpDriverTest, LastWordsArriveThoughThePeerKeepsSending) {
  start_raw();
  peer_writes(pattern(100000));
  first->endpoint.window = 0;
  settle();
  first->endpoint.send("Terminate");
  first->endpoint.close(CloseWish::after_sending);
  std::string got;
  int writes = 0;
  EXPECT_TRUE(until([&] {
    if (writes < 100) writes += ::send(peer.fd(), "more", 4, MSG_NOSIGNAL) == 4;
    got += peer_reads();
    return peer_sees_end && writes == 100;
  }));
  EXPECT_EQ(got, "Terminate");
  EXPECT_EQ(first->endpoint.received_bytes, "");
}

TEST_F(TcpDriverTest, ClosesWhenThePeerEndedFirst) {
  start_raw();
  first->endpoint.on_received = [&] { first->endpoint.wish = CloseWish::after_sending; };
  first->endpoint.echo = true;
  peer_writes("logout");
  shutdown(peer.fd(), SHUT_WR);
  std::string got;
  EXPECT_TRUE(peer_gets_all(got));
  EXPECT_EQ(got, "logout");
  EXPECT_TRUE(until([&] { return first->closed == 1; }));
  EXPECT_EQ(first->why, ErrorCode());
}

TEST_F(TcpDriverTest, DoesNotWaitForeverForThePeersEnd) {
  start_raw();
  first->endpoint.close(CloseWish::after_sending);
  EXPECT_TRUE(until([&] { return first->closed == 1; }));
  EXPECT_EQ(first->why, ErrorCode());
}

TEST_F(TcpDriverTest, DoesNotWaitForeverForAPeerThatTakesNothing) {
  start_raw(4096);
  first->endpoint.send(pattern(1 << 20));
  first->endpoint.close(CloseWish::after_sending);
  EXPECT_TRUE(until([&] { return first->closed == 1; }));
  EXPECT_EQ(first->why, boost::system::errc::timed_out);
}

TEST_F(TcpDriverTest, ClosesAtOnce) {
  start_raw(4096);
  first->endpoint.send(pattern(1 << 20));
  settle();
  first->endpoint.close(CloseWish::at_once);
  EXPECT_TRUE(until([&] { return first->closed == 1; }));
  EXPECT_EQ(first->endpoint.closed, 1);
  EXPECT_GT(first->endpoint.unsent(), 0u);
  EXPECT_EQ(first->driver->socket().fd(), -1);
}

TEST_F(TcpDriverTest, LosesPatienceWhenTheWishBecomesAtOnce) {
  start_raw(4096);
  first->endpoint.send(pattern(1 << 20));
  first->endpoint.close(CloseWish::after_sending);
  settle();
  EXPECT_EQ(first->closed, 0);
  first->endpoint.close(CloseWish::at_once);
  settle();
  EXPECT_EQ(first->closed, 1);
}

TEST_F(TcpDriverTest, KeepsTheEndpointsDeadline) {
  start_raw();
  const Time due = loop.now() + milliseconds(20);
  first->endpoint.due = due;
  first->endpoint.host->attention();
  EXPECT_TRUE(until([&] { return first->endpoint.expirations == 1; }));
  EXPECT_GE(loop.now(), due);
}

TEST_F(TcpDriverTest, SendsWhatAnExpirationQueues) {
  start_raw();
  first->endpoint.on_expired = [&] { first->endpoint.send("ping"); };
  first->endpoint.due = loop.now();
  first->endpoint.host->attention();
  std::string got;
  EXPECT_TRUE(until([&] { return (got += peer_reads()) == "ping"; }));
}

TEST_F(TcpDriverTest, ReplacesTheEndpointWithoutLosingAByte) {
  start_raw(4096);
  const std::string text = pattern(200000);
  first->endpoint.send(text.substr(0, 150000));
  first->endpoint.capacity = 5;
  peer_writes("login and what follows");
  settle();
  ASSERT_GT(first->endpoint.unsent(), 0u);
  next.send(first->endpoint.take_unsent());
  next.send(text.substr(150000));
  first->driver->drive(next);
  EXPECT_EQ(first->endpoint.host, nullptr);
  std::string got;
  EXPECT_TRUE(until([&] { return (got += peer_reads()).size() == text.size(); }));
  EXPECT_TRUE(got == text);
  EXPECT_EQ(first->endpoint.received_bytes + next.received_bytes, "login and what follows");
  EXPECT_EQ(first->endpoint.closed, 0);
}

TEST_F(TcpDriverTest, ReplacesTheEndpointFromADeferredCall) {
  start_raw();
  auto old = std::make_unique<ScriptedEndpoint>();
  first->driver->drive(*old);
  old->on_received = [&] {
    loop.defer([&] {
      first->driver->drive(next);
      old.reset();
      next.send("new mode");
    });
  };
  peer_writes("switch");
  std::string got;
  EXPECT_TRUE(until([&] { return (got += peer_reads()) == "new mode"; }));
  peer_writes("x");
  EXPECT_TRUE(until([&] { return next.received_bytes == "x"; }));
}

TEST_F(TcpDriverTest, AnEndpointDrivenAfterTheEndIsTold) {
  start_raw();
  test::reset(peer);
  EXPECT_TRUE(until([&] { return first->closed == 1; }));
  first->driver->drive(next);
  EXPECT_EQ(next.closed, 0);
  EXPECT_TRUE(until([&] { return next.closed == 1; }));
  EXPECT_EQ(next.why, first->why);
  EXPECT_EQ(first->closed, 1);
}

// --- destruction in every state ---

class TcpDriverDestructionTest : public TcpDriverTest {
 protected:
  void destroy() {
    first->driver.reset();
    EXPECT_EQ(first->endpoint.host, nullptr);
  }
  void nothing_more_happens() {
    settle();
    EXPECT_EQ(first->closed, 0);
    EXPECT_EQ(first->endpoint.closed, 0);
  }
};

TEST_F(TcpDriverDestructionTest, NeverDriven) {
  auto pair = test::connected_pair();
  End end(loop, std::move(pair.first));
  end.driver.reset();
  settle();
  EXPECT_EQ(end.closed, 0);
}

TEST_F(TcpDriverDestructionTest, BeforeTheFirstTurn) {
  start_raw();
  destroy();
  nothing_more_happens();
}

TEST_F(TcpDriverDestructionTest, WhileWaitingForInputAndOutput) {
  start_raw(4096);
  first->endpoint.send(pattern(1 << 20));
  first->endpoint.due = loop.now() + milliseconds(1);
  settle();
  destroy();
  nothing_more_happens();
  std::string got;
  EXPECT_TRUE(peer_gets_all(got));
}

TEST_F(TcpDriverDestructionTest, WithReadinessAlreadyNoticed) {
  start_raw();
  settle();
  peer_writes("data");
  loop.post([&] { destroy(); });
  nothing_more_happens();
}

TEST_F(TcpDriverDestructionTest, WhileLingering) {
  start_raw();
  first->endpoint.close(CloseWish::after_sending);
  settle();
  destroy();
  nothing_more_happens();
}

TEST_F(TcpDriverDestructionTest, InsideReceived) {
  start_raw();
  first->endpoint.on_received = [&] { first->driver.reset(); };
  peer_writes("data");
  EXPECT_TRUE(until([&] { return !first->driver; }));
  nothing_more_happens();
}

TEST_F(TcpDriverDestructionTest, InsideSent) {
  start_raw();
  first->endpoint.on_sent = [&] { first->driver.reset(); };
  first->endpoint.send("data");
  EXPECT_TRUE(until([&] { return !first->driver; }));
  nothing_more_happens();
}

TEST_F(TcpDriverDestructionTest, InsideExpired) {
  start_raw();
  first->endpoint.on_expired = [&] { first->driver.reset(); };
  first->endpoint.due = loop.now();
  EXPECT_TRUE(until([&] { return !first->driver; }));
  nothing_more_happens();
}

TEST_F(TcpDriverDestructionTest, InsideTransportClosed) {
  start_raw();
  first->endpoint.on_closed = [&] { first->driver.reset(); };
  peer = Socket();
  EXPECT_TRUE(until([&] { return !first->driver; }));
  settle();
  EXPECT_EQ(first->closed, 0) << "the owner that destroyed it need not be told";
}

TEST_F(TcpDriverDestructionTest, InsideClosedTogetherWithTheEndpoint) {
  auto pair = test::connected_pair();
  auto endpoint = std::make_unique<ScriptedEndpoint>();
  std::unique_ptr<TcpDriver> driver;
  bool done = false;
  driver = std::make_unique<TcpDriver>(loop, std::move(pair.first), [&](ErrorCode) {
    endpoint.reset();
    driver.reset();
    done = true;
  });
  driver->drive(*endpoint);
  pair.second = Socket();
  EXPECT_TRUE(until([&] { return done; }));
  settle();
}

TEST_F(TcpDriverDestructionTest, TheLoopMayGoWithHandlersPending) {
  auto own_loop = std::make_unique<EventLoop>();
  auto pair = test::connected_pair();
  auto end = std::make_unique<End>(*own_loop, std::move(pair.first));
  end->driver->drive(end->endpoint);
  int rounds = 0;
  EXPECT_TRUE(run_until(*own_loop, [&] { return ++rounds > 10; }));
  end.reset();
  own_loop.reset();
}

// Two loops on two threads, as in the daemon: each connection stays on its own.
TEST(TcpDriverThreads, ConnectionsOfSeveralLoopsTalk) {
  auto pair = test::connected_pair();
  EventLoop here;
  EventLoop there;
  std::thread thread([&there] { there.run(); });
  const std::string text = pattern(8 << 20);
  std::unique_ptr<End> far;
  there.post([&, socket = std::make_shared<Socket>(std::move(pair.second))] {
    far = std::make_unique<End>(there, std::move(*socket));
    far->endpoint.echo = true;
    far->driver->drive(far->endpoint);
  });
  End near(here, std::move(pair.first));
  near.driver->drive(near.endpoint);
  near.endpoint.send(text);
  EXPECT_TRUE(run_until(here, [&] { return near.endpoint.received_bytes.size() == text.size(); }));
  EXPECT_TRUE(near.endpoint.received_bytes == text);
  there.post([&] {
    far.reset();
    there.stop();
  });
  thread.join();
}

}  // namespace
}  // namespace openiser::rdmap
