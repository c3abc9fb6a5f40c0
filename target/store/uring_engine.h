// The engine on io_uring: requests gather in the submission queue during a turn of the loop and
// enter the kernel in one call at its end; an eventfd tells the loop of completions.
#pragma once

#include <liburing.h>

#include <functional>
#include <memory>
#include <vector>

#include "rdmap/tcp/event_loop.h"
#include "target/store/file_turns.h"
#include "target/store/store.h"
#include "target/store/thread_engine.h"
#include "target/store/transfer.h"

namespace openiser::target {

// Reads, writes and flushes go to the ring, at most kDepth at a time, the rest wait their turn.
// What can wait in the kernel has a worker thread of the kernel's each, however many wait already.
// Discards and zeroing go to threads of our own: the kernel would run them on its worker threads
// too, and there the fallbacks of perform() apply. Destroyed on the loop's thread; waits for what
// the kernel still has, so that no memory of a request is touched afterwards.
class UringEngine final : public StoreEngine {
 public:
  static constexpr unsigned kDepth = 512;

  // Null where the kernel (or its policy) has no io_uring, or not the operations used here.
  static std::unique_ptr<UringEngine> create(rdmap::EventLoop& loop);
  ~UringEngine() override;

  const char* name() const override { return "io_uring"; }
  void submit(int fd, StoreRequest& request) override;
  void flush() override;

 private:
  struct Slot {
    StoreRequest* request = nullptr;
    int fd = -1;
    Transfer transfer;
  };

  UringEngine(rdmap::EventLoop& loop, io_uring ring, int event);
  void start(FileTurns::Turn turn);
  void queue(Slot& slot);
  void schedule_flush(void (rdmap::EventLoop::*when)(std::function<void()>));
  void readable();
  void reap();
  void complete(Slot& slot, int result);

  rdmap::EventLoop& loop_;
  io_uring ring_;
  int event_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  FileTurns turns_{kDepth};
  bool flush_is_due_ = false;
  bool reaping_ = false;
  std::unique_ptr<ThreadEngine> threads_;  // started by the first request for it
  rdmap::ReadableWatch watch_;
  // Expires with the engine; deferred calls look at it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace openiser::target
