#include "base/buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
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

TEST(BufferPool, WithASourceSharesItsBlocksAndHasALimitOfItsOwn) {
  BufferPool source;
  BufferPool one(source, 8192);
  BufferPool other(source, 4096);
  Buffer first = one.take(4000);
  const std::byte* const where = first.data();
  Buffer second = one.take(4096);
  EXPECT_FALSE(one.take(1));
  EXPECT_EQ(one.outstanding(), 8192u);
  EXPECT_EQ(source.outstanding(), 8192u);
  EXPECT_TRUE(other.take(4096));
  EXPECT_EQ(other.outstanding(), 0u);
  first.reset();
  EXPECT_EQ(one.outstanding(), 4096u);
  Buffer third = other.take(4096);
  EXPECT_EQ(third.data(), where);
  EXPECT_FALSE(other.take(1));
}

TEST(BufferPool, WithASourceHasNoMoreThanThat) {
  BufferPool source(4096);
  BufferPool pool(source, 8192);
  Buffer all = pool.take(4096);
  EXPECT_TRUE(all);
  EXPECT_FALSE(pool.take(1));
  EXPECT_EQ(pool.outstanding(), 4096u);
  all.reset();
  EXPECT_TRUE(pool.take(1));
}

TEST(BufferPool, LeasesMayOutliveItAndItsSource) {
  Buffer survivor;
  {
    BufferPool source;
    BufferPool pool(source, 8192);
    survivor = pool.take(5000);
  }
  survivor.bytes()[4999] = std::byte{7};
  survivor.reset();
}

class NotingWatcher final : public PoolWatcher {
 public:
  void memory_came(MutableBytes piece) override { pieces.push_back(piece); }
  void memory_goes(MutableBytes piece) noexcept override {
    std::erase_if(pieces, [&](MutableBytes each) { return each.data() == piece.data(); });
  }
  bool has(Bytes memory) const {
    return std::ranges::any_of(pieces, [&](MutableBytes each) {
      return memory.data() >= each.data() &&
             memory.data() + memory.size() <= each.data() + each.size();
    });
  }
  std::vector<MutableBytes> pieces;
};

TEST(BufferPool, TellsItsWatcherWhatMemoryItHas) {
  BufferPool pool;
  Buffer before = pool.take(500);
  NotingWatcher watcher;
  pool.watch(watcher);
  EXPECT_TRUE(watcher.has(before.bytes()));
  Buffer small = pool.take(5000);
  Buffer large = pool.take(200'000);
  EXPECT_TRUE(watcher.has(small.bytes()));
  EXPECT_TRUE(watcher.has(large.bytes()));
  const MutableBytes gone = large.bytes();
  large.reset();
  small.reset();
  pool.trim();
  EXPECT_FALSE(watcher.has(gone));
  EXPECT_TRUE(watcher.has(before.bytes())) << "a lease is out";
  pool.unwatch(watcher);
  const Buffer after = pool.take(300'000);
  EXPECT_FALSE(watcher.has(after.bytes()));
}

// Pages of `memory` that are there.
std::size_t resident_pages(Bytes memory) {
  constexpr std::uintptr_t kPage = 4096;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory.data()) / kPage * kPage;
  const std::size_t size = reinterpret_cast<std::uintptr_t>(memory.data()) + memory.size() - begin;
  std::vector<unsigned char> pages((size + kPage - 1) / kPage);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), size, pages.data()), 0);
  return static_cast<std::size_t>(
      std::ranges::count_if(pages, [](auto p) { return (p & 1) != 0; }));
}

// The receives of an iSER session, few of which are ever used.
TEST(BufferPool, BlocksThatNobodyWritesToTakeNoMemory) {
  BufferPool pool;
  std::vector<Buffer> blocks;
  std::size_t pages = 0;
  for (int i = 0; i < 424; ++i) {
    blocks.push_back(pool.take(8800));
    pages += resident_pages(blocks.back().bytes());
  }
  // The first page of each slab holds its list.
  EXPECT_LE(pages, 8u);
  blocks.front().bytes().front() = std::byte{1};
  EXPECT_GE(resident_pages(blocks.front().bytes()), 1u);
}

TEST(BufferPool, BlocksAreApartAndAlignedAndKeepWhatIsInThem) {
  BufferPool pool;
  std::vector<Buffer> blocks;
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < 3000; ++i) {
      blocks.push_back(pool.take(256u << i % 9));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().data()) % 64, 0u);
      std::ranges::fill(blocks.back().bytes(), static_cast<std::byte>(blocks.size()));
    }
    for (unsigned i = 0; i < blocks.size(); ++i) {
      for (const std::byte b : {blocks[i].bytes().front(), blocks[i].bytes().back()})
        ASSERT_EQ(b, static_cast<std::byte>(i + 1));
    }
    if (round == 1) pool.trim();
    blocks.resize(1000);
  }
  blocks.clear();
  EXPECT_EQ(pool.outstanding(), 0u);
}

TEST(BufferPool, GivesMemoryBackWhenTrimmed) {
  BufferPool pool;
  std::vector<Buffer> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool.take(65536));
  for (int i = 0; i < 4; ++i) blocks.push_back(pool.take(1 << 20));
  const std::byte* const first = blocks.front().data();
  Buffer kept = std::move(blocks.back());
  blocks.clear();
  pool.trim();
  const auto page = reinterpret_cast<std::uintptr_t>(first) / 4096 * 4096;
  unsigned char there = 0;
  EXPECT_NE(mincore(reinterpret_cast<void*>(page), 4096, &there), 0);
  kept.bytes().back() = std::byte{1};
  EXPECT_TRUE(pool.take(65536));
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
