#include "base/fifo.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

namespace openiser {
namespace {

using Queue = Fifo<std::unique_ptr<int>, 4>;

TEST(Fifo, BehavesLikeADeque) {
  std::mt19937 random(7);
  Queue queue;
  std::deque<int> model;
  for (int i = 0; i < 10000; ++i) {
    // Long growing and shrinking stretches, and to and fro around the ends of blocks.
    const bool grow = (i / 50 % 2 == 0) != (random() % 4 == 0);
    if (grow) {
      EXPECT_EQ(*queue.push_back(std::make_unique<int>(i)), i);
      model.push_back(i);
    } else if (!model.empty()) {
      queue.pop_front();
      model.pop_front();
    }
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.empty(), model.empty());
    for (std::size_t n = 0; n < model.size(); ++n) ASSERT_EQ(*queue[n], model[n]);
    if (!model.empty()) {
      ASSERT_EQ(*queue.front(), model.front());
      ASSERT_EQ(*queue.back(), model.back());
    }
  }
}

TEST(Fifo, ElementsStayWhereTheyAre) {
  Queue queue;
  const std::unique_ptr<int>* const first = &queue.push_back(std::make_unique<int>(0));
  const std::unique_ptr<int>* const second = &queue.push_back(std::make_unique<int>(1));
  for (int i = 2; i < 100; ++i) queue.push_back(std::make_unique<int>(i));
  EXPECT_EQ(&queue[0], first);
  queue.pop_front();
  EXPECT_EQ(&queue[0], second);
}

TEST(Fifo, DestroysWhatItLetsGo) {
  const auto shared = std::make_shared<int>(1);
  {
    Fifo<std::shared_ptr<int>, 4> queue;
    for (int i = 0; i < 10; ++i) queue.emplace_back(shared);
    EXPECT_EQ(shared.use_count(), 11);
    for (int i = 0; i < 5; ++i) queue.pop_front();
    EXPECT_EQ(shared.use_count(), 6);
    queue.clear();
    EXPECT_EQ(shared.use_count(), 1);
    queue.emplace_back(shared);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

}  // namespace
}  // namespace openiser
