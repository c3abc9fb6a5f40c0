#include "tests/bench/libiscsi_load/load.h"

#include <iscsi/scsi-lowlevel.h>

#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/buffer.h"
#include "tests/bench/libiscsi_load/session.h"

namespace openiser::bench {
namespace {

class Load {
 public:
  explicit Load(const LoadOptions& options) : options_(options) {
    for (unsigned i = 0; i < options.sessions; ++i)
      sessions_.emplace_back(options.url, i, options.header_digest);
    const auto [blocks, block_size] = sessions_[0].capacity();
    if (options.block_size == 0 || options.block_size % block_size != 0)
      throw std::runtime_error("--bs is a multiple of " + std::to_string(block_size));
    block_size_ = block_size;
    lba_step_ = options.block_size / block_size;
    places_ = blocks / lba_step_;
    if (places_ == 0) throw std::runtime_error("--bs is larger than the LUN");
    result_.bytes_per_io = options.block_size;
  }

  Result run() {
    for (LibiscsiSession& session : sessions_) {
      for (unsigned i = 0; i < options_.depth; ++i) issue(slots_.emplace_back(*this, session));
    }
    run_for(options_.warm_up);
    measuring_ = true;
    const ProcessorTime before = processor_time();
    const Clock::time_point start = Clock::now();
    run_for(options_.seconds);
    measuring_ = false;
    const ProcessorTime after = processor_time();
    result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    result_.cpu = {after.user - before.user, after.system - before.system};
    draining_ = true;
    while (in_flight_ > 0) turn();
    return result_;
  }

 private:
  struct Slot {
    Slot(Load& l, LibiscsiSession& s)
        : load(l), session(s), memory(Buffer::allocate(l.options_.block_size)) {
      std::memset(memory.data(), 0x5a, memory.size());
    }
    Load& load;
    LibiscsiSession& session;
    Buffer memory;
    scsi_iovec data{};  // libiscsi keeps a pointer to it
    Clock::time_point begun;
  };

  void issue(Slot& slot) {
    const std::uint64_t place = (options_.random ? random_() : next_++) % places_;
    const bool reading = random_() % 100 < options_.read_share;
    slot.data = {slot.memory.data(), slot.memory.size()};
    slot.begun = Clock::now();
    ++in_flight_;
    if (reading)
      slot.session.read(place * lba_step_, block_size_, &slot.data, done, &slot);
    else
      slot.session.write(place * lba_step_, block_size_, &slot.data, done, &slot);
  }

  static void done(iscsi_context*, int status, void* data, void* context) {
    Slot& slot = *static_cast<Slot*>(context);
    auto* task = static_cast<scsi_task*>(data);
    const bool good =
        status == SCSI_STATUS_GOOD && task->residual_status == SCSI_RESIDUAL_NO_RESIDUAL;
    scsi_free_scsi_task(task);
    slot.load.finished(slot, good);
  }

  void finished(Slot& slot, bool good) {
    --in_flight_;
    if (!good) {
      if (++result_.errors > 1000) draining_ = true;
    } else if (measuring_) {
      result_.latencies.add(
          static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - slot.begun).count()));
    }
    if (!draining_) issue(slot);
  }

  void run_for(double seconds) {
    const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(seconds));
    while (Clock::now() < end && !draining_) turn();
  }

  void turn() {
    polled_.clear();
    for (const LibiscsiSession& session : sessions_) polled_.push_back(session.waits_for());
    const int n = poll(polled_.data(), polled_.size(), 10'000);
    if (n == 0) throw std::runtime_error("no answer for 10 s");
    for (std::size_t i = 0; i < sessions_.size(); ++i) sessions_[i].serve(polled_[i]);
  }

  const LoadOptions& options_;
  std::deque<LibiscsiSession> sessions_;
  std::deque<Slot> slots_;
  std::vector<pollfd> polled_;
  std::uint32_t block_size_ = 0, lba_step_ = 0;
  std::uint64_t places_ = 0, next_ = 0;
  std::minstd_rand random_;
  unsigned in_flight_ = 0;
  bool measuring_ = false, draining_ = false;
  Result result_;
};

}  // namespace

Result run(const LoadOptions& options) {
  if (options.core >= 0) pin_to_core(options.core);
  return Load(options).run();
}

}  // namespace openiser::bench
