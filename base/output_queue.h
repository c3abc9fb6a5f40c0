// What a byte-stream core has to send: small headers, copied in, and payload sent from where it
// lies. Payload leases ride along and come back when their bytes are sent.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/fifo.h"

namespace openiser {

class OutputQueue {
 public:
  // Copies `bytes` behind what is queued.
  void append_copy(Bytes bytes);
  // Room for `n` bytes (at most 1024) behind what is queued, to be filled before any other call.
  MutableBytes append_space(std::size_t n);
  // Queues a reference; the memory stays valid and unchanged until sent (see detach()).
  void append_reference(Bytes bytes);

  // Offset in the stream of the next byte to be queued, counted from 0 at construction. A core that
  // wants to know when something is sent remembers end() after queueing it and compares with
  // sent_total().
  std::uint64_t end() const { return end_; }
  std::uint64_t sent_total() const { return sent_; }
  bool empty() const { return end_ == sent_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - sent_); }

  std::size_t gather(std::span<Bytes> out) const;
  void consume(std::size_t n);

  // Replaces every unsent reference into `memory` by a copy: afterwards the queue does not touch
  // that memory.
  void detach(Bytes memory);
  void clear();

 private:
  struct Piece {
    Bytes bytes;
    bool reference;
  };
  static constexpr std::size_t kChunk = 16384;

  std::byte* arena_space(std::size_t n);

  Fifo<Piece> pieces_;
  std::deque<std::pair<std::uint64_t, Buffer>>
      chunks_;  // arena blocks with the end() of their last use
  std::deque<std::pair<std::uint64_t, Buffer>> copies_;  // made by detach(), likewise
  std::vector<Buffer> spare_;
  std::size_t chunk_used_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace openiser
