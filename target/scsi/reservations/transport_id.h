// TransportIDs of iSCSI initiator ports (SPC-4 section 7.6.4.6).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace openiser::target {

struct TransportId {
  std::string name{};  // of the port, "iqn...,i,0x<12 digits>"; or of the initiator alone
  bool is_port = true;
  std::size_t size = 0;  // bytes it took
};

// The one that `list` begins with; none if it is cut off or is no TransportID of iSCSI.
std::optional<TransportId> decode_transport_id(Bytes list);
// TPID FORMAT 01b: of a port.
std::vector<std::byte> encode_transport_id(const std::string& initiator_port);

}  // namespace openiser::target
