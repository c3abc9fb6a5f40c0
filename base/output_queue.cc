#include "base/output_queue.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace openiser {

void OutputQueue::add_chunk() {
  Used<std::unique_ptr<Chunk>>& added = chunks_.emplace_back();
  added.until = end_;
  added.memory = Spares::take();
  chunk_used_ = 0;
}

// The first `n`.
void OutputQueue::drop_chunks(std::size_t n) {
  const auto begin = chunks_.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(n);
  for (auto each = begin; each != end; ++each) Spares::give(std::move(each->memory));
  chunks_.erase(begin, end);
}

MutableBytes OutputQueue::append_space(std::size_t n) {
  if (n > room()) add_chunk();
  const MutableBytes space = MutableBytes(chunks_.back().memory->bytes).subspan(chunk_used_, n);
  chunk_used_ += n;
  end_ += n;
  chunks_.back().until = end_;
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (!last.reference && last.bytes.data() + last.bytes.size() == space.data()) {
      last.bytes = {last.bytes.data(), last.bytes.size() + n};
      return space;
    }
  }
  pieces_.push_back({space, false});
  return space;
}

void OutputQueue::append_copy(Bytes bytes) {
  while (!bytes.empty()) {
    if (room() == 0) add_chunk();
    const Bytes part = bytes.first(std::min(bytes.size(), room()));
    std::memcpy(append_space(part.size()).data(), part.data(), part.size());
    bytes = bytes.subspan(part.size());
  }
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
  const auto in_use = [this](const auto& each) { return each.until > sent_; };
  drop_chunks(static_cast<std::size_t>(std::ranges::find_if(chunks_, in_use) - chunks_.begin()));
  copies_.erase(copies_.begin(), std::ranges::find_if(copies_, in_use));
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
    copies_.push_back({end_, Buffer::copy_of(piece.bytes)});
    piece = {copies_.back().memory.bytes(), true};
  }
}

void OutputQueue::clear() {
  pieces_.clear();
  copies_.clear();
  sent_ = end_;
  drop_chunks(chunks_.size());
}

}  // namespace openiser
