// Which registration a pool's memory is found by, and that each piece has one.
#include "rdmap/verbs/pool_map.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace openiser::rdmap {
namespace {

constexpr std::size_t kLarge = 100'000;

class PoolMapTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<MutableBytes>> registration_of(MutableBytes piece) {
    if (failure_) return failure_;
    registered_.push_back(piece);
    return std::make_unique<MutableBytes>(piece);
  }

  BufferPool pool_;
  std::vector<MutableBytes> registered_;
  ErrorCode failure_;
  PoolMap<std::unique_ptr<MutableBytes>> map_{
      pool_, [this](MutableBytes piece) { return registration_of(piece); }};
};

TEST_F(PoolMapTest, RegistersWhatBlocksShareOnce) {
  const Buffer one = pool_.take(1000), other = pool_.take(1000);
  const auto first = map_.find(one.bytes());
  const auto second = map_.find(other.bytes());
  ASSERT_TRUE(first.has_value() && *first);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(registered_.size(), 1u);
  EXPECT_LE((*first)->data(), one.data());
  EXPECT_GE((*first)->data() + (*first)->size(), other.data() + other.size());
}

TEST_F(PoolMapTest, RegistersNothingBeforeItIsUsed) {
  const Buffer one = pool_.take(1000), other = pool_.take(kLarge);
  EXPECT_TRUE(registered_.empty());
}

TEST_F(PoolMapTest, LargeBlocksHaveTheirOwn) {
  const Buffer one = pool_.take(kLarge), other = pool_.take(kLarge);
  EXPECT_NE(*map_.find(one.bytes()), *map_.find(other.bytes()));
  EXPECT_EQ(registered_.size(), 2u);
}

TEST_F(PoolMapTest, KnowsNoOtherMemory) {
  const Buffer block = pool_.take(kLarge);
  std::vector<std::byte> memory(100);
  EXPECT_EQ(map_.find(memory).value(), nullptr);
  // Not even what only begins in the pool.
  EXPECT_EQ(map_.find(Bytes(block.data() + 10, std::size_t{1} << 17)).value(), nullptr);
}

TEST_F(PoolMapTest, FindsBlocksThatWereThereBefore) {
  BufferPool pool;
  const Buffer one = pool.take(1000), other = pool.take(kLarge);
  PoolMap<std::unique_ptr<MutableBytes>> late(
      pool, [this](MutableBytes piece) { return registration_of(piece); });
  EXPECT_NE(late.find(one.bytes()).value(), nullptr);
  EXPECT_NE(late.find(other.bytes()).value(), nullptr);
}

TEST_F(PoolMapTest, ForgetsMemoryThatGoes) {
  Buffer block = pool_.take(kLarge);
  ASSERT_NE(map_.find(block.bytes()).value(), nullptr);
  const MutableBytes gone = block.bytes();
  block.reset();
  pool_.trim();
  EXPECT_EQ(map_.find(gone).value(), nullptr);
}

TEST_F(PoolMapTest, TellsWhyItCannotRegister) {
  failure_ = make_error_code(boost::system::errc::not_enough_memory);
  const Buffer block = pool_.take(1000);
  EXPECT_EQ(map_.find(block.bytes()).error(), failure_);
  failure_ = {};
  EXPECT_NE(map_.find(block.bytes()).value(), nullptr);
}

}  // namespace
}  // namespace openiser::rdmap
