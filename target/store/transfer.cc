#include "target/store/transfer.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace openiser::target {

void copy_pieces(const StoreRequest& request, std::byte* memory) {
  std::uint64_t rest = request.length;
  for (const MutableBytes& piece : request.pieces) {
    const std::size_t size = std::min<std::uint64_t>(piece.size(), rest);
    if (size == 0) continue;
    if (request.operation == StoreRequest::Operation::write) {
      std::memcpy(memory, piece.data(), size);
    } else {
      std::memcpy(piece.data(), memory, size);
    }
    memory += size;
    rest -= size;
  }
}

void Transfer::start(const StoreRequest& request) {
  pieces_ = request.pieces;
  piece_offset_ = 0;
  offset_ = request.offset;
  length_ = request.length;
  moved_ = 0;
}

std::span<const iovec> Transfer::next() {
  std::uint64_t wanted = length_ - moved_;
  std::size_t count = 0;
  std::size_t skip = piece_offset_;
  for (const MutableBytes& piece : pieces_) {
    if (count == kMaxPieces || wanted == 0) break;
    const std::size_t size = std::min<std::uint64_t>(piece.size() - skip, wanted);
    if (size != 0) vectors_[count++] = {piece.data() + skip, size};
    wanted -= size;
    skip = 0;
  }
  ISER_ASSERT(count != 0 || complete());
  return {vectors_.data(), count};
}

void Transfer::advance(std::uint64_t n) {
  ISER_ASSERT(n <= length_ - moved_);
  moved_ += n;
  while (n != 0) {
    const std::size_t rest = pieces_.front().size() - piece_offset_;
    if (n < rest) {
      piece_offset_ += n;
      return;
    }
    n -= rest;
    piece_offset_ = 0;
    pieces_ = pieces_.subspan(1);
  }
}

}  // namespace openiser::target
