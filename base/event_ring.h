// The last 64 events of a connection, kept at no cost and written to the log when it fails.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace openiser {

class EventRing {
 public:
  // `what`: a string constant; it is kept by pointer. `a`, `b`: two numbers that go with it.
  void add(Time when, const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    events_[count_++ % kSize] = {when, what, a, b};
  }
  // One line an event, oldest first, times relative to `now`.
  std::string text(Time now) const;

 private:
  static constexpr std::size_t kSize = 64;
  struct Event {
    Time when;
    const char* what;
    std::uint64_t a, b;
  };
  std::array<Event, kSize> events_{};
  std::uint64_t count_ = 0;
};

}  // namespace openiser
