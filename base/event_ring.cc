#include "base/event_ring.h"

#include <algorithm>
#include <cstdio>

namespace openiser {

std::string EventRing::text(Time now) const {
  std::string lines;
  const std::uint64_t kept = std::min<std::uint64_t>(count_, kSize);
  for (std::uint64_t i = count_ - kept; i < count_; ++i) {
    const Event& event = events_[i % kSize];
    const auto ago =
        std::chrono::duration_cast<std::chrono::microseconds>(now - event.when).count();
    char line[160];
    std::snprintf(line, sizeof line, "%10.3f ms ago  %s  %llu %llu\n",
                  static_cast<double>(ago) / 1000, event.what,
                  static_cast<unsigned long long>(event.a),
                  static_cast<unsigned long long>(event.b));
    lines += line;
  }
  return lines;
}

}  // namespace openiser
