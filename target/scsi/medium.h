// Whether the medium of a unit can be used, and the work on all of it that makes it unusable for a
// while: SANITIZE (SBC-3 section 4.11) and FORMAT UNIT (SBC-3 section 4.32).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "target/scsi/sense.h"
#include "target/store/store.h"

namespace openiser::target {

// What is done to every block, once.
struct MediumPass {
  StoreRequest::Operation operation;  // write, write_zeroes or discard
  std::vector<std::byte> block;       // write: what each block becomes
};

// How long `bytes` take at `rate` bytes a second; at 0, no time.
std::chrono::nanoseconds time_for(std::uint64_t bytes, std::uint64_t rate);

// The work has a thread of its own and goes on whether or not whoever asked for it is still there.
// It is not remembered by a restart.
class Medium {
 public:
  enum class State : std::uint8_t {
    usable,
    sanitizing,
    formatting,
    sanitize_failed,           // EXIT FAILURE MODE ends it
    sanitize_failed_for_good,  // only another SANITIZE does
    format_failed,             // only another FORMAT UNIT does
  };

  // `rate`: bytes a second that are written at most; 0: no limit.
  explicit Medium(Store& store, std::uint64_t rate = 0) : store_(store), rate_(rate) {}
  // Waits for the request that the store has.
  ~Medium();

  // Looked at by every command.
  State state() const { return state_.load(std::memory_order_acquire); }
  // What commands are refused with; none when the medium is usable.
  std::optional<Sense> trouble() const;

  // Claims the medium for work of one kind, `working`; false when there is work already. `failed`
  // is the state should the store fail. No command is let in from now on; start() is for when those
  // inside are out.
  bool claim(State working, State failed);
  // `size`: of the medium, bytes.
  void start(std::vector<MediumPass> passes, std::uint64_t size);
  // `call` is called on the work's thread when it has ended.
  void when_ended(std::function<void()> call);
  // False when the failure is not of a kind that can be left. Harmless when there was none.
  bool leave_failure();

 private:
  void work(const std::vector<MediumPass>& passes, std::uint64_t size);
  ErrorCode carry_out(const std::vector<MediumPass>& passes, std::uint64_t size);
  void keep_pace(std::uint64_t written, std::chrono::steady_clock::time_point start) const;
  void end(ErrorCode error);

  Store& store_;
  const std::uint64_t rate_;
  std::atomic<State> state_ = State::usable;
  std::atomic<std::uint16_t> progress_ = 0;  // in 65536ths
  std::atomic<bool> stop_ = false;
  State failed_ = State::usable;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace openiser::target
