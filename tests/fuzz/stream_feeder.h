// Feeds bytes to a StreamEndpoint as a driver would, in pieces of changing size, and throws away
// what it sends.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "base/stream_endpoint.h"

namespace openiser::fuzz {

class Feeder final : public StreamHost {
 public:
  // `step`: the largest piece.
  Feeder(StreamEndpoint& endpoint, std::size_t step, Time now)
      : endpoint_(endpoint), step_(step), now_(now) {
    endpoint.attach(this);
    settle();
  }
  ~Feeder() { endpoint_.attach(nullptr); }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  void attention() override {}

  // Ends early when the endpoint wants to close or takes nothing more.
  void feed(Bytes input) {
    while (!input.empty() && endpoint_.close_wish() == CloseWish::none) {
      const std::size_t given = fill(input.first(std::min(step_, input.size())));
      if (given == 0) break;
      input = input.subspan(given);
      endpoint_.received(given, now_);
      settle();
    }
  }
  // A peer that takes nothing of what is sent, until it does again.
  void stall(bool stalled) { stalled_ = stalled; }
  void pass_time(Duration some) {
    now_ += some;
    settle();
  }
  // What is due, and all there is to send. After calls into what is above the endpoint.
  void settle() {
    for (int turns = 0; turns < 1000; ++turns) {
      if (const auto deadline = endpoint_.deadline(); deadline && *deadline <= now_)
        endpoint_.expired(now_);
      if (stalled_) return;
      std::array<Bytes, 16> pieces;
      const std::size_t n = endpoint_.gather(pieces);
      std::size_t size = 0;
      for (std::size_t i = 0; i < n; ++i) size += pieces[i].size();
      if (size == 0) return;
      endpoint_.sent(size, now_);
    }
  }
  void close() { endpoint_.transport_closed({}, now_); }
  Time now() const { return now_; }

 private:
  std::size_t fill(Bytes input) {
    std::array<MutableBytes, 4> space;
    const std::size_t n = endpoint_.receive_space(space);
    std::size_t given = 0;
    for (std::size_t i = 0; i < n && given < input.size(); ++i) {
      const std::size_t some = std::min(space[i].size(), input.size() - given);
      std::memcpy(space[i].data(), input.data() + given, some);
      given += some;
    }
    return given;
  }

  StreamEndpoint& endpoint_;
  const std::size_t step_;
  Time now_;
  bool stalled_ = false;
};

}  // namespace openiser::fuzz
