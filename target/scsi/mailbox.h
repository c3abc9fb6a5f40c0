// How other threads reach a nexus: by posting to its loop, for as long as it is there.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "rdmap/tcp/event_loop.h"

namespace openiser::target {

class Nexus;

// Shared by a nexus, the logical units it is attached to, and what has been posted.
class Mailbox : public std::enable_shared_from_this<Mailbox> {
 public:
  Mailbox(rdmap::EventLoop& loop, Nexus& nexus) : loop_(&loop), nexus_(&nexus) {}

  // Any thread. `call` is dropped when the nexus goes before it could run.
  void post(std::function<void(Nexus&)> call) {
    const std::lock_guard lock(mutex_);
    if (!loop_) return;
    loop_->post([self = shared_from_this(), call = std::move(call)] {
      if (self->nexus_) call(*self->nexus_);
    });
  }

  // By the nexus's destructor, on its thread.
  void close() {
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
    nexus_ = nullptr;
  }

 private:
  std::mutex mutex_;
  rdmap::EventLoop* loop_;
  Nexus* nexus_;  // used on the loop's thread only
};

}  // namespace openiser::target
