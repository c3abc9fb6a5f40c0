// How long many operations took, in little memory (30 KiB), for percentiles.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace openiser {

// Latencies in buckets of under 1.6 % width: 64 to each power of two of nanoseconds.
class LatencyHistogram {
 public:
  void add(std::uint64_t ns) {
    ++counts_[index(ns)];
    ++n_;
    sum_ += ns;
    max_ = std::max(max_, ns);
  }
  void merge(const LatencyHistogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    n_ += other.n_, sum_ += other.sum_, max_ = std::max(max_, other.max_);
  }
  double percentile_us(double p) const {
    auto rank = static_cast<std::uint64_t>(p / 100 * static_cast<double>(n_));
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (rank < counts_[i]) return static_cast<double>(value(i)) / 1000;
      rank -= counts_[i];
    }
    return max_us();
  }
  double mean_us() const {
    return n_ ? static_cast<double>(sum_) / static_cast<double>(n_) / 1000 : 0;
  }
  double max_us() const { return static_cast<double>(max_) / 1000; }
  std::uint64_t count() const { return n_; }

 private:
  static std::size_t index(std::uint64_t ns) {
    if (ns < 128) return ns;
    const int top = 63 - __builtin_clzll(ns);
    return static_cast<std::size_t>(top - 6) * 64 + (ns >> (top - 6) & 63) + 64;
  }
  static std::uint64_t value(std::size_t index) {
    if (index < 128) return index;
    const std::size_t top = (index - 64) / 64 + 6;
    return (std::uint64_t{64} + (index & 63)) << (top - 6);
  }
  std::array<std::uint64_t, 64 * 60> counts_{};
  std::uint64_t n_ = 0, sum_ = 0, max_ = 0;
};

}  // namespace openiser
