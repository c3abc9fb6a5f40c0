#include "rdmap/verbs/queue_pair.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rdmap/errors.h"
#include "rdmap/verbs/verbs_errors.h"
#include "rdmap/verbs/work_number.h"

namespace openiser::rdmap {
namespace {

// Completions taken with one call.
constexpr std::size_t kBatch = 32;

}  // namespace

// --- works and memory ---

Result<MemoryRegion> DeviceQueuePair::register_memory(MutableBytes memory, Access access) {
  if (state_ == State::ended) return make_error_code(errc::not_connected);
  const auto stag = regions_.add(memory, access);
  if (!stag) return stag.error();
  if (state_ == State::open) pump();
  return MemoryRegion(this, *stag, reinterpret_cast<std::uintptr_t>(memory.data()), memory.size());
}

// A binding that is with the device is waited for: it is a matter of microseconds, unless the queue
// before it stands still, and then the queue pair is about to fail, or is made to.
void DeviceQueuePair::deregister(Stag stag) {
  const Time patience = loop_.now() + kCloseTimeout;
  while (state_ != State::ended && regions_.unsettled(stag)) {
    take_completions(kBatch);
    if (loop_.now() > patience) {
      fail(errc::queue_pair_failed);
      end_now_ = true;
      close_device();
    }
  }
  regions_.remove(stag);
  look_again();
}

void DeviceQueuePair::post_receive(Buffer buffer, WorkId id) {
  receives_.post(std::move(buffer), id);
  if (state_ == State::ended) return receives_.abandon(errc::not_connected);
  if (in_turn_) return;
  if (const ErrorCode error = receives_.pump()) fail(error);
}

void DeviceQueuePair::post(Work&& work) {
  sends_.post(std::move(work));
  if (state_ == State::ended) sends_.abandon(errc::not_connected);
}

void DeviceQueuePair::flush() {
  if (state_ != State::starting && state_ != State::open) return;
  sends_.flush();
  if (state_ == State::open) pump();
}

// Receives first: a message that goes now may be what lets the peer send.
void DeviceQueuePair::pump() {
  if (const ErrorCode error = receives_.pump()) fail(error);
  if (const ErrorCode error = sends_.pump()) fail(error);
  sends_.retire();
  if (completions_.has_news()) look_again();
}

// --- turns ---

void DeviceQueuePair::look_again() {
  if (in_turn_ || std::exchange(look_posted_, true)) return;
  loop_.post([self = std::weak_ptr(self_)] {
    if (const auto alive = self.lock()) {
      (*alive)->look_posted_ = false;
      (*alive)->turn();
    }
  });
}

void DeviceQueuePair::events_ready() {
  // What is handled may end this, and with it the channel.
  const CmChannel channel = cm_.channel;
  while (cm_.id) {
    const auto event = next_event(*channel);
    if (!event) return;
    handle(*event);
  }
}

void DeviceQueuePair::handle(const CmEvent& event) {
  switch (event.type) {
    case RDMA_CM_EVENT_ESTABLISHED:
      return established(event);
    case RDMA_CM_EVENT_DISCONNECTED:
      return peer_parted();
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
      fail(error_of_event(event.type, event.status));
      end_now_ = true;
      return finish_turn();
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return cm_.device->removed();
    default:
      return;
  }
}

void DeviceQueuePair::completions_ready() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  unsigned events = 0;
  while (ibv_get_cq_event(events_.get(), &queue, &context) == 0) ++events;
  if (events > 0) ibv_ack_cq_events(device_completions_.get(), events);
  turn();
}

// The queue is armed when it has been seen empty, and looked at once more: what came in between has
// no event.
void DeviceQueuePair::turn() {
  if (state_ == State::starting || state_ == State::ended || !device_completions_)
    return finish_turn();
  in_turn_ = true;
  std::size_t taken = take_completions(kMostPerTurn);
  if (taken < kMostPerTurn) {
    ibv_req_notify_cq(device_completions_.get(), 0);
    taken += take_completions(kMostPerTurn - taken);
  }
  finish_turn();
  if (taken >= kMostPerTurn) look_again();
}

std::size_t DeviceQueuePair::take_completions(std::size_t most) {
  std::array<ibv_wc, kBatch> batch;
  std::size_t taken = 0;
  while (taken < most && device_completions_) {
    const auto wanted = static_cast<int>(std::min(most - taken, batch.size()));
    const int found = ibv_poll_cq(device_completions_.get(), wanted, batch.data());
    if (found <= 0) break;
    for (int n = 0; n < found; ++n) take(batch[static_cast<std::size_t>(n)]);
    taken += static_cast<std::size_t>(found);
  }
  return taken;
}

void DeviceQueuePair::take(const ibv_wc& completion) {
  const ErrorCode status = error_of_status(completion.status);
  if (completion.wr_id == kReceiveNumber) {
    const auto invalidated = status ? std::nullopt : regions_.invalidated_by(completion);
    // A receive does not fail by itself: what the peer sent does.
    const ErrorCode outcome = status ? make_error_code(errc::flushed) : status;
    if (const ErrorCode error = receives_.completed(outcome, completion.byte_len, invalidated))
      fail(error);
  } else {
    sends_.completed(completion.wr_id, status);
  }
  if (!status || state_ == State::parting || state_ == State::ended) return;
  if (status == errc::flushed) {
    broken_ = true;
  } else {
    fail(status);
  }
}

// The end of every call from the loop.
void DeviceQueuePair::finish_turn() {
  if (state_ == State::ended) return;
  in_turn_ = true;
  if (state_ == State::open || state_ == State::closing) pump();
  sends_.retire();
  if (completions_.take_news() && client_) client_->completions_ready();
  if (state_ == State::open || state_ == State::closing) pump();
  in_turn_ = false;
  if (completions_.has_news()) look_again();
  if (end_now_) return end();
  const bool done = state_ == State::closing && (broken_ || sends_.idle());
  if (done || ((why_ || broken_) && state_ == State::open)) part();
}

}  // namespace openiser::rdmap
