#include "base/thread_spares.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/fifo.h"

namespace openiser {
namespace {

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  static inline int alive = 0;
};

TEST(ThreadSpares, TheLastThatWasGivenIsTheFirstToBeTaken) {
  using Spares = ThreadSpares<int>;
  std::unique_ptr<int> one = Spares::take();
  std::unique_ptr<int> other = Spares::take();
  int* const first = one.get();
  int* const last = other.get();
  Spares::give(std::move(one));
  Spares::give(std::move(other));
  EXPECT_EQ(Spares::take().release(), last);
  EXPECT_EQ(Spares::take().release(), first);
  delete first;
  delete last;
}

TEST(ThreadSpares, NoMoreAreKeptThanWasSaid) {
  using Spares = ThreadSpares<Counted, 3>;
  std::vector<std::unique_ptr<Counted>> all;
  for (int n = 0; n != 5; ++n) all.push_back(Spares::take());
  EXPECT_EQ(Counted::alive, 5);
  for (auto& each : all) Spares::give(std::move(each));
  EXPECT_EQ(Counted::alive, 3);
}

// One that outlives what the thread keeps.
struct Late {
  ~Late() {
    if (spare) ThreadSpares<Counted, 7>::give(std::move(spare));
    ThreadSpares<Counted, 7>::give(ThreadSpares<Counted, 7>::take());
  }
  std::unique_ptr<Counted> spare;
};

TEST(ThreadSpares, NothingIsKeptBeyondTheThreadsEnd) {
  const int before = Counted::alive;
  std::thread([] {
    thread_local Late late;
    late.spare = ThreadSpares<Counted, 7>::take();
    ThreadSpares<Counted, 7>::give(ThreadSpares<Counted, 7>::take());
  }).join();
  EXPECT_EQ(Counted::alive, before);
}

TEST(ThreadSpares, AQueueTakesTheBlockThatAnotherLetGo) {
  Fifo<long, 8> one;
  const long* const where = &one.push_back(1);
  one.pop_front();
  Fifo<long, 8> other;
  EXPECT_EQ(&other.push_back(2), where);
  EXPECT_NE(&one.push_back(3), where);
}

}  // namespace
}  // namespace openiser
