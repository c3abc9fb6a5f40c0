#include "rdmap/verbs/request.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "rdmap/errors.h"
#include "rdmap/verbs/verbs_errors.h"

namespace openiser::rdmap {

VerbsRequest::VerbsRequest() = default;
VerbsRequest::VerbsRequest(VerbsRequest&& other) noexcept = default;

VerbsRequest& VerbsRequest::operator=(VerbsRequest&& other) noexcept {
  if (this == &other) return *this;
  reject({});
  state_ = std::move(other.state_);
  return *this;
}

VerbsRequest::~VerbsRequest() {
  reject({});
}

VerbsRequest VerbsRequest::State::request_of(CmId id, PeerOffer offer) {
  VerbsRequest made;
  made.state_ = std::make_unique<State>(State{std::move(id), std::move(offer)});
  return made;
}

std::string VerbsRequest::local_address() const {
  return state_ ? state_->id.local_address() : std::string();
}
std::string VerbsRequest::peer_address() const {
  return state_ ? state_->id.peer_address() : std::string();
}
Bytes VerbsRequest::private_data() const {
  return state_ ? Bytes(state_->offer.private_data) : Bytes();
}

Result<std::unique_ptr<VerbsQueuePair>> VerbsRequest::accept(EventLoop& loop, BufferPool& pool,
                                                             VerbsSettings settings) {
  if (!state_) return make_error_code(errc::not_connected);
  auto channel = open_cm_channel();
  if (!channel) return channel.error();
  if (rdma_migrate_id(state_->id.id.get(), channel->get()) != 0) return error_of_opening(errno);
  state_->id.channel = std::move(*channel);
  const auto state = std::exchange(state_, nullptr);
  return DeviceQueuePair::make(loop, pool, std::move(settings), std::move(state->id),
                               std::move(state->offer));
}

void VerbsRequest::reject(Bytes private_data) {
  if (!state_) return;
  const auto length = static_cast<std::uint8_t>(std::min<std::size_t>(private_data.size(), 255));
  rdma_reject(state_->id.id.get(), private_data.data(), length);
  state_.reset();
}

}  // namespace openiser::rdmap
