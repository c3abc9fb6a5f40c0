// Two stream endpoints with memory for a network between them: bytes are copied onto the wire and
// off it, as a kernel would, and nothing else is between them. What each end costs is measured
// without those copies. tests/support/byte_shuttle.h cuts and stalls, and is far too slow for this.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/stream_endpoint.h"
#include "tests/bench/micro/allocations.h"

namespace openiser::bench {

// The time at which everything here happens.
inline constexpr Time kNow{std::chrono::hours(1)};

struct Cost {
  std::chrono::nanoseconds time{};
  std::uint64_t allocations = 0;

  template <class Call>
  auto of(const Call& call) {
    const Meter meter(*this);
    return call();
  }

 private:
  struct Meter {
    explicit Meter(Cost& measured) : cost(measured) {}
    ~Meter() {
      cost.time += std::chrono::steady_clock::now() - begun;
      cost.allocations += bench::allocations() - before;
    }
    Cost& cost;
    std::uint64_t before = bench::allocations();
    std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  };
};

class MemoryLink {
 public:
  // Both outlive the link.
  MemoryLink(StreamEndpoint& first, StreamEndpoint& second) : ends_{End(first), End(second)} {
    for (End& end : ends_) end.endpoint.attach(&end);
  }
  ~MemoryLink() {
    for (End& end : ends_) {
      end.endpoint.transport_closed({}, kNow);
      end.endpoint.attach(nullptr);
    }
  }
  MemoryLink(const MemoryLink&) = delete;
  MemoryLink& operator=(const MemoryLink&) = delete;

  // Until there is nothing left to do.
  void settle() {
    while (carry(ends_[0], ends_[1]) | carry(ends_[1], ends_[0])) {
    }
  }
  Cost& cost(std::size_t end) { return ends_[end].cost; }
  void reset_costs() {
    for (End& end : ends_) end.cost = {};
  }

 private:
  struct End final : StreamHost {
    explicit End(StreamEndpoint& driven) : endpoint(driven) {}
    void attention() override {}

    StreamEndpoint& endpoint;
    Cost cost;
  };

  // One send of all there is, as the driver of rdmap/tcp does it, received in as few pieces as can
  // be.
  bool carry(End& from, End& to) {
    expire(from);
    std::array<Bytes, 256> pieces;
    const std::size_t count = from.cost.of([&] { return from.endpoint.gather(pieces); });
    std::size_t sent = 0;
    for (const Bytes& piece : std::span(pieces).first(count)) {
      const std::size_t n = std::min(piece.size(), wire_.size() - sent);
      if (n > 0) std::memcpy(wire_.data() + sent, piece.data(), n);
      sent += n;
    }
    if (sent == 0) return false;
    from.cost.of([&] { from.endpoint.sent(sent, kNow); });
    give(to, Bytes(wire_).first(sent));
    return true;
  }

  static void give(End& to, Bytes bytes) {
    std::array<MutableBytes, 256> places;
    while (!bytes.empty()) {
      const std::size_t count = to.cost.of([&] { return to.endpoint.receive_space(places); });
      std::size_t given = 0;
      for (const MutableBytes& place : std::span(places).first(count)) {
        const std::size_t n = std::min(place.size(), bytes.size() - given);
        if (n > 0) std::memcpy(place.data(), bytes.data() + given, n);
        given += n;
      }
      to.cost.of([&] { to.endpoint.received(given, kNow); });
      bytes = bytes.subspan(given);
    }
    expire(to);
  }

  static void expire(End& end) {
    end.cost.of([&] {
      const auto due = end.endpoint.deadline();
      if (due && *due <= kNow) end.endpoint.expired(kNow);
    });
  }

  std::array<End, 2> ends_;
  std::vector<std::byte> wire_ = std::vector<std::byte>(std::size_t{1} << 20);
};

}  // namespace openiser::bench
