// What an RDMA Read Response under way goes on with: FPDUs whose sizes follow from the last. So
// several can be received at once, each payload straight into its place and what lies between two
// of them staged, before a header has been seen. A guess reaches nothing but the sink of the read,
// where nothing has been placed yet. One that is wrong is put right: what has come goes into the
// staging buffer, in the order of the stream.
#pragma once

#include <array>
#include <cstddef>

#include "base/bytes.h"

namespace openiser::rdmap {

class ResponseGuess {
 public:
  struct Part {
    std::size_t between = 0;  // bytes before the payload that are staged
    MutableBytes payload;
    std::size_t came = 0;  // of the payload
  };

  void clear() { first_ = end_ = 0; }
  bool full() const { return end_ == parts_.size(); }
  void add(std::size_t between, MutableBytes payload) { parts_[end_++] = {between, payload, 0}; }

  // `n` bytes have come from where the first part begins; returns how many of them were staged.
  std::size_t received(std::size_t n);
  // Payload has come before its header was looked at.
  bool is_pending() const { return first_ < end_ && parts_[first_].came > 0; }
  // The first part; while is_pending().
  const Part& front() const { return parts_[first_]; }
  void pop() { ++first_; }

  // Puts all that is pending into the order of the stream: `staged` begins with the last
  // `header` bytes of what is between the first part and what came before it, and holds `size`
  // bytes. Returns how many it holds then; it has room for them.
  std::size_t undo(MutableBytes staged, std::size_t size, std::size_t header);

 private:
  std::array<Part, 3> parts_;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

}  // namespace openiser::rdmap
