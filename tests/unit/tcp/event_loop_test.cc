#include "rdmap/tcp/event_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "rdmap/tcp/poll_patience.h"
#include "tests/support/tcp.h"

namespace openiser::rdmap {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::run_until;

// How long the loop polls before it sleeps.
class EventLoopTest : public ::testing::TestWithParam<Duration> {};

INSTANTIATE_TEST_SUITE_P(Polling, EventLoopTest,
                         ::testing::Values(Duration(0), std::chrono::microseconds(1),
                                           std::chrono::seconds(1)),
                         [](const auto& info) { return std::to_string(info.param.count()); });

TEST(PollPatience, GrowsWhereItPaysAndEndsWhereItDoesNot) {
  PollPatience patience(milliseconds(16));
  EXPECT_EQ(patience.now(), milliseconds(16));
  for (int i = 0; i < 4; ++i) patience.note(milliseconds(17));
  EXPECT_EQ(patience.now(), milliseconds(1));
  patience.note(milliseconds(17));
  EXPECT_EQ(patience.now(), Duration(0));
  patience.note(milliseconds(16));
  EXPECT_EQ(patience.now(), milliseconds(1));
  for (int i = 0; i < 10; ++i) patience.note(milliseconds(1));
  EXPECT_EQ(patience.now(), milliseconds(16));
}

TEST_P(EventLoopTest, RunsPostedCallsInOrder) {
  EventLoop loop(GetParam());
  std::string order;
  for (const char c : {'a', 'b', 'c'}) loop.post([&order, c] { order += c; });
  EXPECT_TRUE(run_until(loop, [&] { return order.size() == 3; }));
  EXPECT_EQ(order, "abc");
}

TEST_P(EventLoopTest, RunsADeferredCallAfterTheCurrentOne) {
  EventLoop loop(GetParam());
  std::string order;
  loop.post([&] {
    loop.defer([&] { order += "deferred"; });
    order += "current ";
  });
  EXPECT_TRUE(run_until(loop, [&] { return order.size() > 8; }));
  EXPECT_EQ(order, "current deferred");
}

TEST_P(EventLoopTest, AStopBeforeRunIsNotLost) {
  EventLoop loop(GetParam());
  loop.stop();
  loop.run();
  bool ran = false;
  loop.post([&] { ran = true; });
  EXPECT_TRUE(run_until(loop, [&] { return ran; }));
}

TEST_P(EventLoopTest, TakesCallsFromOtherThreads) {
  EventLoop loop(GetParam());
  constexpr int kThreads = 4, kCalls = 1000;
  int calls = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) loop.post([&calls] { ++calls; });
    });
  }
  EXPECT_TRUE(run_until(loop, [&] { return calls == kThreads * kCalls; }));
  for (auto& thread : threads) thread.join();
}

TEST_P(EventLoopTest, APostWakesALoopThatWaits) {
  EventLoop loop(GetParam());
  std::thread thread([&] { loop.run(); });
  std::atomic<bool> inside = false;
  loop.post([&] {
    inside = loop.on_this_thread();
    loop.stop();
  });
  thread.join();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(loop.on_this_thread());
}

TEST_P(EventLoopTest, DestroysCallsThatNeverRan) {
  auto token = std::make_shared<int>(1);
  {
    EventLoop loop(GetParam());
    loop.post([token] {});
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Timer, GoesOffOnceAndNotEarly) {
  EventLoop loop;
  int calls = 0;
  const Time due = loop.now() + milliseconds(20);
  Timer timer(loop, [&] {
    ++calls;
    EXPECT_GE(loop.now(), due);
  });
  timer.set(due);
  bool later = false;
  Timer end(loop, [&] { later = true; });
  end.set(due + milliseconds(30));
  EXPECT_TRUE(run_until(loop, [&] { return later; }));
  EXPECT_EQ(calls, 1);
}

TEST(Timer, FollowsADeadlineThatMovesEitherWay) {
  EventLoop loop;
  int calls = 0;
  const Time start = loop.now();
  Timer timer(loop, [&] { ++calls; });
  timer.set(start + hours(1));
  timer.set(start + milliseconds(10));  // earlier
  timer.set(start + milliseconds(50));  // later again
  EXPECT_TRUE(run_until(loop, [&] { return calls > 0; }));
  EXPECT_GE(loop.now(), start + milliseconds(50));
}

TEST(Timer, CanBeSetAgainFromItsOwnCall) {
  EventLoop loop;
  int calls = 0;
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(loop, [&] {
    if (++calls < 3) timer->set(loop.now());
  });
  timer->set(loop.now());
  EXPECT_TRUE(run_until(loop, [&] { return calls == 3; }));
}

TEST(Timer, IsSilentOnceCancelledOrDestroyed) {
  EventLoop loop;
  int calls = 0;
  const Time due = loop.now() + milliseconds(5);
  Timer cancelled(loop, [&] { ++calls; });
  auto destroyed = std::make_unique<Timer>(loop, [&] { ++calls; });
  cancelled.set(due);
  destroyed->set(due);
  cancelled.set({});
  destroyed.reset();
  bool later = false;
  Timer end(loop, [&] { later = true; });
  end.set(due + milliseconds(20));
  EXPECT_TRUE(run_until(loop, [&] { return later; }));
  EXPECT_EQ(calls, 0);
}

TEST(Timer, DestroyedWhenAlreadyDueStaysSilent) {
  EventLoop loop;
  int calls = 0;
  const Time due = loop.now();
  std::unique_ptr<Timer> second;
  Timer first(loop, [&] { second.reset(); });
  second = std::make_unique<Timer>(loop, [&] { ++calls; });
  first.set(due);
  second->set(due + std::chrono::nanoseconds(1));
  bool later = false;
  Timer end(loop, [&] { later = true; });
  end.set(due + milliseconds(5));
  EXPECT_TRUE(run_until(loop, [&] { return later; }));
  EXPECT_EQ(calls, 0);
}

TEST(Timer, MayDestroyItselfInItsCall) {
  EventLoop loop;
  std::unique_ptr<Timer> timer;
  bool went_off = false;
  timer = std::make_unique<Timer>(loop, [&] {
    timer.reset();
    went_off = true;
  });
  timer->set(loop.now());
  EXPECT_TRUE(run_until(loop, [&] { return went_off; }));
}

class ReadableWatchTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_GE(fd, 0); }
  void TearDown() override { ::close(fd); }
  void signal() { EXPECT_EQ(eventfd_write(fd, 1), 0); }
  void take() {
    eventfd_t value = 0;
    EXPECT_EQ(eventfd_read(fd, &value), 0);
  }

  EventLoop loop;
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
};

TEST_F(ReadableWatchTest, CallsEachTimeThereIsSomething) {
  int calls = 0;
  ReadableWatch watch(loop, fd, [&] {
    take();
    if (++calls < 3) signal();
  });
  signal();
  EXPECT_TRUE(run_until(loop, [&] { return calls == 3; }));
}

TEST_F(ReadableWatchTest, CallsAgainWhileTheDescriptorStaysReadable) {
  int calls = 0;
  ReadableWatch watch(loop, fd, [&] { ++calls; });
  signal();
  EXPECT_TRUE(run_until(loop, [&] { return calls >= 3; }));
}

TEST_F(ReadableWatchTest, LeavesTheDescriptorOpen) {
  {
    ReadableWatch watch(loop, fd, [] {});
  }
  signal();
  take();
}

TEST_F(ReadableWatchTest, MayBeDestroyedInItsCall) {
  std::unique_ptr<ReadableWatch> watch;
  int calls = 0;
  watch = std::make_unique<ReadableWatch>(loop, fd, [&] {
    ++calls;
    watch.reset();
  });
  signal();
  EXPECT_TRUE(run_until(loop, [&] { return calls > 0; }));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace openiser::rdmap
