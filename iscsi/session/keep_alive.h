// When to ping a silent peer, and when to give it up (RFC 7143 sections 7.14, 11.18 and 11.19).
// Everything that comes from the peer shows that it is alive; a ping is sent only after silence.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace openiser::iscsi {

class KeepAlive {
 public:
  // `interval` zero: never ping.
  KeepAlive(Duration interval, Duration timeout, Time now)
      : interval_(interval), timeout_(timeout), heard_(now) {}

  void heard(Time now) { heard_ = now; }
  Time last_heard() const { return heard_; }
  // The answer to our ping has come. The next one may be due before the answer was.
  void answered() { waiting_ = false; }

  // Moves later with every heard(): whoever has set a timer may let it run out and ask again.
  std::optional<Time> due() const {
    if (interval_ == Duration::zero()) return {};
    return waiting_ ? std::max(heard_, pinged_) + timeout_ : heard_ + interval_;
  }

  enum class Wish { nothing, ping, give_up };
  // After `ping` the caller has pinged.
  Wish expired(Time now) {
    if (!due() || now < *due()) return Wish::nothing;
    if (waiting_) return Wish::give_up;
    waiting_ = true;
    pinged_ = now;
    return Wish::ping;
  }

 private:
  Duration interval_;
  Duration timeout_;
  Time heard_;
  Time pinged_{};
  bool waiting_ = false;
};

}  // namespace openiser::iscsi
