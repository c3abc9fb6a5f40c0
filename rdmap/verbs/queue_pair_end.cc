// How a queue pair on an RDMA device ends: by our wish, by the peer's, or by a failure.
#include <utility>

#include "rdmap/errors.h"
#include "rdmap/verbs/queue_pair.h"

namespace openiser::rdmap {

DeviceQueuePair::~DeviceQueuePair() {
  if (cm_.id && (state_ == State::open || state_ == State::closing)) rdma_disconnect(cm_.id.get());
  state_ = State::ended;
  close_device();
}

void DeviceQueuePair::disconnect(ErrorCode reason) {
  if (state_ == State::starting) {
    fail(reason);
  } else if (state_ == State::open) {
    state_ = State::closing;
    if (!why_) why_ = reason;
    deadline_.set(loop_.now() + kCloseTimeout);
  }
  look_again();
}

void DeviceQueuePair::fail(ErrorCode why) {
  if (!why_) why_ = why;
  if (state_ == State::starting) end_now_ = true;
  if (state_ == State::closing) broken_ = true;
  look_again();
}

// The peer is told; the connection manager says when it knows.
void DeviceQueuePair::part() {
  state_ = State::parting;
  deadline_.set(loop_.now() + kCloseTimeout);
  rdma_disconnect(cm_.id.get());
}

void DeviceQueuePair::peer_parted() {
  const bool gave_up = device_gave_up();
  if (state_ != State::starting) {
    while (take_completions(kMostPerTurn) > 0) {
    }
  }
  if (!why_) {
    const bool complete = state_ != State::starting && sends_.idle() && !sends_.lost();
    why_ = gave_up    ? make_error_code(errc::queue_pair_failed)
           : complete ? ErrorCode()
                      : make_error_code(errc::transport_closed);
  }
  if (state_ != State::parting) rdma_disconnect(cm_.id.get());
  end_now_ = true;
  finish_turn();
}

// Over InfiniBand and RoCE a queue pair works until we end it; if it does not, it has failed. Over
// iWARP it ends with the peer's.
bool DeviceQueuePair::device_gave_up() const {
  if (domain_->facts().iwarp) return false;
  if (state_ == State::starting || state_ == State::parting) return broken_;
  ibv_qp_attr attributes{};
  ibv_qp_init_attr ignored{};
  if (ibv_query_qp(cm_.id->qp, &attributes, IBV_QP_STATE, &ignored) != 0) return true;
  return attributes.qp_state != IBV_QPS_RTS;
}

void DeviceQueuePair::end() {
  state_ = State::ended;
  close_device();
  // Nothing comes to the queues any more that would want it; a device that is to be removed waits
  // for it.
  domain_.reset();
  in_turn_ = true;
  if (completions_.take_news() && client_) client_->completions_ready();
  in_turn_ = false;
  if (client_) client_->disconnected(why_.value_or(ErrorCode()));
}

// The device touches no memory once the queue pair is destroyed; leases go back only then. Windows
// go before what they are bound to, and before their queue pair.
void DeviceQueuePair::close_device() {
  deadline_.set(std::nullopt);
  event_watch_.reset();
  completion_watch_.reset();
  removal_.reset();
  if (cm_.id && cm_.id->qp) {
    ibv_qp_attr change{};
    change.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(cm_.id->qp, &change, IBV_QP_STATE);
    while (take_completions(kMostPerTurn) > 0) {
    }
  }
  regions_.clear();
  if (cm_.id && cm_.id->qp) rdma_destroy_qp(cm_.id.get());
  sends_.abandon(errc::flushed);
  receives_.abandon(errc::flushed);
  device_completions_.reset();
  events_.reset();
  cm_.drop();
}

}  // namespace openiser::rdmap
