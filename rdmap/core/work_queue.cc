#include "rdmap/core/work_queue.h"

#include <algorithm>

namespace openiser::rdmap {

std::size_t CompletionQueue::poll(std::span<Completion> out) {
  std::size_t n = 0;
  for (; n < out.size() && !queue_.empty(); queue_.pop_front())
    out[n++] = std::move(queue_.front());
  return n;
}

Work Work::of(SendWork&& work) {
  Work made;
  made.kind = Completion::Kind::send;
  made.id = work.id;
  made.buffer = std::move(work.head);
  made.body = std::move(work.body);
  made.invalidate = work.invalidate;
  made.solicited_event = work.solicited_event;
  return made;
}

Work Work::of(WriteWork&& work) {
  Work made;
  made.kind = Completion::Kind::write;
  made.id = work.id;
  made.buffer = std::move(work.data);
  made.remote = work.sink;
  return made;
}

Work Work::of(ReadWork&& work) {
  Work made;
  made.kind = Completion::Kind::read;
  made.id = work.id;
  made.buffer = std::move(work.sink);
  made.remote = work.source;
  return made;
}

void WorkQueue::complete_front(CompletionQueue& into) {
  Work& work = queue_.front();
  Completion& completion = into.add();
  completion.kind = work.kind;
  completion.id = work.id;
  completion.status = work.status;
  completion.buffer = std::move(work.buffer);
  completion.body = std::move(work.body);
  queue_.pop_front();
}

void WorkQueue::retire(CompletionQueue& into) {
  for (; started_ > 0 && queue_.front().finished; --started_, --flushed_) complete_front(into);
}

void WorkQueue::abandon(ErrorCode why, CompletionQueue& into) {
  while (!queue_.empty()) {
    Work& work = queue_.front();
    if (!work.finished) work.status = why;
    complete_front(into);
  }
  started_ = flushed_ = 0;
}

Buffer& ReceiveQueue::current() {
  if (!current_) {
    current_ = std::move(waiting_.back());
    waiting_.pop_back();
    // Those of the next messages: with many connections they have left the cache.
    if (waiting_.size() >= 4) __builtin_prefetch(&waiting_.back() - 3);
  }
  return current_->buffer;
}

void ReceiveQueue::complete(std::size_t length, std::optional<Stag> invalidated,
                            bool solicited_event, CompletionQueue& into, Buffer lent) {
  Completion& completion = into.add();
  completion.kind = Completion::Kind::receive;
  if (lent) {
    completion.body = std::move(current());
    completion.buffer = std::move(lent);
  } else {
    completion.buffer = std::move(current());
    completion.buffer.resize(length);
  }
  completion.id = current_->id;
  completion.invalidated = invalidated;
  completion.solicited_event = solicited_event;
  current_.reset();
}

void ReceiveQueue::abandon(ErrorCode why, CompletionQueue& into) {
  if (current_) waiting_.push_back(std::move(*std::exchange(current_, {})));
  for (Posted& posted : waiting_) {
    Completion& completion = into.add();
    completion.kind = Completion::Kind::receive;
    completion.id = posted.id;
    completion.status = why;
    completion.buffer = std::move(posted.buffer);
  }
  waiting_.clear();
}

}  // namespace openiser::rdmap
