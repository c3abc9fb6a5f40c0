// Our own RDMAP over a byte stream: settings of the MPA start-up and the queue pair that is also a
// stream endpoint. The same for the start of a connection (rdma-first) and for the upgrade of one
// that has spoken iSCSI (stream-first).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/stream_endpoint.h"
#include "rdmap/rcap.h"
#include "rdmap/rtr.h"

namespace openiser::rdmap {

enum class MpaRole { initiator, responder };

struct MpaSettings {
  // Initiator: revision of our Request. 2 is the enhanced set-up of RFC 6581, 1 that of RFC 5044, 0
  // the RDMA Consortium's (markers and CRC always on, DDP and RDMAP version 0). A responder answers
  // in the revision it was asked in.
  std::uint8_t revision = 2;
  // Whether we ask for CRC; it is off only if neither side asks.
  bool crc = true;
  // Whether we demand markers in what we receive.
  bool markers = false;
  // Initiator: ask for a peer-to-peer set-up with one of these RTR kinds. Responder: the kinds
  // accepted.
  bool peer_to_peer = false;
  RtrKinds rtr{.send = true, .write = true, .read = true};
  // RDMA Reads the peer may have outstanding towards us, and we towards it; at most 16383. Revision
  // 0 and 1 tell the peer nothing: then these hold as they are.
  std::uint16_t inbound_reads = 128;
  std::uint16_t outbound_reads = 128;
  // At most 512 (508 with revision 2).
  std::vector<std::byte> private_data;
  // From the start to the end of the exchange of frames.
  Duration start_up_timeout = std::chrono::seconds(10);
  // Largest segment of the TCP connection (EMSS): bounds the FPDUs we send (RFC 5044 section 4.5).
  std::uint32_t emss = 1460;
  // STags that may be valid at one time, and the largest Send.
  std::uint32_t max_regions = 16384;
  std::uint32_t max_send = 16u << 20;
  // Every region starts at Tagged Offset 0; otherwise at a random multiple of 4096.
  bool zero_based_offsets = false;
};

// What a responder does with a Request. `private_data` is the peer's, without the IRD/ORD words of
// revision 2; valid during the call.
struct MpaAnswer {
  bool reject = false;
  std::vector<std::byte> private_data;
};
using MpaDecision = std::function<MpaAnswer(Bytes private_data)>;

// What changes hands at an upgrade (RFC 5046 section 5.1.2): nobody can get the order wrong.
struct Upgrade {
  // Bytes of the old mode still to be written, before any MPA byte.
  std::vector<std::byte> write_first;
  // Bytes already read that belong to the new mode.
  std::vector<std::byte> already_read;
};

// A queue pair over RDMAP/DDP/MPA that a driver feeds.
class IwarpQueuePair : public QueuePair, public StreamEndpoint {};

// `decision` is for responders; without it every Request is accepted with settings.private_data.
// `now` starts the start-up timer. The client is set, receives are posted and the endpoint attached
// before the first byte moves.
std::unique_ptr<IwarpQueuePair> make_iwarp_queue_pair(MpaRole role, MpaSettings settings, Time now,
                                                      Upgrade upgrade = {},
                                                      MpaDecision decision = nullptr);

}  // namespace openiser::rdmap
