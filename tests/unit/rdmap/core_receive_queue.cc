#include <gtest/gtest.h>

#include <array>
#include <set>

#include "rdmap/core/work_queue.h"
#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

// However many receives are posted: what one session has ever written to is what it needed at one
// time.
TEST(ReceiveQueue, UsesNoMoreBuffersThanAreOutAtOneTime) {
  ReceiveQueue receives;
  CompletionQueue completions;
  for (WorkId id = 0; id < 400; ++id) receives.post(Buffer::allocate(16), id);
  std::set<WorkId> used;
  for (int i = 0; i < 1000; ++i) {
    const int burst = 1 + i % 3;
    std::array<Completion, 3> done;
    for (int n = 0; n < burst; ++n) receives.complete(16, {}, false, completions);
    ASSERT_EQ(completions.poll(done), static_cast<std::size_t>(burst));
    for (Completion& one : std::span(done).first(static_cast<std::size_t>(burst))) {
      used.insert(one.id);
      receives.post(std::move(one.buffer), one.id);
    }
  }
  EXPECT_EQ(used.size(), 3u);
}

TEST(ReceiveQueue, AMessageKeepsItsBufferWhateverIsPostedMeanwhile) {
  ReceiveQueue receives;
  CompletionQueue completions;
  receives.post(Buffer::allocate(16), 1);
  const std::byte* const place = receives.current().data();
  receives.post(Buffer::allocate(16), 2);
  EXPECT_EQ(receives.current().data(), place);
  receives.complete(3, {}, false, completions);
  Completion done;
  ASSERT_EQ(completions.poll({&done, 1}), 1u);
  EXPECT_EQ(done.id, 1u);
  EXPECT_EQ(done.buffer.data(), place);
  EXPECT_EQ(done.buffer.size(), 3u);
  EXPECT_NE(receives.current().data(), place);
}

TEST(ReceiveQueue, AbandonGivesAllBackThatOfAHalfMessageToo) {
  ReceiveQueue receives;
  CompletionQueue completions;
  for (WorkId id = 0; id < 3; ++id) receives.post(Buffer::allocate(16), id);
  receives.current();
  receives.abandon(errc::flushed, completions);
  std::array<Completion, 4> done;
  EXPECT_EQ(completions.poll(done), 3u);
  EXPECT_TRUE(receives.empty());
}

}  // namespace
}  // namespace openiser::rdmap
