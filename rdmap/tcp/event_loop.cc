#include "rdmap/tcp/event_loop.h"

#include <boost/asio/defer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/result.h"
#include "rdmap/tcp/poll_patience.h"

namespace openiser::rdmap {

namespace asio = boost::asio;

namespace {

asio::io_context& context_of(EventLoop& loop) {
  return *static_cast<asio::io_context*>(loop.io_context());
}

}  // namespace

// The hint says that one thread runs the context: handlers posted from it skip the lock and the
// wake-up.
struct EventLoop::State {
  explicit State(Duration busy_poll) : patience(busy_poll) {}

  void run() {
    if (patience.longest() == Duration(0)) {
      context.run();
      return;
    }
    while (!context.stopped()) {
      const Time idle_since = std::chrono::steady_clock::now();
      if (!look_until(idle_since + patience.now())) context.run_one();
      patience.note(std::chrono::steady_clock::now() - idle_since);
    }
  }

  // True when there was something to do until then.
  bool look_until(Time end) {
    do {
      if (context.poll() != 0) return true;
    } while (!context.stopped() && std::chrono::steady_clock::now() < end);
    return false;
  }

  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  PollPatience patience;
};

EventLoop::EventLoop(Duration busy_poll) : state_(std::make_unique<State>(busy_poll)) {}

EventLoop::~EventLoop() = default;

void EventLoop::run() {
  state_->run();
  // Behind run(), not before it: a stop() that comes before the thread gets here must not be lost.
  state_->context.restart();
}

void EventLoop::stop() {
  state_->context.stop();
}

void EventLoop::post(std::function<void()> call) {
  asio::post(state_->context, std::move(call));
}

void EventLoop::defer(std::function<void()> call) {
  asio::defer(state_->context, std::move(call));
}

bool EventLoop::on_this_thread() const {
  return state_->context.get_executor().running_in_this_thread();
}

Time EventLoop::now() const {
  return std::chrono::steady_clock::now();
}

void* EventLoop::io_context() {
  return &state_->context;
}

// Deadlines move with almost every PDU, nearly always to a later time. The timer below is therefore
// touched only when the deadline becomes earlier than what it is armed for; when it goes off too
// early it is armed again.
struct Timer::State : std::enable_shared_from_this<Timer::State> {
  State(EventLoop& loop, std::function<void()> call_now)
      : timer(context_of(loop)), call(std::move(call_now)) {}

  void arm(Time when) {
    armed = when;
    timer.expires_at(when);
    timer.async_wait([self = shared_from_this(), generation = ++generation](const ErrorCode&) {
      if (generation == self->generation) self->went_off();
    });
  }

  void went_off() {
    armed.reset();
    if (!wanted || destroyed) return;
    if (*wanted > std::chrono::steady_clock::now()) return arm(*wanted);
    wanted.reset();
    call();
  }

  asio::steady_timer timer;
  const std::function<void()> call;
  std::optional<Time> wanted;
  std::optional<Time> armed;
  // Of the latest wait: those before it were cancelled, or went off while being replaced.
  std::uint64_t generation = 0;
  bool destroyed = false;
};

Timer::Timer(EventLoop& loop, std::function<void()> call)
    : state_(std::make_shared<State>(loop, std::move(call))) {}

Timer::~Timer() {
  state_->destroyed = true;
  ErrorCode ignored;
  state_->timer.cancel(ignored);
}

void Timer::set(std::optional<Time> when) {
  state_->wanted = when;
  if (when && (!state_->armed || *when < *state_->armed)) state_->arm(*when);
}

struct ReadableWatch::State : std::enable_shared_from_this<ReadableWatch::State> {
  State(EventLoop& loop, int fd, std::function<void()> call_now)
      : descriptor(context_of(loop), fd), call(std::move(call_now)) {}

  void wait() {
    descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                          [self = shared_from_this()](const ErrorCode& error) {
                            if (error || self->destroyed) return;
                            self->call();
                            if (!self->destroyed) self->wait();
                          });
  }

  asio::posix::stream_descriptor descriptor;
  const std::function<void()> call;
  bool destroyed = false;
};

ReadableWatch::ReadableWatch(EventLoop& loop, int fd, std::function<void()> call)
    : state_(std::make_shared<State>(loop, fd, std::move(call))) {
  state_->wait();
}

ReadableWatch::~ReadableWatch() {
  state_->destroyed = true;
  state_->descriptor.release();
}

}  // namespace openiser::rdmap
