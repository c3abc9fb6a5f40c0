#include "target/scsi/medium.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "target/store/awaited_request.h"

namespace openiser::target {
namespace {

constexpr std::uint64_t kWritePiece = std::uint64_t{1} << 20;
constexpr std::uint64_t kZeroPiece = std::uint64_t{64} << 20;

std::vector<std::byte> repeat(const std::vector<std::byte>& block, std::uint64_t limit) {
  std::vector<std::byte> all;
  if (block.empty()) return all;
  all.reserve(limit);
  while (all.size() + block.size() <= limit) all.insert(all.end(), block.begin(), block.end());
  return all;
}

}  // namespace

Medium::~Medium() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

std::optional<Sense> Medium::trouble() const {
  switch (state()) {
    case State::usable:
      return {};
    case State::sanitizing:
      return Sense{.condition = Condition::sanitize_in_progress, .progress = progress_.load()};
    case State::formatting:
      return Sense{.condition = Condition::format_in_progress, .progress = progress_.load()};
    case State::sanitize_failed:
    case State::sanitize_failed_for_good:
      return Sense{.condition = Condition::sanitize_failed};
    case State::format_failed:
      return Sense{.condition = Condition::format_failed};
  }
  return {};
}

bool Medium::claim(State working, State failed) {
  State before = state();
  if (before == State::sanitizing || before == State::formatting) return false;
  if (!state_.compare_exchange_strong(before, working)) return false;
  progress_ = 0;
  failed_ = failed;
  return true;
}

void Medium::start(std::vector<MediumPass> passes, std::uint64_t size) {
  if (thread_.joinable()) thread_.join();  // of the work before, which has ended
  thread_ = std::thread([this, passes = std::move(passes), size] { work(passes, size); });
}

void Medium::when_ended(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(call));
}

bool Medium::leave_failure() {
  State before = State::sanitize_failed;
  return state_.compare_exchange_strong(before, State::usable) || before == State::usable;
}

void Medium::work(const std::vector<MediumPass>& passes, std::uint64_t size) {
  const ErrorCode error = carry_out(passes, size);
  if (stop_) return;
  if (error) {
    log::error("store", store_.properties().description +
                            ": sanitizing or formatting has failed: " + error.message());
  }
  end(error);
}

ErrorCode Medium::carry_out(const std::vector<MediumPass>& passes, std::uint64_t size) {
  AwaitedRequest request(store_);
  std::uint64_t done = 0, written = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const MediumPass& pass : passes) {
    std::vector<std::byte> data = repeat(pass.block, kWritePiece);
    const std::uint64_t piece = data.empty() ? kZeroPiece : data.size();
    request.operation = pass.operation;
    for (std::uint64_t at = 0; at < size; at += piece) {
      if (stop_) return {};
      request.offset = at;
      request.length = std::min(piece, size - at);
      MutableBytes bytes = MutableBytes(data).first(data.empty() ? 0 : request.length);
      request.pieces = {&bytes, data.empty() ? 0U : 1U};
      if (const ErrorCode error = request.perform()) return error;
      done += request.length;
      if (!data.empty()) keep_pace(written += request.length, start);
      progress_ = static_cast<std::uint16_t>(
          std::min(65535.0, 65536.0 * static_cast<double>(done) /
                                (static_cast<double>(size) * static_cast<double>(passes.size()))));
    }
  }
  request.operation = StoreRequest::Operation::flush;
  request.offset = request.length = 0;
  request.pieces = {};
  return request.perform();
}

std::chrono::nanoseconds time_for(std::uint64_t bytes, std::uint64_t rate) {
  if (rate == 0) return {};
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(1e9 * static_cast<double>(bytes) / static_cast<double>(rate)));
}

// In naps, so that the end of the unit need not wait.
void Medium::keep_pace(std::uint64_t written, std::chrono::steady_clock::time_point start) const {
  constexpr std::chrono::milliseconds kNap{20};
  const auto due = start + time_for(written, rate_);
  while (!stop_ && std::chrono::steady_clock::now() < due) std::this_thread::sleep_for(kNap);
}

void Medium::end(ErrorCode error) {
  std::vector<std::function<void()>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  state_.store(error ? failed_ : State::usable, std::memory_order_release);
  for (const auto& call : waiting) call();
}

}  // namespace openiser::target
