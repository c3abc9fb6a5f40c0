#include "initiator/cli/load_worker.h"

#include <cstring>
#include <utility>

#include "initiator/scsi_error.h"

namespace openiser::initiator::cli {
namespace {

constexpr std::uint64_t kMostErrors = 1000;

}  // namespace

LoadWorker::LoadWorker(std::shared_ptr<Session> session, std::uint16_t lun, std::uint32_t lun_block,
                       const Load& load, unsigned number)
    : session_(std::move(session)),
      lun_(encode_lun(lun)),
      lun_block_(lun_block),
      load_(load),
      random_(number),
      next_(load.blocks / 7 * number % load.blocks) {}

void LoadWorker::start(Clock::time_point end) {
  end_ = end;
  session_->post([this] { issue_all(); });
}

void LoadWorker::issue_all() {
  slots_.resize(load_.depth);
  open_ = load_.depth;
  for (Slot& slot : slots_) {
    slot.memory = Buffer::allocate(load_.block_size);
    std::memset(slot.memory.data(), 0x5a, slot.memory.size());
    slot.command.lun = lun_;
    slot.command.on_done = [this, &slot](Command&) { done(slot); };
    issue(slot, Clock::now());
  }
}

void LoadWorker::issue(Slot& slot, Clock::time_point now) {
  const std::uint64_t block = load_.random ? random_() % load_.blocks : next_++ % load_.blocks;
  slot.offset = block * load_.block_size;
  slot.reading = load_.reads && (!load_.writes || random_() % 100 < load_.mix);
  Command& c = slot.command;
  store_u8(&c.cdb[0], slot.reading ? 0x88 : 0x8a);
  store_be64(&c.cdb[2], slot.offset / lun_block_);
  store_be32(&c.cdb[10], load_.block_size / lun_block_);
  c.data_in = slot.reading ? slot.memory.bytes() : MutableBytes();
  c.data_out = slot.reading ? Bytes() : Bytes(slot.memory.bytes());
  if (!slot.reading && load_.verify) stamp(slot.memory.bytes(), slot.offset);
  slot.begun = now;
  session_->submit(c);
}

ErrorCode LoadWorker::error_of(const Slot& slot) const {
  const Command& c = slot.command;
  if (c.error) return c.error;
  if (const ErrorCode error = scsi_error(c.status, c.sense)) return error;
  if (!slot.reading || !load_.verify || stamped(slot.memory.bytes(), slot.offset)) return {};
  return boost::system::errc::make_error_code(boost::system::errc::illegal_byte_sequence);
}

void LoadWorker::done(Slot& slot) {
  const Clock::time_point now = Clock::now();
  const ErrorCode error = error_of(slot);
  if (has_sense_key(error, kUnitAttention)) return issue(slot, Clock::now());
  if (error) {
    if (errors_++ == 0)
      first_error_ = "at byte " + std::to_string(slot.offset) + ": " + error.message();
  } else {
    latencies_.add(static_cast<std::uint64_t>(std::chrono::nanoseconds(now - slot.begun).count()));
  }
  if (now < end_ && errors_ < kMostErrors) return issue(slot, now);
  if (--open_ == 0) finished_.set_value();
}

}  // namespace openiser::initiator::cli
