// A whole target daemon in the test's process, on a port of its own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "target/daemon.h"

namespace openiser::test {

// One target with one memory LUN of `size` bytes, on loopback, any port.
inline config::Daemon daemon_config(std::uint64_t size = 8 << 20) {
  config::Daemon config;
  config.portals.push_back({.host = "127.0.0.1", .port = 0, .tag = 1, .at = {}});
  config::Lun lun;
  lun.kind = config::Lun::Kind::memory;
  lun.size = size;
  config::Target target;
  target.name = "iqn.2026-11.org.example:disk1";
  target.luns.push_back(lun);
  config.targets.push_back(target);
  config.limits.threads = 2;
  config.limits.drain_timeout = 1;
  return config;
}

// Waits for what other threads do; false after 20 seconds.
inline bool eventually(const std::function<bool()>& condition) {
  const Time give_up = SteadyClock().now() + std::chrono::seconds(20);
  while (!condition()) {
    if (SteadyClock().now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class RunningDaemon {
 public:
  explicit RunningDaemon(config::Daemon config = daemon_config())
      : daemon_(std::make_unique<target::Daemon>(std::move(config))),
        thread_([this] { daemon_->run(); }) {}
  ~RunningDaemon() { stop(); }

  void stop() {
    if (!thread_.joinable()) return;
    daemon_->drain();
    thread_.join();
  }
  // Waits for a drain that was asked for.
  void join() { thread_.join(); }

  target::Daemon& operator*() { return *daemon_; }
  target::Daemon* operator->() { return daemon_.get(); }
  std::uint16_t port() const { return daemon_->portals().at(0).port; }

 private:
  std::unique_ptr<target::Daemon> daemon_;
  std::thread thread_;
};

// Logs of a daemon under test are of interest only when it fails: -> --gtest_filter and this.
class QuietLog {
 public:
  QuietLog() { log::set_level(log::Level::off); }
  ~QuietLog() { log::set_level(before_); }

 private:
  log::Level before_ = log::level();
};

}  // namespace openiser::test
