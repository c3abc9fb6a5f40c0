// Ready-to-receive messages of a peer-to-peer set-up (RFC 6581 section 4.3).
#pragma once

namespace openiser::rdmap {

// Which kinds one may use or accept: a zero-length Send, RDMA Write or RDMA Read.
struct RtrKinds {
  bool send = false;
  bool write = false;
  bool read = false;
  friend bool operator==(const RtrKinds&, const RtrKinds&) = default;
};

}  // namespace openiser::rdmap
