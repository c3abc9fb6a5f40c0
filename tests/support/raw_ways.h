// The ways a raw peer can get into full feature phase with iSER.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/raw_iser.h"

namespace openiser::test {

enum class Way { rdma_first, rdma_first_markers, stream_first, stream_first_5046 };

inline constexpr Way kAllWays[] = {Way::rdma_first, Way::rdma_first_markers, Way::stream_first,
                                   Way::stream_first_5046};

inline const char* name_of(Way way) {
  switch (way) {
    case Way::rdma_first:
      return "RdmaFirst";
    case Way::rdma_first_markers:
      return "RdmaFirstMarkers";
    case Way::stream_first:
      return "StreamFirst";
    case Way::stream_first_5046:
      return "StreamFirst5046";
  }
  return "?";
}

inline void PrintTo(Way way, std::ostream* out) {
  *out << name_of(way);
}

// A peer that has logged in, exchanged Hellos where they are due, and has had the unit attention
// that comes with a new nexus. `initiator_port` makes the ISID.
inline std::unique_ptr<RawIser> bring_up(std::uint16_t port, Way way,
                                         std::uint8_t initiator_port = 5) {
  const bool old = way == Way::stream_first_5046;
  auto peer = std::make_unique<RawIser>(port, old ? Dialect::rfc5046 : Dialect::rfc7145);
  peer->socket.requests.header.isid[5] = std::byte{initiator_port};
  const bool markers = way == Way::rdma_first_markers;
  if (way == Way::rdma_first || markers) {
    EXPECT_EQ(peer->rdma_first(names(kLinuxKeys), RawIwarp::request(true, markers)), 0);
  } else {
    EXPECT_EQ(peer->stream_first(names(old ? kRfc5046Keys : kRfc7145Keys)), 0);
  }
  if (old) {
    const auto reply = peer->greet(peer->hello());
    EXPECT_TRUE(reply && !reply->reject);
  }
  EXPECT_TRUE(peer->send(test_unit_ready(0x10, peer->next_cmd_sn())));
  const auto answer = peer->receive();
  EXPECT_TRUE(answer && answer->pdu.bhs.opcode() == iscsi::Opcode::scsi_response);
  return peer;
}

}  // namespace openiser::test
