// The other connection: a healthy session that reads and writes all the time on a thread of its
// own, and whoever misbehaves next to it must not make it notice.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "initiator/lun.h"
#include "initiator/session.h"
#include "tests/support/bytes.h"
#include "tests/support/rcap_client.h"

namespace openiser::test {

class Bystander {
 public:
  static constexpr std::size_t kRegion = 64 * 1024;

  // Works on the last 64 KiB of LUN 0.
  Bystander(std::uint16_t port, const std::string& target, bool iser = true)
      : lun_(initiator::Lun::open(open(port, target, iser), 0)), thread_([this] { run(); }) {
    more_rounds(1);
  }
  ~Bystander() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Waits until it has written and read back `n` times more; fails the test if it cannot.
  void more_rounds(int n) {
    std::unique_lock lock(mutex_);
    const int wanted = rounds_ + n;
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(30), [&] {
      return rounds_ >= wanted || !trouble_.empty();
    })) << "the other connection makes no progress";
    EXPECT_EQ(trouble_, "");
  }

 private:
  static std::shared_ptr<initiator::Session> open(std::uint16_t port, const std::string& target,
                                                  bool iser) {
    initiator::SessionOptions options;
    options.initiator_name = "iqn.2026-11.org.example:bystander";
    const std::string where = "127.0.0.1:" + std::to_string(port) + "/" + target + "/0";
    return initiator::Session::open(
        initiator::parse_url(iser ? "iser://" + where + "?wire=rdma-first" : "iscsi://" + where),
        options);
  }

  void run() {
    for (unsigned seed = 1;; ++seed) {
      const std::string trouble = round(seed);
      std::unique_lock lock(mutex_);
      ++rounds_;
      trouble_ = trouble;
      changed_.notify_all();
      if (!trouble.empty()) return;
      // Often enough to be in the way of anything, and no busy loop.
      if (changed_.wait_for(lock, std::chrono::milliseconds(1), [this] { return stop_; })) return;
    }
  }
  std::string round(unsigned seed) {
    const std::uint64_t offset = lun_->properties().size() - kRegion;
    const std::size_t size = seed % 2 == 0 ? kRegion : 4096;
    const ByteVector written = noise(size, seed);
    if (const ErrorCode error = lun_->write(offset, written)) return error.message();
    ByteVector read(size);
    if (const ErrorCode error = lun_->read(offset, read)) return error.message();
    return read == written ? "" : "read something else than was written";
  }

  const std::unique_ptr<initiator::Lun> lun_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int rounds_ = 0;
  bool stop_ = false;
  std::string trouble_;
  std::thread thread_;
};

}  // namespace openiser::test
