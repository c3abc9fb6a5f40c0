#include "rdmap/verbs/cm.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "rdmap/verbs/verbs_errors.h"

namespace openiser::rdmap {
namespace {

bool has_parameters(rdma_cm_event_type type) {
  return type == RDMA_CM_EVENT_CONNECT_REQUEST || type == RDMA_CM_EVENT_ESTABLISHED;
}

}  // namespace

std::shared_mutex& librdmacm_devices() {
  static std::shared_mutex mutex;
  return mutex;
}

Result<CmChannel> open_cm_channel() {
  CmChannel channel(rdma_create_event_channel(), [](rdma_event_channel* each) {
    if (each) rdma_destroy_event_channel(each);
  });
  // Without any device of the kernel's the library finds nothing to open.
  if (!channel) return error_of_opening(errno == ENODEV ? ENOENT : errno);
  ::fcntl(channel->fd, F_SETFL, ::fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  return channel;
}

Result<CmId> CmId::make(CmChannel channel) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP) != 0)
    return error_of_opening(errno == ENODEV ? ENOENT : errno);
  return CmId{std::move(channel), nullptr, Owned<rdma_cm_id>(id)};
}

Status CmId::bind(SocketAddress address) {
  const std::shared_lock held(librdmacm_devices());
  if (rdma_bind_addr(id.get(), address.get()) != 0) return error_of_opening(errno);
  return {};
}

void CmId::drop() {
  id.reset();
  channel.reset();
  device.reset();
}

std::string CmId::local_address() const {
  return SocketAddress::copy_of(*rdma_get_local_addr(id.get())).text();
}
std::string CmId::peer_address() const {
  return SocketAddress::copy_of(*rdma_get_peer_addr(id.get())).text();
}

std::optional<CmEvent> next_event(rdma_event_channel& channel) {
  const std::shared_lock held(librdmacm_devices());
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(&channel, &event) != 0) return std::nullopt;
  CmEvent copy;
  copy.type = event->event;
  copy.status = event->status;
  copy.id = event->id;
  if (has_parameters(event->event)) {
    const rdma_conn_param& told = event->param.conn;
    copy.inbound_reads = told.responder_resources;
    copy.outbound_reads = told.initiator_depth;
    if (told.private_data_len > 0) {
      const auto* data = static_cast<const std::byte*>(told.private_data);
      copy.private_data.assign(data, data + told.private_data_len);
    }
  }
  rdma_ack_cm_event(event);
  return copy;
}

}  // namespace openiser::rdmap
