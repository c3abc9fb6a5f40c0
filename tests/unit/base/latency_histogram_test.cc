#include "base/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace openiser {
namespace {

// 30 KiB each: too much for a stack to have many of.
std::unique_ptr<LatencyHistogram> histogram_of(const std::vector<std::uint64_t>& nanoseconds) {
  auto all = std::make_unique<LatencyHistogram>();
  for (const std::uint64_t each : nanoseconds) all->add(each);
  return all;
}

TEST(LatencyHistogram, IsNothingWithoutOperations) {
  const auto none = histogram_of({});
  EXPECT_EQ(none->count(), 0u);
  EXPECT_EQ(none->mean_us(), 0);
  EXPECT_EQ(none->max_us(), 0);
  EXPECT_EQ(none->percentile_us(50), 0);
  EXPECT_EQ(none->percentile_us(99.9), 0);
}

TEST(LatencyHistogram, CountMeanAndMaximumAreExact) {
  const auto all = histogram_of({1'000, 2'000, 6'000'001});
  EXPECT_EQ(all->count(), 3u);
  EXPECT_DOUBLE_EQ(all->mean_us(), 6'003.001 / 3);
  EXPECT_DOUBLE_EQ(all->max_us(), 6'000.001);
}

// Below 128 ns each has a bucket of its own; above, what is told is where the bucket begins.
TEST(LatencyHistogram, TellsAnyValueToA64thPart) {
  for (std::uint64_t ns = 0; ns < 128; ++ns)
    EXPECT_DOUBLE_EQ(histogram_of({ns})->percentile_us(50), static_cast<double>(ns) / 1000);
  for (int power = 7; power < 64; ++power) {
    const std::uint64_t from = std::uint64_t{1} << power;
    for (const std::uint64_t ns : {from - 1, from, from + 1, from + from / 3, from + (from - 1)}) {
      const double told = histogram_of({ns})->percentile_us(50) * 1000;
      const auto value = static_cast<double>(ns);
      EXPECT_LE(told, value) << ns;
      EXPECT_GT(told * (1 + 1.0 / 64), value * (1 - 1e-15)) << ns;
    }
  }
}

TEST(LatencyHistogram, HoldsTheLargestValue) {
  const auto all = histogram_of({std::numeric_limits<std::uint64_t>::max()});
  EXPECT_EQ(all->count(), 1u);
  EXPECT_GT(all->percentile_us(50), 1.8e16);
}

// As many are smaller as the percentage says, of those sorted.
TEST(LatencyHistogram, PercentilesAreThoseOfTheSortedValues) {
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 5'000; ++i) values.push_back(random() >> (20 + random() % 40));
  const auto all = histogram_of(values);
  std::sort(values.begin(), values.end());
  for (const double p : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9}) {
    const auto rank = static_cast<std::size_t>(p / 100 * static_cast<double>(values.size()));
    const auto exact = static_cast<double>(values[rank]) / 1000;
    EXPECT_LE(all->percentile_us(p), exact) << p;
    EXPECT_GE(all->percentile_us(p), exact * 63 / 64) << p;
  }
  EXPECT_DOUBLE_EQ(all->percentile_us(100), all->max_us());
}

TEST(LatencyHistogram, MergedIsAsIfAllWereAddedToOne) {
  const std::vector<std::uint64_t> first{5, 700, 90'000}, second{6, 700, 12'000'000};
  auto merged = histogram_of(first);
  merged->merge(*histogram_of(second));
  const auto all = histogram_of({5, 700, 90'000, 6, 700, 12'000'000});
  EXPECT_EQ(merged->count(), all->count());
  EXPECT_EQ(merged->mean_us(), all->mean_us());
  EXPECT_EQ(merged->max_us(), all->max_us());
  for (double p = 0; p <= 100; p += 10) EXPECT_EQ(merged->percentile_us(p), all->percentile_us(p));
}

}  // namespace
}  // namespace openiser
