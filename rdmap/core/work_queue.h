// What a queue pair's client has posted and what it gets back: the work queue, whose operations are
// started in the order submitted and completed in that order (RFC 5040 section 5.5 rules 13 and
// 15), the receive queue, and the completion queue. Shared by the providers of our own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fifo.h"
#include "rdmap/rcap.h"

namespace openiser::rdmap {

// Completions not yet polled, oldest first.
class CompletionQueue {
 public:
  // A fresh one, to be filled in at once.
  Completion& add() {
    news_ = true;
    return queue_.emplace_back();
  }
  std::size_t poll(std::span<Completion> out);
  // Whether something was pushed that the client has not been told of.
  bool has_news() const { return news_; }
  bool take_news() { return std::exchange(news_, false); }

 private:
  Fifo<Completion> queue_;
  bool news_ = false;
};

// A posted send, write or read.
struct Work {
  Completion::Kind kind = Completion::Kind::send;
  WorkId id = 0;
  Buffer buffer;  // head of a send, data of a write, sink of a read
  Buffer body;    // of a send
  RemoteMemory remote;
  std::optional<Stag> invalidate;
  bool solicited_event = false;

  // Set by the provider: what is known of the outcome. A work is complete when `finished`.
  bool finished = false;
  ErrorCode status;

  static Work of(SendWork&& work);
  static Work of(WriteWork&& work);
  static Work of(ReadWork&& work);
  std::size_t length() const { return buffer.size() + body.size(); }
};

class WorkQueue {
 public:
  void post(Work&& work) { queue_.push_back(std::move(work)); }
  // What is posted may be started.
  void flush() { flushed_ = queue_.size(); }

  // The first flushed work not started, or null. References stay valid until the work completes.
  Work* next() { return started_ < flushed_ ? &queue_[started_] : nullptr; }
  // next() is under way.
  void start() { ++started_; }
  // The nth started work that has not completed, in order of submission; null beyond the last.
  Work* started(std::size_t n) { return n < started_ ? &queue_[n] : nullptr; }

  // Completes finished works from the front, up to the first that is not.
  void retire(CompletionQueue& into);
  // Completes everything: what is finished with its status, the rest with `why`.
  void abandon(ErrorCode why, CompletionQueue& into);

 private:
  void complete_front(CompletionQueue& into);

  Fifo<Work> queue_;
  std::size_t started_ = 0;
  std::size_t flushed_ = 0;
};

// Receive buffers, the last posted first: it is the one still in the cache, and memory that no
// burst has ever needed is never touched, however many receives are posted.
class ReceiveQueue {
 public:
  void post(Buffer buffer, WorkId id) { waiting_.push_back({std::move(buffer), id}); }
  bool empty() const { return !current_ && waiting_.empty(); }
  // The buffer that the next message goes to, the same until complete(). Not when empty().
  Buffer& current();
  // The current buffer's message of `length` bytes is delivered; `lent`: is there instead.
  void complete(std::size_t length, std::optional<Stag> invalidated, bool solicited_event,
                CompletionQueue& into, Buffer lent = {});
  void abandon(ErrorCode why, CompletionQueue& into);

 private:
  struct Posted {
    Buffer buffer;
    WorkId id;
  };
  std::optional<Posted> current_;
  std::vector<Posted> waiting_;
};

}  // namespace openiser::rdmap
