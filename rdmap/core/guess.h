// Payloads received straight into their places before their headers have been seen, several in one
// call: what lies between two of them is staged. A guess reaches nothing but memory where nothing
// has been placed yet, and is decided on before the call that received it ends. One that is wrong
// is put right: what has come goes into the staging buffer, in the order of the stream.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "rdmap/rcap.h"

namespace openiser::rdmap {

class Guess {
 public:
  struct Part {
    std::size_t at = 0;  // in the staging buffer, where what is staged goes on behind it
    MutableBytes payload;
    Stag stag;             // of a region; 0: a read's sink
    std::size_t came = 0;  // of the payload
  };

  void clear() { first_ = end_ = 0; }
  bool full() const { return end_ == parts_.size(); }
  void add(std::size_t at, MutableBytes payload, Stag stag = {}) {
    parts_[end_++] = {at, payload, stag, 0};
  }

  // `n` bytes have come where `staged` bytes were staged before; returns how many are now.
  std::size_t received(std::size_t n, std::size_t staged);
  // Payload has come before its header was looked at.
  bool is_pending() const { return first_ < end_ && parts_[first_].came > 0; }
  // The first part; while is_pending().
  const Part& front() const { return parts_[first_]; }
  void pop() { ++first_; }
  // All of which payload has come.
  std::span<const Part> pending() const;

  // Puts all that is pending into the order of the stream. `staging` holds `end` bytes, of which
  // those from `begin` on are not taken. Returns how many it holds then; it has room for them.
  std::size_t undo(MutableBytes staging, std::size_t begin, std::size_t end);

 private:
  std::array<Part, 32> parts_;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

}  // namespace openiser::rdmap
