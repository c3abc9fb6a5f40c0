// Signals as calls on an event loop (signalfd(2)): nothing runs in a signal handler.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>

#include "base/descriptor.h"
#include "rdmap/tcp/event_loop.h"

namespace openiser::target {

// Keeps the signals from ending the process, in this thread and in those it starts from now on: to
// be called before there are any.
void block_signals(std::initializer_list<int> signals);

// Calls back with each blocked signal that comes.
class SignalWatch {
 public:
  SignalWatch(rdmap::EventLoop& loop, std::initializer_list<int> signals,
              std::function<void(int)> call);

 private:
  void read();

  Descriptor descriptor_;
  std::function<void(int)> call_;
  std::unique_ptr<rdmap::ReadableWatch> watch_;
};

}  // namespace openiser::target
