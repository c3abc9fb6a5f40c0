#include <gtest/gtest.h>

#include <set>

#include "rdmap/core/stag_table.h"
#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

using Use = StagTable::Use;

class StagTableTest : public ::testing::Test {
 protected:
  std::vector<std::byte> memory = std::vector<std::byte>(1000);
  StagTable table{16, false};
  StagTable::Entry entry = *table.add(memory, Access::remote_read_write);

  ErrorCode error(std::uint64_t offset, std::uint64_t length, Use use = Use::write) {
    const auto found = table.resolve(entry.stag, offset, length, use);
    return found ? ErrorCode() : found.error();
  }
};

TEST_F(StagTableTest, ResolvesToTheBytesNamed) {
  const auto found = table.resolve(entry.stag, entry.base_offset + 10, 20, Use::write);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->data(), memory.data() + 10);
  EXPECT_EQ(found->size(), 20u);
}

TEST_F(StagTableTest, TheLastByteIsIn) {
  EXPECT_EQ(error(entry.base_offset + 999, 1), ErrorCode());
  EXPECT_EQ(error(entry.base_offset, 1000), ErrorCode());
}

TEST_F(StagTableTest, BeyondTheEndIsOut) {
  EXPECT_EQ(error(entry.base_offset, 1001), errc::ddp_tagged_bounds);
  EXPECT_EQ(error(entry.base_offset + 999, 2), errc::ddp_tagged_bounds);
  EXPECT_EQ(error(entry.base_offset + 1001, 1), errc::ddp_tagged_bounds);
  EXPECT_EQ(error(entry.base_offset, 1001, Use::read_source), errc::rdmap_bounds);
}

TEST_F(StagTableTest, BeforeTheStartIsOut) {
  EXPECT_EQ(error(entry.base_offset - 1, 1), errc::ddp_tagged_bounds);
  EXPECT_EQ(error(0, 1), errc::ddp_tagged_bounds);
}

TEST_F(StagTableTest, WrappingOffsetsAreTold) {
  EXPECT_EQ(error(UINT64_MAX, 1), errc::ddp_tagged_wrap);
  EXPECT_EQ(error(UINT64_MAX - 1, 2, Use::read_source), errc::rdmap_wrap);
  EXPECT_EQ(error(1, UINT64_MAX), errc::ddp_tagged_wrap);
}

TEST_F(StagTableTest, AccessRightsHold) {
  const auto readable = *table.add(memory, Access::remote_read);
  const auto writable = *table.add(memory, Access::remote_write);
  EXPECT_TRUE(table.resolve(readable.stag, readable.base_offset, 1, Use::read_source));
  EXPECT_TRUE(table.resolve(writable.stag, writable.base_offset, 1, Use::write));
  EXPECT_EQ(table.resolve(readable.stag, readable.base_offset, 1, Use::write).error(),
            errc::rdmap_access);
  EXPECT_EQ(table.resolve(writable.stag, writable.base_offset, 1, Use::read_source).error(),
            errc::rdmap_access);
}

TEST_F(StagTableTest, EveryOtherStagIsInvalid) {
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    const Stag other{entry.stag.value ^ (1u << bit)};
    EXPECT_EQ(table.resolve(other, entry.base_offset, 1, Use::write).error(),
              errc::ddp_tagged_invalid_stag);
    EXPECT_EQ(table.resolve(other, entry.base_offset, 1, Use::read_source).error(),
              errc::rdmap_invalid_stag);
  }
}

TEST_F(StagTableTest, ARemovedStagNeverComesBackAtOnce) {
  for (int n = 0; n < 1000; ++n) {
    ASSERT_TRUE(table.remove(entry.stag));
    EXPECT_FALSE(table.contains(entry.stag));
    EXPECT_FALSE(table.remove(entry.stag));
    const Stag old = entry.stag;
    entry = *table.add(memory, Access::remote_write);
    EXPECT_NE(entry.stag, old);
    EXPECT_FALSE(table.contains(old));
  }
}

TEST_F(StagTableTest, IsFullAtItsLimitAndNotBefore) {
  std::vector<Stag> stags;
  for (int n = 1; n < 16; ++n) stags.push_back(table.add(memory, Access::remote_read)->stag);
  EXPECT_EQ(table.add(memory, Access::remote_read).error(), errc::too_many_regions);
  ASSERT_TRUE(table.remove(stags[7]));
  EXPECT_TRUE(table.add(memory, Access::remote_read));
}

TEST_F(StagTableTest, OfNoRegionsIsAlwaysFull) {
  StagTable none(0, false);
  EXPECT_EQ(none.add(memory, Access::remote_read).error(), errc::too_many_regions);
  EXPECT_FALSE(none.contains(none.unused_stag()));
}

TEST_F(StagTableTest, TheUnusedStagNamesNoRegionEvenWhenFull) {
  const Stag unused = table.unused_stag();
  while (table.add(memory, Access::remote_write)) {
  }
  EXPECT_FALSE(table.contains(unused));
}

TEST_F(StagTableTest, FreshRegionsAreKnownInOrderUntilTheyAreUsed) {
  const auto fresh = [this] {
    std::vector<Stag> all;
    table.for_each_fresh([&all](Stag stag, MutableBytes) {
      all.push_back(stag);
      return true;
    });
    return all;
  };
  EXPECT_TRUE(fresh().empty());
  std::vector<Stag> stags;
  for (int n = 0; n != 4; ++n) stags.push_back(table.add(memory, Access::remote_write_fresh)->stag);
  table.add(memory, Access::remote_write);
  EXPECT_EQ(fresh(), stags);
  table.not_fresh(stags[1]);
  table.not_fresh(stags[1]);
  EXPECT_EQ(fresh(), (std::vector{stags[0], stags[2], stags[3]}));
  EXPECT_TRUE(table.remove(stags[0]));
  EXPECT_TRUE(table.remove(stags[3]));
  EXPECT_TRUE(table.remove(stags[1]));
  EXPECT_EQ(fresh(), std::vector{stags[2]});
  const Stag next = table.add(memory, Access::remote_write_fresh)->stag;
  EXPECT_EQ(fresh(), (std::vector{stags[2], next}));
  table.not_fresh(stags[0]);
  table.for_each_fresh([&](Stag stag, MutableBytes) {
    EXPECT_EQ(stag, stags[2]);
    return false;
  });
}

TEST_F(StagTableTest, StagsAreSpreadOverTheirRange) {
  StagTable large(16384, false);
  std::set<std::uint32_t> high_bytes;
  for (int n = 0; n < 4000; ++n) {
    high_bytes.insert(large.add(memory, Access::remote_read)->stag.value >> 24);
  }
  EXPECT_EQ(high_bytes.size(), 256u);
}

TEST_F(StagTableTest, ZeroBasedOffsetsAreZero) {
  StagTable zero(4, true);
  EXPECT_EQ(zero.add(memory, Access::remote_read)->base_offset, 0u);
}

TEST_F(StagTableTest, AnEmptyRegionHasNoBytes) {
  const auto empty = *table.add({}, Access::remote_write);
  EXPECT_EQ(table.resolve(empty.stag, empty.base_offset, 1, Use::write).error(),
            errc::ddp_tagged_bounds);
}

}  // namespace
}  // namespace openiser::rdmap
