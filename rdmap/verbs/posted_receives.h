// Receives: the device has as many as it takes, the rest wait. It fills them in the order it got
// them.
#pragma once

#include <cstdint>

#include "base/fifo.h"
#include "rdmap/core/work_queue.h"
#include "rdmap/verbs/local_memory.h"

namespace openiser::rdmap {

class PostedReceives {
 public:
  PostedReceives(ProtectionDomain& domain, CompletionQueue& completions)
      : domain_(domain), completions_(completions) {}
  // `most`: that the device takes.
  void open(ibv_qp* pair, std::uint32_t most) {
    pair_ = pair;
    most_ = most;
  }

  void post(Buffer buffer, WorkId id) { waiting_.emplace_back(std::move(buffer), id); }
  // Gives the device what it takes. An error is the end of the queue pair.
  ErrorCode pump();
  // The oldest that the device has is done. An error is the end of the queue pair.
  ErrorCode completed(ErrorCode status, std::size_t length, std::optional<Stag> invalidated);
  void abandon(ErrorCode why);

 private:
  struct Receive {
    Receive(Buffer buffer_now, WorkId id_now) : buffer(std::move(buffer_now)), id(id_now) {}
    Buffer buffer;
    WorkId id;
    LocalMemory memory;
  };
  MutableBytes nothing() { return {&nothing_, 1}; }
  Completion& give_back(Receive& receive, ErrorCode status);

  ProtectionDomain& domain_;
  CompletionQueue& completions_;
  ibv_qp* pair_ = nullptr;
  std::uint32_t most_ = 0;
  Fifo<Receive> with_device_;
  Fifo<Receive> waiting_;
  std::byte nothing_{};  // stands for the memory of receives that have none
};

}  // namespace openiser::rdmap
