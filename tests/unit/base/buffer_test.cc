#include "base/buffer.h"

#include <gtest/gtest.h>

#include <vector>

namespace openiser {
namespace {

TEST(BufferPool, GivesTheExactWindowAndTakesTheBlockBack) {
  BufferPool pool;
  for (const std::size_t size : {0, 1, 255, 256, 257, 4096, 1 << 20, 1 << 24}) {
    Buffer buffer = pool.take(size);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_GE(pool.outstanding(), size);
    if (size > 0) buffer.bytes().back() = std::byte{1};
    buffer.reset();
    EXPECT_EQ(pool.outstanding(), 0u);
  }
}

TEST(BufferPool, ReusesABlock) {
  BufferPool pool;
  Buffer first = pool.take(1000);
  const std::byte* where = first.data();
  first.reset();
  EXPECT_EQ(pool.take(900).data(), where);
}

TEST(BufferPool, GivesNothingBeyondItsLimitOrItsLargestClass) {
  BufferPool pool(8192);
  Buffer first = pool.take(4096);
  Buffer second = pool.take(4096);
  EXPECT_TRUE(second);
  EXPECT_FALSE(pool.take(1));
  first.reset();
  EXPECT_TRUE(pool.take(4096));
  EXPECT_FALSE(BufferPool().take((std::size_t{1} << 24) + 1));
}

TEST(BufferPool, MayDieBeforeItsLeases) {
  Buffer survivor;
  {
    BufferPool pool;
    survivor = pool.take(5000);
  }
  survivor.bytes()[4999] = std::byte{7};
  survivor.reset();  // the address sanitizer sees a leak or a double free here
}

TEST(Buffer, WindowMovesWithinTheBlock) {
  Buffer buffer = Buffer::allocate(10);
  buffer.trim_front(4);
  EXPECT_EQ(buffer.size(), 6u);
  EXPECT_EQ(buffer.room(), 6u);
  buffer.resize(2);
  EXPECT_EQ(buffer.bytes().size(), 2u);
  buffer.resize(6);
  buffer.reset_window();
  EXPECT_EQ(buffer.size(), 10u);
}

class CountingOwner final : public BufferOwner {
 public:
  void release(std::byte*, std::size_t) noexcept override { ++released; }
  int released = 0;
};

TEST(Buffer, TellsItsOwnerOnceHoweverOftenItMoves) {
  CountingOwner owner;
  std::vector<std::byte> memory(8);
  {
    Buffer first(memory.data(), memory.size(), &owner);
    Buffer second = std::move(first);
    first = std::move(second);
    second = Buffer();
    EXPECT_TRUE(first);
    EXPECT_EQ(owner.released, 0);
  }
  EXPECT_EQ(owner.released, 1);
}

TEST(Buffer, AssignmentReleasesWhatWasHeld) {
  CountingOwner owner;
  std::vector<std::byte> memory(8);
  Buffer buffer(memory.data(), memory.size(), &owner);
  buffer = Buffer::allocate(1);
  EXPECT_EQ(owner.released, 1);
}

}  // namespace
}  // namespace openiser
