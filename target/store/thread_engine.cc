#include "target/store/thread_engine.h"

#include <system_error>
#include <utility>

#include "target/store/blocking_io.h"

namespace openiser::target {

ThreadEngine::ThreadEngine(rdmap::EventLoop& loop) : shared_(std::make_shared<Shared>(loop)) {
  add_thread();
}

ThreadEngine::~ThreadEngine() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    shared_->queue.clear();
    shared_->finished.clear();
  }
  shared_->wanted.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadEngine::submit(int fd, StoreRequest& request) {
  bool short_of_threads;
  {
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->turns.begins({fd, &request})) return;
    shared_->queue.push_back({fd, &request});
    short_of_threads = shared_->idle < shared_->queue.size();
  }
  if (short_of_threads && threads_.size() < kMaxThreads) {
    try {
      add_thread();
    } catch (const std::system_error&) {
      // Those there are will do the work.
    }
  }
  shared_->wanted.notify_one();
}

void ThreadEngine::add_thread() {
  threads_.emplace_back([shared = shared_] { work(shared); });
}

void ThreadEngine::work(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    ++shared->idle;
    shared->wanted.wait(lock, [&] { return shared->closed || !shared->queue.empty(); });
    --shared->idle;
    if (shared->closed) return;
    const FileTurns::Turn turn = shared->queue.front();
    shared->queue.pop_front();
    lock.unlock();
    turn.request->error = perform(turn.fd, *turn.request);
    lock.lock();
    if (shared->closed) return;
    if (const auto next = shared->turns.ended(turn.fd)) shared->queue.push_back(*next);
    shared->finished.push_back(turn.request);
    // One delivery takes all that has gathered by the time it runs. Posted under the lock: the loop
    // outlives the engine, and the engine is not gone while it is open.
    if (shared->finished.size() == 1) shared->loop.post([shared] { deliver(*shared); });
  }
}

void ThreadEngine::deliver(Shared& shared) {
  std::vector<StoreRequest*> finished;
  {
    const std::lock_guard lock(shared.mutex);
    finished.swap(shared.finished);
  }
  for (StoreRequest* request : finished) request->done();
}

}  // namespace openiser::target
