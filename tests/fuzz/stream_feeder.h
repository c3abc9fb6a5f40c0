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
  explicit Feeder(StreamEndpoint& endpoint) : endpoint_(endpoint) { endpoint.attach(this); }
  void attention() override {}

  // `step`: the largest piece. Ends when the endpoint wants to close or takes nothing more.
  void feed(Bytes input, std::size_t step, Time now) {
    drain(now);
    while (!input.empty() && endpoint_.close_wish() == CloseWish::none) {
      std::array<MutableBytes, 4> space;
      const std::size_t n = endpoint_.receive_space(space);
      std::size_t given = 0;
      for (std::size_t i = 0; i < n && given < step && given < input.size(); ++i) {
        const std::size_t some = std::min({space[i].size(), step - given, input.size() - given});
        std::memcpy(space[i].data(), input.data() + given, some);
        given += some;
        if (some < space[i].size()) break;
      }
      if (given == 0) break;
      input = input.subspan(given);
      endpoint_.received(given, now);
      drain(now);
    }
    endpoint_.transport_closed({}, now);
  }

  void drain(Time now) {
    for (int turns = 0; turns < 1000; ++turns) {
      std::array<Bytes, 16> pieces;
      const std::size_t n = endpoint_.gather(pieces);
      std::size_t size = 0;
      for (std::size_t i = 0; i < n; ++i) size += pieces[i].size();
      if (size == 0) return;
      endpoint_.sent(size, now);
    }
  }

 private:
  StreamEndpoint& endpoint_;
};

}  // namespace openiser::fuzz
