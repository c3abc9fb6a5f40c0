#include "rdmap/verbs/queue_pair.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "rdmap/errors.h"
#include "rdmap/verbs/verbs_errors.h"
#include "rdmap/verbs/work_number.h"

namespace openiser::rdmap {
namespace {

// Works and receives that the device has at one time; more wait. A peer may send as many messages
// as there are receives, so of these the device should have all.
constexpr std::uint32_t kWorks = 256;
constexpr std::uint32_t kReceives = 1024;
// Payload up to which a Send or Write goes into the work request itself, if the device can do that.
constexpr std::uint32_t kInlined = 256;
// Completions handled before other connections of the loop get their turn.
constexpr std::size_t kBatch = 32;
constexpr std::size_t kMostPerTurn = 256;
// Retransmissions, and attempts while the peer has no receive ready: 7 would be endless.
constexpr std::uint8_t kRetries = 7;
constexpr std::uint8_t kReceiverNotReadyRetries = 6;
// 122.88 ms, the time that a peer should wait before it tries again; 0 would be 655.
constexpr std::uint8_t kReceiverNotReadyTimer = 27;
// From the decision to end until everything is dropped, as with our own RDMAP.
constexpr Duration kCloseTimeout = std::chrono::seconds(5);

std::uint16_t limit(std::uint16_t wanted, std::uint16_t device) {
  // The connection manager counts in 8 bits.
  return std::min<std::uint16_t>({wanted, device, 255});
}

std::uint32_t longest_message(const rdma_cm_id& id) {
  ibv_port_attr port{};
  if (ibv_query_port(id.verbs, id.port_num, &port) != 0 || port.max_msg_sz == 0) return UINT32_MAX;
  return port.max_msg_sz;
}

}  // namespace

// --- making ---

Result<std::unique_ptr<VerbsQueuePair>> DeviceQueuePair::make(EventLoop& loop, BufferPool& pool,
                                                              VerbsSettings settings, CmId id,
                                                              std::optional<PeerOffer> offer) {
  auto domain = ProtectionDomain::of(id, pool);
  if (!domain) return domain.error();
  std::unique_ptr<DeviceQueuePair> made(new DeviceQueuePair(
      loop, std::move(settings), std::move(id), std::move(*domain), std::move(offer)));
  const auto created = made->create(kInlined);
  if (!created) return created.error();
  return made;
}

DeviceQueuePair::DeviceQueuePair(EventLoop& loop, VerbsSettings settings, CmId id,
                                 std::shared_ptr<ProtectionDomain> domain,
                                 std::optional<PeerOffer> offer)
    : loop_(loop),
      settings_(std::move(settings)),
      offer_(std::move(offer)),
      local_address_(id.local_address()),
      peer_address_(id.peer_address()),
      cm_(std::move(id)),
      domain_(std::move(domain)),
      sends_(*domain_, completions_),
      receives_(*domain_, completions_),
      regions_(*domain_, sends_, settings_.max_regions),
      deadline_(loop,
                [this] {
                  fail({ETIMEDOUT, boost::system::system_category()});
                  end_now_ = true;
                  finish_turn();
                }),
      self_(std::make_shared<DeviceQueuePair*>(this)) {}

DeviceQueuePair::~DeviceQueuePair() {
  if (cm_.id && (state_ == State::open || state_ == State::closing)) rdma_disconnect(cm_.id.get());
  state_ = State::ended;
  close_device();
}

Status DeviceQueuePair::create(std::uint32_t inlined) {
  const DeviceFacts& facts = domain_->facts();
  ibv_context* const device = cm_.id->verbs;
  receive_depth_ = std::min(kReceives, facts.max_works);
  events_.reset(ibv_create_comp_channel(device));
  if (!events_) return error_of_opening(errno);
  ::fcntl(events_->fd, F_SETFL, ::fcntl(events_->fd, F_GETFL) | O_NONBLOCK);
  const std::uint32_t depth = std::min(2 * kWorks + receive_depth_, facts.max_completions);
  device_completions_.reset(
      ibv_create_cq(device, static_cast<int>(depth), nullptr, events_.get(), 0));
  if (!device_completions_) return error_of_registration(errno);
  auto created = create_queue_pair(inlined);
  if (!created) created = create_queue_pair(0);
  if (!created) return created;
  capabilities_ = {
      .outbound_reads = limit(settings_.outbound_reads, facts.max_outbound_reads),
      .inbound_reads = limit(settings_.inbound_reads, facts.max_inbound_reads),
      .remote_invalidate = facts.windows || facts.iwarp,
      .zero_based_offsets = false,
      .max_send = std::min(settings_.max_send, longest_message(*cm_.id)),
  };
  receives_.open(cm_.id->qp, receive_depth_);
  watch();
  return {};
}

Status DeviceQueuePair::create_queue_pair(std::uint32_t inlined) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = device_completions_.get();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {.max_send_wr = std::min(2 * kWorks, domain_->facts().max_works),
                .max_recv_wr = receive_depth_,
                .max_send_sge = 2,
                .max_recv_sge = 1,
                .max_inline_data = inlined};
  if (rdma_create_qp(cm_.id.get(), domain_->get(), &wanted) != 0)
    return error_of_registration(errno);
  inlined_ = wanted.cap.max_inline_data;
  return {};
}

void DeviceQueuePair::watch() {
  event_watch_ =
      std::make_unique<ReadableWatch>(loop_, cm_.channel->fd, [this] { events_ready(); });
  removal_.emplace(cm_.device, loop_, [this] {
    fail(errc::device_removed);
    end_now_ = true;
    finish_turn();
  });
  deadline_.set(loop_.now() + settings_.set_up_timeout);
  loop_.post([self = std::weak_ptr(self_)] {
    if (const auto alive = self.lock()) (*alive)->begin();
  });
}

// --- the set-up ---

void DeviceQueuePair::begin() {
  if (state_ != State::starting || end_now_) return;
  rdma_conn_param wanted = parameters();
  rdma_cm_id* const id = cm_.id.get();
  const int failed = offer_ ? rdma_accept(id, &wanted) : rdma_connect(id, &wanted);
  if (failed == 0) return;
  fail(error_of_opening(errno));
  finish_turn();
}

rdma_conn_param DeviceQueuePair::parameters() const {
  rdma_conn_param wanted{};
  std::uint32_t inbound = capabilities_.inbound_reads;
  std::uint32_t outbound = capabilities_.outbound_reads;
  if (offer_) {
    inbound = std::min<std::uint32_t>(inbound, offer_->inbound_reads);
    outbound = std::min<std::uint32_t>(outbound, offer_->outbound_reads);
  }
  wanted.responder_resources = static_cast<std::uint8_t>(inbound);
  wanted.initiator_depth = static_cast<std::uint8_t>(outbound);
  wanted.private_data = settings_.private_data.data();
  wanted.private_data_len = static_cast<std::uint8_t>(settings_.private_data.size());
  wanted.flow_control = 1;
  wanted.retry_count = kRetries;
  wanted.rnr_retry_count = kReceiverNotReadyRetries;
  return wanted;
}

void DeviceQueuePair::established(const CmEvent& event) {
  if (state_ != State::starting) return;
  const PeerOffer answer{event.inbound_reads, event.outbound_reads, event.private_data};
  const PeerOffer& peer = offer_ ? *offer_ : answer;
  settle_reads(peer.inbound_reads, peer.outbound_reads);
  if (!domain_->facts().iwarp) {
    ibv_qp_attr change{};
    change.min_rnr_timer = kReceiverNotReadyTimer;
    ibv_modify_qp(cm_.id->qp, &change, IBV_QP_MIN_RNR_TIMER);
  }
  state_ = State::open;
  deadline_.set(std::nullopt);
  const SendQueue::Limits limits{.works = std::min(kWorks, domain_->facts().max_works / 2),
                                 .inlined = std::min(inlined_, kInlined),
                                 .max_send = capabilities_.max_send};
  sends_.open(cm_.id->qp, limits, capabilities_.outbound_reads);
  completion_watch_ =
      std::make_unique<ReadableWatch>(loop_, events_->fd, [this] { completions_ready(); });
  in_turn_ = true;
  if (client_)
    client_->established({.capabilities = capabilities_, .private_data = peer.private_data});
  turn();
}

void DeviceQueuePair::settle_reads(std::uint16_t inbound, std::uint16_t outbound) {
  capabilities_.inbound_reads = std::min<std::uint32_t>(capabilities_.inbound_reads, inbound);
  capabilities_.outbound_reads = std::min<std::uint32_t>(capabilities_.outbound_reads, outbound);
}

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

// --- the end ---

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
