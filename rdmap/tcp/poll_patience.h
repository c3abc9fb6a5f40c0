// How long a busy-polling loop looks for work before it sleeps.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace openiser::rdmap {

// Grows while work comes soon enough to be worth looking for, and shrinks while it does not, so
// that an idle loop costs nothing. No clock of its own.
class PollPatience {
 public:
  explicit PollPatience(Duration longest) : longest_(longest), now_(longest) {}

  Duration longest() const { return longest_; }
  Duration now() const { return now_; }
  // Work came after `idle`, be it while looking or by a wake-up.
  void note(Duration idle) {
    if (idle <= longest_) {
      now_ = std::min(longest_, std::max(now_ * 2, shortest()));
    } else {
      now_ = now_ / 2 < shortest() ? Duration(0) : now_ / 2;
    }
  }

 private:
  Duration shortest() const { return longest_ / 16; }

  const Duration longest_;
  Duration now_;
};

}  // namespace openiser::rdmap
