// What a unit remembers of what went wrong, for log pages. Any thread; touched when something fails
// or is asked about, never by a command that goes well.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "target/scsi/sense.h"

namespace openiser::target {

struct SelfTest {
  std::uint8_t code;  // SELF-TEST CODE of SEND DIAGNOSTIC; 0: the default self-test
  bool failed;
  Sense sense;  // of a failure
};

class UnitHealth {
 public:
  static constexpr std::size_t kSelfTests = 20;

  std::uint32_t read_errors() const { return read_errors_.load(std::memory_order_relaxed); }
  std::uint32_t write_errors() const { return write_errors_.load(std::memory_order_relaxed); }
  void count_error(bool read) {
    (read ? read_errors_ : write_errors_).fetch_add(1, std::memory_order_relaxed);
  }
  void reset_counters() { read_errors_ = write_errors_ = 0; }

  void add(const SelfTest& test) {
    const std::lock_guard lock(mutex_);
    self_tests_.push_front(test);
    if (self_tests_.size() > kSelfTests) self_tests_.pop_back();
  }
  // The latest first.
  std::vector<SelfTest> self_tests() const {
    const std::lock_guard lock(mutex_);
    return {self_tests_.begin(), self_tests_.end()};
  }

 private:
  std::atomic<std::uint32_t> read_errors_ = 0;
  std::atomic<std::uint32_t> write_errors_ = 0;
  mutable std::mutex mutex_;
  std::deque<SelfTest> self_tests_;
};

}  // namespace openiser::target
