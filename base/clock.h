// Time is an argument in every core; only drivers ask a Clock for it.
#pragma once

#include <chrono>

namespace openiser {

using Time = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  Time now() const override { return std::chrono::steady_clock::now(); }
};

// Moves only when told to: for tests and simulation.
class ManualClock final : public Clock {
 public:
  Time now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  Time now_{std::chrono::hours(1)};
};

}  // namespace openiser
