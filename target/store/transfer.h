// The walk over the memory of a read or write: the kernel may move less than it was asked to, and
// takes a bounded number of pieces at a time, so a request can need several calls.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <span>

#include "target/store/store.h"

namespace openiser::target {

// Copies what a read or write moves between its pieces and `memory`, which is as long as the
// request: from the pieces for a write, else into them.
void copy_pieces(const StoreRequest& request, std::byte* memory);

class Transfer {
 public:
  static constexpr std::size_t kMaxPieces = 64;

  void start(const StoreRequest& request);
  bool complete() const { return moved_ == length_; }
  // Where in the file the rest starts.
  std::uint64_t offset() const { return offset_ + moved_; }
  // The memory of the rest, at most kMaxPieces of it, cut to the request's length. Valid until the
  // next call of any kind, and as long as the request's pieces are.
  std::span<const iovec> next();
  // `n` more bytes, of those that next() gave, have been moved.
  void advance(std::uint64_t n);

 private:
  std::span<const MutableBytes> pieces_;  // the first holds the next byte, piece_offset_ into it
  std::size_t piece_offset_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t length_ = 0;
  std::uint64_t moved_ = 0;
  std::array<iovec, kMaxPieces> vectors_;
};

}  // namespace openiser::target
