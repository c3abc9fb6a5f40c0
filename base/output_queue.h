// What a byte-stream core has to send: small headers, copied in, and payload sent from where it
// lies. Payload leases ride along and come back when their bytes are sent.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/fifo.h"
#include "base/thread_spares.h"

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
  // What is copied lies in these.
  struct Chunk {
    std::array<std::byte, 16384> bytes;
  };
  using Spares = ThreadSpares<Chunk>;
  // Memory of the queue's own, and the end() of its last use.
  template <class Memory>
  struct Used {
    std::uint64_t until;
    Memory memory;
  };

  std::size_t room() const { return chunks_.empty() ? 0 : sizeof(Chunk) - chunk_used_; }
  void add_chunk();
  void drop_chunks(std::size_t n);

  Fifo<Piece> pieces_;
  std::vector<Used<std::unique_ptr<Chunk>>> chunks_;
  std::vector<Used<Buffer>> copies_;  // made by detach()
  std::size_t chunk_used_ = 0;        // of the last
  std::uint64_t end_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace openiser
