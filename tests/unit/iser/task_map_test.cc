#include "iser/task_map.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

namespace openiser::iser {
namespace {

TEST(TaskMap, FindsWhatWasInserted) {
  TaskMap<int> map;
  EXPECT_EQ(map.find(0), nullptr);
  map.insert(0, 10);
  map.insert(0xffffffff, 11);
  ASSERT_NE(map.find(0), nullptr);
  EXPECT_EQ(*map.find(0), 10);
  EXPECT_EQ(*map.find(0xffffffff), 11);
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_EQ(map.size(), 2U);
}

TEST(TaskMap, InsertReplaces) {
  TaskMap<std::shared_ptr<int>> map;
  const auto first = std::make_shared<int>(1);
  map.insert(7, first);
  map.insert(7, std::make_shared<int>(2));
  EXPECT_EQ(**map.find(7), 2);
  EXPECT_EQ(first.use_count(), 1);
  EXPECT_EQ(map.size(), 1U);
}

TEST(TaskMap, EraseLetsGoOfTheValue) {
  TaskMap<std::shared_ptr<int>> map;
  const auto value = std::make_shared<int>(1);
  map.insert(7, value);
  EXPECT_TRUE(map.erase(7));
  EXPECT_FALSE(map.erase(7));
  EXPECT_EQ(value.use_count(), 1);
}

TEST(TaskMap, ClearLetsGoOfEverything) {
  TaskMap<std::shared_ptr<int>> map;
  const auto value = std::make_shared<int>(1);
  for (std::uint32_t tag = 0; tag < 100; ++tag) map.insert(tag, value);
  map.clear();
  EXPECT_EQ(map.size(), 0U);
  EXPECT_EQ(value.use_count(), 1);
  EXPECT_EQ(map.find(5), nullptr);
}

// Against std::map, with tags that collide and tables that grow.
TEST(TaskMap, BehavesAsAMapUnderRandomUse) {
  std::mt19937 random(4711);
  for (const std::uint32_t tags : {8U, 40U, 1000U}) {
    TaskMap<std::uint32_t> map;
    std::map<std::uint32_t, std::uint32_t> model;
    for (int i = 0; i < 20000; ++i) {
      const std::uint32_t tag = (random() % tags) * 0x01000001U;
      if (random() % 2 == 0) {
        const auto value = static_cast<std::uint32_t>(random());
        map.insert(tag, value);
        model[tag] = value;
      } else {
        ASSERT_EQ(map.erase(tag), model.erase(tag) == 1);
      }
      ASSERT_EQ(map.size(), model.size());
      const std::uint32_t probe = (random() % tags) * 0x01000001U;
      const auto expected = model.find(probe);
      const std::uint32_t* found = map.find(probe);
      ASSERT_EQ(found != nullptr, expected != model.end());
      if (found) {
        ASSERT_EQ(*found, expected->second);
      }
    }
  }
}

}  // namespace
}  // namespace openiser::iser
