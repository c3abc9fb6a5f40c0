// Stores without a file.
#include <gtest/gtest.h>

#include "target/store/page_map.h"
#include "target/store/store.h"
#include "tests/support/store_bench.h"

namespace openiser::target {
namespace {

using test::ByteVector;
using test::SignalledRequest;
using test::StoreBench;
using Operation = StoreRequest::Operation;
using Kind = StoreEngine::Kind;

constexpr std::uint64_t kSize = 4 << 20;

TEST(MemoryStore, ReadOnlyRefusesChanges) {
  StoreBench bench(Kind::threads);
  const auto store = make_memory_store(kSize, true);
  EXPECT_EQ(bench.write(*store, 0, ByteVector(512)).value(), EROFS);
  EXPECT_EQ(bench.other(*store, Operation::discard, 0, 4096).value(), EROFS);
  ByteVector bytes(512);
  EXPECT_FALSE(bench.read(*store, 0, bytes));
}

TEST(MemoryStore, IsSparse) {
  // More than a machine that tests has, and less than a sanitizer leaves for mappings.
  constexpr std::uint64_t kLarge = std::uint64_t{256} << 30;
  const auto store = make_memory_store(kLarge);
  EXPECT_EQ(store->properties().size, kLarge);
}

TEST(MemoryStore, KnowsItsHoles) {
  StoreBench bench(Kind::threads);
  const auto store = make_memory_store(kSize);
  EXPECT_EQ(bench.extent(*store, 0, kSize), "hole " + std::to_string(kSize));
  ASSERT_FALSE(bench.write(*store, 65536, ByteVector(65536, std::byte{1})));
  EXPECT_EQ(bench.extent(*store, 0, kSize), "hole 65536");
  EXPECT_EQ(bench.extent(*store, 65536, kSize - 65536), "data 65536");
  ASSERT_FALSE(bench.other(*store, Operation::discard, 65536, 32768));
  EXPECT_EQ(bench.extent(*store, 65536, kSize - 65536), "hole 32768");
  // Reading makes no data of a hole, and half a page is none either.
  ByteVector bytes(65536);
  ASSERT_FALSE(bench.read(*store, 0, bytes));
  EXPECT_EQ(bench.extent(*store, 512, kSize - 512), "hole " + std::to_string(65536 + 32768 - 512));
  ASSERT_FALSE(bench.other(*store, Operation::discard, 98304 + 512, 4096));
  EXPECT_EQ(bench.extent(*store, 98304, 8192), "data 8192");
}

TEST(PageMap, FindsWhereItChanges) {
  PageMap map(1000);
  EXPECT_EQ(map.change(0, 1000), 1000U);
  map.mark(63, 65);
  map.mark(128, 256);
  EXPECT_EQ(map.change(0, 1000), 63U);
  EXPECT_EQ(map.change(0, 40), 40U);
  EXPECT_EQ(map.change(63, 1000), 65U);
  EXPECT_EQ(map.change(64, 1000), 65U);
  EXPECT_EQ(map.change(65, 1000), 128U);
  EXPECT_EQ(map.change(128, 1000), 256U);
  EXPECT_EQ(map.change(128, 200), 200U);
  map.clear(130, 131);
  EXPECT_EQ(map.change(128, 1000), 130U);
  EXPECT_EQ(map.change(130, 1000), 131U);
  EXPECT_EQ(map.change(256, 1000), 1000U);
}

TEST(NullStore, ReadsZerosAndForgets) {
  StoreBench bench(Kind::threads);
  const auto store = make_null_store(kSize);
  EXPECT_FALSE(bench.write(*store, 0, ByteVector(4096, std::byte{1})));
  ByteVector bytes(4096, std::byte{2});
  EXPECT_FALSE(bench.read(*store, 0, bytes, 512));
  EXPECT_EQ(bytes, ByteVector(4096));
  EXPECT_FALSE(bench.other(*store, Operation::flush, 0, 0));
  EXPECT_FALSE(bench.other(*store, Operation::discard, 0, 4096));
  EXPECT_EQ(store->properties().size, kSize);
}

}  // namespace
}  // namespace openiser::target
