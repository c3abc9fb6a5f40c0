// One thread's event loop on Boost.Asio, with Asio kept out of sight: posted calls, timers and
// readiness of descriptors. A connection and all that belongs to it live on one loop for life.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"

namespace openiser::rdmap {

class EventLoop final : public Clock {
 public:
  // `busy_poll`: how long the thread looks for work, at the most, before it sleeps; zero: not at
  // all. It saves the time of a wake-up and costs a processor. The time adapts itself: a loop that
  // is mostly woken later than that soon sleeps at once.
  explicit EventLoop(Duration busy_poll = {});
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs until stop(); called by the loop's thread, and again if it likes.
  void run();
  // Any thread.
  void stop();
  // Any thread: `call` runs on the loop, in order of posting. What is posted and never run is
  // destroyed with the loop.
  void post(std::function<void()> call);
  // The loop's thread: `call` runs when what is being handled now is over, before waiting for more.
  void defer(std::function<void()> call);
  bool on_this_thread() const;
  Time now() const override;

  // The boost::asio::io_context, for the drivers of this folder: include
  // <boost/asio/io_context.hpp> and cast.
  void* io_context();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One deadline. Destroying or re-setting it cancels what was set before: `call` never runs late.
class Timer {
 public:
  Timer(EventLoop& loop, std::function<void()> call);
  ~Timer();
  // No value: cancels. Setting the same time again costs nothing.
  void set(std::optional<Time> when);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Calls back whenever `fd` is readable, until destroyed. Does not own the descriptor.
class ReadableWatch {
 public:
  ReadableWatch(EventLoop& loop, int fd, std::function<void()> call);
  ~ReadableWatch();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace openiser::rdmap
