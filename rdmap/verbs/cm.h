// The RDMA connection manager, without blocking: event channels and identifiers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "rdmap/tcp/address.h"
#include "rdmap/verbs/device.h"
#include "rdmap/verbs/handles.h"

namespace openiser::rdmap {

using CmChannel = std::shared_ptr<rdma_event_channel>;
Result<CmChannel> open_cm_channel();

// librdmacm opens a device when an identifier is first bound to it, and then frees those that are
// gone. Held, shared, where that may be; whoever holds it alone sees no context go.
std::shared_mutex& librdmacm_devices();

// An identifier, the channel that it reports to, and its device once take_device() was called.
struct CmId {
  CmChannel channel;
  std::shared_ptr<Device> device;
  Owned<rdma_cm_id> id;

  static Result<CmId> make(CmChannel channel);
  // To an address of this machine, and to its device unless that is a wildcard.
  Status bind(SocketAddress address);
  void take_device() { device = Device::of(*id); }
  // The device last.
  void drop();
  std::string local_address() const;
  std::string peer_address() const;
};

// A copy of an event, which has been acknowledged.
struct CmEvent {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;
  // Of those that carry connection parameters. The limits are those offered to the one who hears.
  std::vector<std::byte> private_data;
  std::uint8_t inbound_reads = 0;
  std::uint8_t outbound_reads = 0;
};
// No value: none is there now.
std::optional<CmEvent> next_event(rdma_event_channel& channel);

}  // namespace openiser::rdmap
