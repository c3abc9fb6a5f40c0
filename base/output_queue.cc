#include "base/output_queue.h"

#include <algorithm>

#include "base/assert.h"

namespace openiser {

std::byte* OutputQueue::arena_space(std::size_t n) {
  if (chunks_.empty() || chunk_used_ + n > chunks_.back().second.size()) {
    if (n <= kChunk && !spare_.empty()) {
      chunks_.emplace_back(end_, std::move(spare_.back()));
      spare_.pop_back();
    } else {
      chunks_.emplace_back(end_, Buffer::allocate(std::max(n, kChunk)));
    }
    chunk_used_ = 0;
  }
  std::byte* space = chunks_.back().second.data() + chunk_used_;
  chunk_used_ += n;
  chunks_.back().first = end_ + n;
  return space;
}

MutableBytes OutputQueue::append_space(std::size_t n) {
  std::byte* space = arena_space(n);
  end_ += n;
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (!last.reference && last.bytes.data() + last.bytes.size() == space) {
      last.bytes = {last.bytes.data(), last.bytes.size() + n};
      return {space, n};
    }
  }
  pieces_.push_back({{space, n}, false});
  return {space, n};
}

void OutputQueue::append_copy(Bytes bytes) {
  if (bytes.empty()) return;
  std::memcpy(append_space(bytes.size()).data(), bytes.data(), bytes.size());
}

void OutputQueue::append_reference(Bytes bytes) {
  if (bytes.empty()) return;
  pieces_.push_back({bytes, true});
  end_ += bytes.size();
}

std::size_t OutputQueue::gather(std::span<Bytes> out) const {
  std::size_t n = 0;
  for (; n < out.size() && n < pieces_.size(); ++n) out[n] = pieces_[n].bytes;
  return n;
}

void OutputQueue::consume(std::size_t n) {
  ISER_ASSERT(n <= size());
  sent_ += n;
  while (n > 0) {
    Piece& first = pieces_.front();
    if (n < first.bytes.size()) {
      first.bytes = first.bytes.subspan(n);
      break;
    }
    n -= first.bytes.size();
    pieces_.pop_front();
  }
  while (chunks_.size() > 1 && chunks_.front().first <= sent_) {
    Buffer& chunk = chunks_.front().second;
    if (chunk.size() == kChunk && spare_.size() < 4) spare_.push_back(std::move(chunk));
    chunks_.pop_front();
  }
  while (!copies_.empty() && copies_.front().first <= sent_) copies_.pop_front();
  if (empty()) chunk_used_ = 0;
}

void OutputQueue::detach(Bytes memory) {
  const auto* begin = memory.data();
  const auto* end = begin + memory.size();
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    if (!piece.reference || piece.bytes.data() >= end ||
        piece.bytes.data() + piece.bytes.size() <= begin)
      continue;
    // Copies live until all that is queued now is sent: simple, and only aborted tasks come this
    // way.
    copies_.emplace_back(end_, Buffer::copy_of(piece.bytes));
    piece = {copies_.back().second.bytes(), true};
  }
}

void OutputQueue::clear() {
  pieces_.clear();
  copies_.clear();
  sent_ = end_;
  while (chunks_.size() > 1) chunks_.pop_front();
  chunk_used_ = 0;
}

}  // namespace openiser
