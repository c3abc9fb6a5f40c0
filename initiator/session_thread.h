// A thread with what sessions need to run on it: an event loop and a buffer pool. Sessions may
// share one: what is ready of all of them is then done in one turn, without a thread to wake for
// each.
#pragma once

#include <thread>

#include "base/buffer.h"
#include "rdmap/tcp/event_loop.h"

namespace openiser::initiator {

class SessionThread {
 public:
  // `busy_poll`: see rdmap::EventLoop.
  explicit SessionThread(Duration busy_poll = {})
      : loop_(busy_poll), thread_([this] { loop_.run(); }) {}
  // Not on the thread itself; every session on it has gone.
  ~SessionThread() {
    loop_.stop();
    thread_.join();
  }
  SessionThread(const SessionThread&) = delete;
  SessionThread& operator=(const SessionThread&) = delete;

  rdmap::EventLoop& loop() { return loop_; }
  // Of the thread alone.
  BufferPool& pool() { return pool_; }

 private:
  rdmap::EventLoop loop_;
  BufferPool pool_;
  std::thread thread_;
};

}  // namespace openiser::initiator
