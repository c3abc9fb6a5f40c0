// The engine for kernels without io_uring, and for what io_uring would hand to threads anyway: a
// few threads that make blocking calls.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "rdmap/tcp/event_loop.h"
#include "target/store/file_turns.h"
#include "target/store/store.h"

namespace openiser::target {

// One thread from the start, up to kMaxThreads as they are needed; they stay. As many requests wait
// as its users make: sessions bound theirs by the command window. Destroyed on the loop's thread;
// requests that have not been started by then, and completions not yet delivered, are dropped.
class ThreadEngine final : public StoreEngine {
 public:
  static constexpr std::size_t kMaxThreads = 16;

  explicit ThreadEngine(rdmap::EventLoop& loop);
  ~ThreadEngine() override;

  const char* name() const override { return "threads"; }
  void submit(int fd, StoreRequest& request) override;
  void flush() override {}

 private:
  // Shared with the workers and with deliveries that are posted and not yet run.
  struct Shared {
    explicit Shared(rdmap::EventLoop& l) : loop(l) {}
    rdmap::EventLoop& loop;
    std::mutex mutex;
    std::condition_variable wanted;
    FileTurns turns{kMaxThreads};
    std::deque<FileTurns::Turn> queue;  // those that have their turn and no thread yet
    std::vector<StoreRequest*> finished;
    std::size_t idle = 0;
    bool closed = false;
  };

  void add_thread();
  static void work(const std::shared_ptr<Shared>& shared);
  static void deliver(Shared& shared);

  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace openiser::target
