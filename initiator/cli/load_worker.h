// One session of bench's, which keeps a queue of commands under way.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <random>
#include <string>

#include "base/buffer.h"
#include "base/latency_histogram.h"
#include "initiator/cli/load.h"

namespace openiser::initiator::cli {

// From start() to wait() it works on the session's thread, and has to stay where it is; what it
// found is there after wait().
class LoadWorker {
 public:
  using Clock = std::chrono::steady_clock;

  // `number` tells it from the others: they begin at other places.
  LoadWorker(std::shared_ptr<Session> session, std::uint16_t lun, std::uint32_t lun_block,
             const Load& load, unsigned number);

  // Sends no more commands from `end` on, or after 1000 errors.
  void start(Clock::time_point end);
  void wait() { finished_.get_future().get(); }

  const LatencyHistogram& latencies() const { return latencies_; }
  std::uint64_t errors() const { return errors_; }
  const std::string& first_error() const { return first_error_; }

 private:
  struct Slot {
    Command command;
    Buffer memory;
    std::uint64_t offset = 0;
    bool reading = false;
    Clock::time_point begun;
  };

  void issue_all();
  void issue(Slot& slot, Clock::time_point now);
  ErrorCode error_of(const Slot& slot) const;
  void done(Slot& slot);

  const std::shared_ptr<Session> session_;
  const iscsi::Lun lun_;
  const std::uint32_t lun_block_;
  const Load load_;
  std::mt19937_64 random_;
  std::uint64_t next_;
  Clock::time_point end_;
  std::deque<Slot> slots_;
  std::uint32_t open_ = 0;
  LatencyHistogram latencies_;
  std::uint64_t errors_ = 0;
  std::string first_error_;
  std::promise<void> finished_;
};

}  // namespace openiser::initiator::cli
