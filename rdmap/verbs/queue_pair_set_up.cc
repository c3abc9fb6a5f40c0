// How a queue pair on an RDMA device begins: what is made of the device, and what the connection
// manager settles.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "rdmap/errors.h"
#include "rdmap/verbs/queue_pair.h"
#include "rdmap/verbs/verbs_errors.h"

namespace openiser::rdmap {
namespace {

// Works and receives that the device has at one time; more wait. A peer may send as many messages
// as there are receives, so of these the device should have all.
constexpr std::uint32_t kWorks = 256;
constexpr std::uint32_t kReceives = 1024;
// Payload up to which a Send or Write goes into the work request itself, if the device can do that.
constexpr std::uint32_t kInlined = 256;
// Retransmissions, and attempts while the peer has no receive ready: 7 would be endless.
constexpr std::uint8_t kRetries = 7;
constexpr std::uint8_t kReceiverNotReadyRetries = 6;
// 122.88 ms, the time that a peer should wait before it tries again; 0 would be 655.
constexpr std::uint8_t kReceiverNotReadyTimer = 27;

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

// --- the connection ---

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

}  // namespace openiser::rdmap
