#include "target/signals.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace openiser::target {

namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace

void block_signals(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalWatch::SignalWatch(rdmap::EventLoop& loop, std::initializer_list<int> signals,
                         std::function<void(int)> call)
    : call_(std::move(call)) {
  const sigset_t set = set_of(signals);
  descriptor_ = Descriptor(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!descriptor_) throw std::system_error(errno, std::generic_category(), "signalfd");
  watch_ = std::make_unique<rdmap::ReadableWatch>(loop, descriptor_.get(), [this] { read(); });
}

void SignalWatch::read() {
  signalfd_siginfo info{};
  if (::read(descriptor_.get(), &info, sizeof info) != sizeof info) return;
  call_(static_cast<int>(info.ssi_signo));
}

}  // namespace openiser::target
