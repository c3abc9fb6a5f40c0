// Requests of threads that have no event loop of their own.
#pragma once

#include <memory>

#include "rdmap/tcp/event_loop.h"
#include "target/store/store.h"

namespace openiser::target {

// A request that its thread waits for, any number of times, one after the other. The store outlives
// it.
class AwaitedRequest final : public StoreRequest {
 public:
  explicit AwaitedRequest(Store& store) : store_(store) {}

  ErrorCode perform() {
    is_done_ = false;
    store_.submit(*engine_, *this);
    engine_->flush();
    while (!is_done_) loop_.run();
    return error;
  }
  void done() override {
    is_done_ = true;
    loop_.stop();
  }

 private:
  Store& store_;
  rdmap::EventLoop loop_;
  const std::unique_ptr<StoreEngine> engine_ =
      StoreEngine::create(loop_, StoreEngine::Kind::threads);
  bool is_done_ = false;
};

}  // namespace openiser::target
