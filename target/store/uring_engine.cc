#include "target/store/uring_engine.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/assert.h"

namespace openiser::target {
namespace {

bool has_operations(io_uring& ring) {
  io_uring_probe* probe = io_uring_get_probe_ring(&ring);
  if (!probe) return false;
  bool all = true;
  for (const int operation : {IORING_OP_READV, IORING_OP_WRITEV, IORING_OP_FSYNC}) {
    all = all && io_uring_opcode_supported(probe, operation) != 0;
  }
  io_uring_free_probe(probe);
  return all;
}

// Cooperative task running saves interrupts between processors; kernels before 5.19 lack it.
bool set_up(io_uring& ring) {
  for (const unsigned flags : {IORING_SETUP_CLAMP | IORING_SETUP_COOP_TASKRUN, 0U}) {
    if (io_uring_queue_init(UringEngine::kDepth, &ring, flags) == 0) return true;
  }
  return false;
}

// By default as few as four a processor: that many writes to a disk that does not answer would hold
// up all others. Kernels before 5.15 cannot be asked.
void allow_workers(io_uring& ring, unsigned count) {
  unsigned bounded_and_unbounded[] = {count, 0};
  io_uring_register_iowq_max_workers(&ring, bounded_and_unbounded);
}

}  // namespace

std::unique_ptr<UringEngine> UringEngine::create(rdmap::EventLoop& loop) {
  io_uring ring;
  if (!set_up(ring)) return nullptr;
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0 || !has_operations(ring) || io_uring_register_eventfd(&ring, event) != 0) {
    if (event >= 0) close(event);
    io_uring_queue_exit(&ring);
    return nullptr;
  }
  allow_workers(ring, kDepth);
  return std::unique_ptr<UringEngine>(new UringEngine(loop, ring, event));
}

UringEngine::UringEngine(rdmap::EventLoop& loop, io_uring ring, int event)
    : loop_(loop), ring_(ring), event_(event), slots_(kDepth), watch_(loop, event, [this] {
        readable();
      }) {
  for (Slot& slot : slots_) free_.push_back(&slot);
}

UringEngine::~UringEngine() {
  io_uring_submit(&ring_);
  while (free_.size() < kDepth) {
    io_uring_cqe* cqe;
    const int result = io_uring_wait_cqe(&ring_, &cqe);
    if (result == -EINTR) continue;
    if (result != 0) break;
    free_.push_back(static_cast<Slot*>(io_uring_cqe_get_data(cqe)));
    io_uring_cqe_seen(&ring_, cqe);
  }
  io_uring_queue_exit(&ring_);
  close(event_);
}

void UringEngine::submit(int fd, StoreRequest& request) {
  using enum StoreRequest::Operation;
  const bool is_for_ring = request.operation == read || request.operation == write ||
                           request.operation == StoreRequest::Operation::flush;
  if (!is_for_ring) {
    if (!threads_) threads_ = std::make_unique<ThreadEngine>(loop_);
    threads_->submit(fd, request);
  } else if (turns_.begins({fd, &request})) {
    start({fd, &request});
  }
}

void UringEngine::start(FileTurns::Turn turn) {
  Slot& slot = *free_.back();
  free_.pop_back();
  slot.fd = turn.fd;
  slot.request = turn.request;
  turn.request->error = {};
  slot.transfer.start(*turn.request);
  queue(slot);
}

void UringEngine::queue(Slot& slot) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (!sqe) {
    io_uring_submit(&ring_);
    sqe = io_uring_get_sqe(&ring_);
  }
  ISER_ASSERT(sqe != nullptr);  // there are as many entries as slots
  if (slot.request->operation == StoreRequest::Operation::flush) {
    io_uring_prep_fsync(sqe, slot.fd, IORING_FSYNC_DATASYNC);
  } else {
    const auto vectors = slot.transfer.next();
    const auto count = static_cast<unsigned>(vectors.size());
    if (slot.request->operation == StoreRequest::Operation::read) {
      io_uring_prep_readv(sqe, slot.fd, vectors.data(), count, slot.transfer.offset());
    } else {
      const int flags = slot.request->force_unit_access ? RWF_DSYNC : 0;
      io_uring_prep_writev2(sqe, slot.fd, vectors.data(), count, slot.transfer.offset(), flags);
    }
  }
  io_uring_sqe_set_data(sqe, &slot);
  schedule_flush(&rdmap::EventLoop::defer);
}

void UringEngine::schedule_flush(void (rdmap::EventLoop::*when)(std::function<void()>)) {
  if (flush_is_due_) return;
  flush_is_due_ = true;
  (loop_.*when)([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired() && flush_is_due_) flush();
  });
}

// What the kernel had at hand (cached pages) is complete when the call returns; taking it right
// away, with the eventfd quiet meanwhile, saves a turn of the loop.
void UringEngine::flush() {
  flush_is_due_ = false;
  io_uring_cq_eventfd_toggle(&ring_, false);
  io_uring_submit(&ring_);
  io_uring_cq_eventfd_toggle(&ring_, true);
  // The kernel was short of memory and left some behind: ask again, after others had their turn.
  if (io_uring_sq_ready(&ring_) != 0) schedule_flush(&rdmap::EventLoop::post);
  reap();
}

void UringEngine::readable() {
  eventfd_t count;
  eventfd_read(event_, &count);
  reap();
}

void UringEngine::reap() {
  if (reaping_) return;  // flush() from inside done()
  reaping_ = true;
  const std::weak_ptr<bool> alive = alive_;
  io_uring_cqe* cqe;
  while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
    Slot& slot = *static_cast<Slot*>(io_uring_cqe_get_data(cqe));
    const int result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    complete(slot, result);
    if (alive.expired()) return;
  }
  reaping_ = false;
}

void UringEngine::complete(Slot& slot, int result) {
  StoreRequest& request = *slot.request;
  if (result == -EINTR || result == -EAGAIN) return queue(slot);
  if (request.operation != StoreRequest::Operation::flush && result > 0) {
    slot.transfer.advance(static_cast<std::uint64_t>(result));
    if (!slot.transfer.complete()) return queue(slot);
  }
  if (result < 0) {
    request.error = {-result, boost::system::generic_category()};
  } else if (request.operation != StoreRequest::Operation::flush && !slot.transfer.complete()) {
    request.error = {EIO, boost::system::generic_category()};  // the file has been cut short
  }
  free_.push_back(&slot);
  if (const auto next = turns_.ended(slot.fd)) start(*next);
  request.done();
}

}  // namespace openiser::target
