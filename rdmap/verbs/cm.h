// The RDMA connection manager, without blocking: event channels and identifiers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "rdmap/tcp/address.h"
#include "rdmap/verbs/handles.h"

namespace openiser::rdmap {

using CmChannel = std::shared_ptr<rdma_event_channel>;
Result<CmChannel> open_cm_channel();

// An identifier and the channel that it reports to.
struct CmId {
  CmChannel channel;
  Owned<rdma_cm_id> id;

  static Result<CmId> make(CmChannel channel);
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
