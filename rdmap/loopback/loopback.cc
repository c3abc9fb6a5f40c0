// Each step executes one operation of one end against the other: a Send, a Write, a Read Request, a
// Read Response, or the disconnection behind all that was flushed. What a frame would do on a wire
// is done in memory, through the same STag table and queues as the core uses.
#include "rdmap/loopback/loopback.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "base/assert.h"
#include "rdmap/core/stag_table.h"
#include "rdmap/core/work_queue.h"
#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

constexpr std::uint32_t kMaxRegions = 16384;
constexpr std::uint32_t kMaxSend = 16u << 20;

void copy(MutableBytes to, Bytes from) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

class End;
// The ends that are alive; shared by both and by the pair, so that they may go in any order.
using Ends = std::array<End*, 2>;

class End final : public QueuePair {
 public:
  End(const LoopbackSettings& mine, const LoopbackSettings& peers, std::shared_ptr<Ends> ends,
      std::size_t index);
  ~End() override { (*ends_)[index_] = nullptr; }

  void set_client(QueuePairClient* client) override { client_ = client; }
  Capabilities capabilities() const override { return capabilities_; }
  Result<MemoryRegion> register_memory(MutableBytes memory, Access access) override;
  void post_receive(Buffer buffer, WorkId id) override;
  void post_send(SendWork work) override;
  void post_write(WriteWork work) override { post(Work::of(std::move(work))); }
  void post_read(ReadWork work) override { post(Work::of(std::move(work))); }
  void flush() override { works_.flush(); }
  std::size_t poll(std::span<Completion> out) override { return completions_.poll(out); }
  void disconnect(ErrorCode reason) override {
    if (!disconnecting_) disconnecting_ = reason;
  }

  // Called in step(): true when an operation was executed. `failure`, if not null, is what becomes
  // of it instead of success.
  bool execute(const ErrorCode* failure);
  void establish(Bytes peer_private_data);
  // The client hears of completions and of the end here, and nowhere else.
  void notify();
  // Everything is flushed; the client will hear `why`.
  void end(ErrorCode why);

 private:
  // A Read Request that has arrived and waits for its response.
  struct OwedResponse {
    RemoteMemory source;
    std::size_t length;
  };

  void deregister(Stag stag) override { (void)stags_.remove(stag); }
  void post(Work work);
  bool respond(const ErrorCode* failure);
  bool start_next(const ErrorCode* failure);
  ErrorCode perform(Work& work);
  ErrorCode send(Work& work);
  ErrorCode write(Work& work);
  ErrorCode request_read(Work& work);
  // The connection fails with `error` on both ends; `work`, if not null, is what it happened to.
  void fail(ErrorCode error, Work* work);
  Work* oldest_read();

  End* peer() const { return (*ends_)[1 - index_]; }

  Capabilities capabilities_;
  std::shared_ptr<Ends> ends_;
  std::size_t index_;
  QueuePairClient* client_ = nullptr;
  StagTable stags_;
  WorkQueue works_;
  ReceiveQueue receives_;
  CompletionQueue completions_;
  std::deque<OwedResponse> owed_;
  std::size_t reads_outstanding_ = 0;
  std::optional<ErrorCode> disconnecting_;
  ErrorCode why_;
  bool established_ = false;
  bool ended_ = false;
  bool end_reported_ = false;
};

End::End(const LoopbackSettings& mine, const LoopbackSettings& peers, std::shared_ptr<Ends> ends,
         std::size_t index)
    : capabilities_{.outbound_reads = std::min(mine.outbound_reads, peers.inbound_reads),
                    .inbound_reads = std::min(mine.inbound_reads, peers.outbound_reads),
                    .remote_invalidate = mine.remote_invalidate && peers.remote_invalidate,
                    .zero_based_offsets = mine.zero_based_offsets,
                    .max_send = kMaxSend},
      ends_(std::move(ends)),
      index_(index),
      stags_(kMaxRegions, mine.zero_based_offsets) {
  (*ends_)[index_] = this;
}

Result<MemoryRegion> End::register_memory(MutableBytes memory, Access access) {
  const auto entry = stags_.add(memory, access);
  if (!entry) return entry.error();
  return MemoryRegion(this, entry->stag, entry->base_offset, memory.size());
}

void End::post_receive(Buffer buffer, WorkId id) {
  receives_.post(std::move(buffer), id);
  if (ended_) receives_.abandon(errc::not_connected, completions_);
}

void End::post_send(SendWork work) {
  ISER_ASSERT(!work.invalidate || capabilities_.remote_invalidate);
  post(Work::of(std::move(work)));
}

void End::post(Work work) {
  works_.post(std::move(work));
  if (ended_) works_.abandon(errc::not_connected, completions_);
}

bool End::execute(const ErrorCode* failure) {
  if (ended_) return false;
  if (!peer()) {
    end(errc::transport_closed);
    return true;
  }
  if (established_ && (respond(failure) || start_next(failure))) return true;
  if (!disconnecting_ || (established_ && works_.next())) return false;
  const ErrorCode reason = *disconnecting_;
  // The peer hears of a reason only through a Terminate.
  if (terminate_row(reason)) {
    peer()->end(reason);
  } else {
    peer()->end(peer()->reads_outstanding_ > 0 ? make_error_code(errc::transport_closed)
                                               : ErrorCode());
  }
  end(reason);
  return true;
}

// Answers the oldest Read Request; a region that has been invalidated meanwhile is not read.
bool End::respond(const ErrorCode* failure) {
  if (owed_.empty()) return false;
  const OwedResponse owed = owed_.front();
  owed_.pop_front();
  Work* read = peer()->oldest_read();
  ErrorCode error = failure ? *failure : ErrorCode();
  if (!error && owed.length > 0) {
    const auto source = stags_.resolve(owed.source.stag, owed.source.offset, owed.length,
                                       StagTable::Use::read_source);
    if (source) {
      copy(read->buffer.bytes(), *source);
    } else {
      error = source.error();
    }
  }
  if (error) {
    fail(error, read);
    return true;
  }
  read->finished = true;
  --peer()->reads_outstanding_;
  peer()->works_.retire(peer()->completions_);
  return true;
}

bool End::start_next(const ErrorCode* failure) {
  Work* work = works_.next();
  if (!work) return false;
  const bool read = work->kind == Completion::Kind::read;
  if (read && capabilities_.outbound_reads > 0 &&
      reads_outstanding_ >= capabilities_.outbound_reads) {
    return false;
  }
  works_.start();
  const ErrorCode error = failure ? *failure : perform(*work);
  if (error) {
    fail(error, failure || read ? work : nullptr);
    return true;
  }
  works_.retire(completions_);
  return true;
}

// Gives what ends the connection, if anything does. Works that only fail by themselves are finished
// with their status.
ErrorCode End::perform(Work& work) {
  switch (work.kind) {
    case Completion::Kind::send:
      return send(work);
    case Completion::Kind::write:
      return write(work);
    default:
      return request_read(work);
  }
}

ErrorCode End::send(Work& work) {
  work.finished = true;
  if (work.length() > kMaxSend) {
    work.status = errc::send_too_long;
    return {};
  }
  ReceiveQueue& receives = peer()->receives_;
  if (receives.empty()) return errc::ddp_untagged_no_buffer;
  if (work.length() > receives.current().size()) return errc::ddp_untagged_too_long;
  const MutableBytes into = receives.current().bytes();
  copy(into, work.buffer.bytes());
  copy(into.subspan(work.buffer.size()), work.body.bytes());
  if (work.invalidate && !peer()->stags_.remove(*work.invalidate)) {
    return errc::rdmap_cannot_invalidate;
  }
  receives.complete(work.length(), work.invalidate, work.solicited_event, peer()->completions_);
  return {};
}

ErrorCode End::write(Work& work) {
  work.finished = true;
  if (work.length() == 0) return {};
  const auto sink = peer()->stags_.resolve(work.remote.stag, work.remote.offset, work.length(),
                                           StagTable::Use::write);
  if (!sink) return sink.error();
  copy(*sink, work.buffer.bytes());
  return {};
}

ErrorCode End::request_read(Work& work) {
  if (capabilities_.outbound_reads == 0) {
    work.finished = true;
    work.status = errc::mpa_insufficient_ird;
    return {};
  }
  const std::size_t length = work.length();
  if (length > 0) {
    const auto source = peer()->stags_.resolve(work.remote.stag, work.remote.offset, length,
                                               StagTable::Use::read_source);
    if (!source) return source.error();
  }
  peer()->owed_.push_back({work.remote, length});
  ++reads_outstanding_;
  return {};
}

Work* End::oldest_read() {
  for (std::size_t n = 0;; ++n) {
    Work* work = works_.started(n);
    ISER_ASSERT(work != nullptr);
    if (work->kind == Completion::Kind::read && !work->finished) return work;
  }
}

void End::fail(ErrorCode error, Work* work) {
  if (work) {
    work->finished = true;
    work->status = error;
  }
  peer()->end(error);
  end(error);
}

void End::end(ErrorCode why) {
  if (ended_) return;
  ended_ = true;
  why_ = why;
  owed_.clear();
  works_.abandon(errc::flushed, completions_);
  receives_.abandon(errc::flushed, completions_);
}

void End::establish(Bytes peer_private_data) {
  if (ended_ || established_ || disconnecting_) return;
  established_ = true;
  if (client_) {
    client_->established({.capabilities = capabilities_, .private_data = peer_private_data});
  }
}

void End::notify() {
  if (end_reported_) return;
  if (completions_.take_news() && client_) client_->completions_ready();
  if (ended_ && !std::exchange(end_reported_, true) && client_) client_->disconnected(why_);
}

}  // namespace

class LoopbackPair::Wire {
 public:
  Wire(const LoopbackSettings& first, const LoopbackSettings& second)
      : ends_(std::make_shared<Ends>()),
        owned_{std::make_unique<End>(first, second, ends_, 0),
               std::make_unique<End>(second, first, ends_, 1)} {}

  End& end(std::size_t index) {
    ISER_ASSERT((*ends_)[index] != nullptr);
    return *(*ends_)[index];
  }
  std::unique_ptr<End> take(std::size_t index) { return std::move(owned_[index]); }

  void establish(Bytes first_private_data, Bytes second_private_data) {
    if (End* first = (*ends_)[0]) first->establish(second_private_data);
    if (End* second = (*ends_)[1]) second->establish(first_private_data);
  }

  bool step() {
    bool executed = false;
    for (std::size_t tried = 0; tried < 2 && !executed; ++tried) {
      End* end = (*ends_)[turn_];
      turn_ = 1 - turn_;
      executed = end && end->execute(failure_in_ == 0 ? &failure_ : nullptr);
    }
    if (executed && failure_in_ != kNever) --failure_in_;
    notify();
    return executed;
  }

  void fail_after(std::size_t n, ErrorCode error) {
    failure_in_ = n;
    failure_ = error;
  }

 private:
  static constexpr std::size_t kNever = SIZE_MAX;

  void notify() {
    for (std::size_t index = 0; index < 2; ++index) {
      if (End* end = (*ends_)[index]) end->notify();
    }
  }

  std::shared_ptr<Ends> ends_;
  std::array<std::unique_ptr<End>, 2> owned_;
  std::size_t turn_ = 0;
  std::size_t failure_in_ = kNever;
  ErrorCode failure_;
};

LoopbackPair::LoopbackPair(LoopbackSettings first, LoopbackSettings second)
    : wire_(std::make_shared<Wire>(first, second)) {}
LoopbackPair::~LoopbackPair() = default;

QueuePair& LoopbackPair::first() {
  return wire_->end(0);
}
QueuePair& LoopbackPair::second() {
  return wire_->end(1);
}
std::unique_ptr<QueuePair> LoopbackPair::take_first() {
  return wire_->take(0);
}
std::unique_ptr<QueuePair> LoopbackPair::take_second() {
  return wire_->take(1);
}

void LoopbackPair::establish(Bytes first_private_data, Bytes second_private_data) {
  wire_->establish(first_private_data, second_private_data);
}
bool LoopbackPair::step() {
  return wire_->step();
}
std::size_t LoopbackPair::run(std::size_t limit) {
  std::size_t steps = 0;
  while (steps < limit && step()) ++steps;
  return steps;
}
void LoopbackPair::fail_after(std::size_t n, ErrorCode error) {
  wire_->fail_after(n, error);
}

}  // namespace openiser::rdmap
