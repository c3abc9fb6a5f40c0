// Joins two stream endpoints by two simulated byte streams, as TCP would: bytes wait in flight,
// come in pieces of a chosen size, and a graceful end is seen behind the last byte. Time stands
// still unless a test moves it.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/stream_endpoint.h"

namespace openiser::test {

class ByteShuttle {
 public:
  // `chunk`: the most that one step takes from an endpoint or gives to one.
  explicit ByteShuttle(std::size_t chunk, ManualClock& clock) : chunk_(chunk), clock_(clock) {}

  // Attaches both; the endpoints outlive the shuttle or are dropped with drop().
  void join(StreamEndpoint& first, StreamEndpoint& second) {
    ends_[0].endpoint = &first;
    ends_[1].endpoint = &second;
    for (End& end : ends_) end.endpoint->attach(&end);
  }

  // Moves bytes once in each direction; false when there is nothing to do at this time.
  bool step() {
    bool moved = false;
    for (std::size_t i = 0; i < 2; ++i) {
      moved |= expire(ends_[i]);
      moved |= take(ends_[i]);
      moved |= give(ends_[1 - i], ends_[i]);
      moved |= settle(ends_[i], ends_[1 - i]);
    }
    return moved;
  }
  void run(std::size_t limit = 50'000'000) {
    while (limit-- > 0 && step()) {
    }
  }
  // Nothing leaves `end` (0 or 1) while stalled; what it sent before still arrives.
  void stall(std::size_t end, bool stalled) { ends_[end].stalled = stalled; }
  // The transport breaks: both ends hear of it at once.
  void cut(ErrorCode why) {
    for (End& end : ends_) close(end, why);
  }
  // `end` dies without a word: the other sees a graceful end behind the bytes in flight.
  void drop(std::size_t end) {
    ends_[end].endpoint = nullptr;
    ends_[end].finished = true;
  }
  std::size_t in_flight(std::size_t from) const { return ends_[from].flight.size(); }
  // Everything `end` has put on the wire from now on is kept here.
  std::vector<std::byte>* record(std::size_t end) {
    ends_[end].recording = true;
    return &ends_[end].record;
  }

 private:
  struct End final : StreamHost {
    void attention() override {}
    StreamEndpoint* endpoint = nullptr;
    std::deque<std::byte> flight;  // sent by this end, not yet received by the other
    bool stalled = false;
    bool finished = false;  // sends nothing more
    bool closed = false;    // its endpoint has had transport_closed()
    bool recording = false;
    std::vector<std::byte> record;
  };

  bool expire(End& end) {
    if (!end.endpoint || end.closed) return false;
    const auto due = end.endpoint->deadline();
    if (!due || *due > clock_.now()) return false;
    end.endpoint->expired(clock_.now());
    return true;
  }

  bool take(End& end) {
    if (!end.endpoint || end.closed || end.finished || end.stalled) return false;
    if (end.endpoint->close_wish() == CloseWish::at_once) return false;
    std::array<Bytes, 16> pieces;
    const std::size_t count = end.endpoint->gather(pieces);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count && taken < chunk_; ++i) {
      const Bytes part = pieces[i].first(std::min(pieces[i].size(), chunk_ - taken));
      end.flight.insert(end.flight.end(), part.begin(), part.end());
      if (end.recording) end.record.insert(end.record.end(), part.begin(), part.end());
      taken += part.size();
    }
    if (taken > 0) end.endpoint->sent(taken, clock_.now());
    return taken > 0;
  }

  bool give(End& from, End& to) {
    if (!to.endpoint || to.closed || from.flight.empty()) return false;
    std::array<MutableBytes, 8> places;
    const std::size_t count = to.endpoint->receive_space(places);
    std::size_t given = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t n =
          std::min({places[i].size(), chunk_ - given, from.flight.size() - given});
      const auto begin = from.flight.begin() + static_cast<std::ptrdiff_t>(given);
      std::copy(begin, begin + static_cast<std::ptrdiff_t>(n), places[i].begin());
      given += n;
    }
    if (given == 0) return false;
    from.flight.erase(from.flight.begin(),
                      from.flight.begin() + static_cast<std::ptrdiff_t>(given));
    to.endpoint->received(given, clock_.now());
    return true;
  }

  // Closes what wants to be closed, or has seen the other's end.
  bool settle(End& end, End& other) {
    if (!end.endpoint || end.closed) return false;
    const CloseWish wish = end.endpoint->close_wish();
    if (wish == CloseWish::at_once) {
      end.flight.clear();
      return close(end, {});
    }
    std::array<Bytes, 1> piece;
    if (wish == CloseWish::after_sending && !end.finished && end.endpoint->gather(piece) == 0) {
      end.finished = true;
      return true;
    }
    if (other.finished && other.flight.empty()) return close(end, {});
    return false;
  }

  bool close(End& end, ErrorCode why) {
    if (!end.endpoint || end.closed) return false;
    end.closed = end.finished = true;
    end.endpoint->transport_closed(why, clock_.now());
    end.endpoint->attach(nullptr);
    return true;
  }

  std::size_t chunk_;
  ManualClock& clock_;
  std::array<End, 2> ends_;
};

}  // namespace openiser::test
