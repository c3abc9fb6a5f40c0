// The exchange of MPA frames that turns a byte stream into an FPDU stream (RFC 5044 section 7.1,
// RFC 6581 section 9), for both roles. Bytes go in; a frame to send and an outcome come out.
//
// Lives from the start of MPA mode until its outcome is no longer `going_on`; then the core goes on
// with what settled() says. Reads at most one frame: the bytes behind it are FPDUs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "rdmap/iwarp.h"
#include "rdmap/wire/ddp.h"
#include "rdmap/wire/mpa_frame.h"

namespace openiser::rdmap {

enum class Rtr { none, send, write, read };

// What the two frames agreed on.
struct MpaSettled {
  std::uint8_t revision = 1;
  StreamVersion version = 1;  // of DDP and RDMAP
  bool crc = true;
  bool markers_sent = false;
  bool markers_received = false;
  std::uint16_t outbound_reads = 0;  // ORD
  std::uint16_t inbound_reads = 0;   // IRD
  // The peer's IRD and ORD as it gave them (RFC 6581 section 9.1: the ULP gets them too).
  std::optional<EnhancedData> peer;
  // Initiator: the first FPDU to send, before any other. `none` for responders.
  Rtr rtr_to_send = Rtr::none;
  // Responder: the first FPDU will be an RTR of one of these kinds. All false: none is due.
  RtrKinds rtr_expected;
};

class MpaStartUp {
 public:
  enum class State {
    going_on,
    established,
    rejected,  // R=1 was received, or sent on the ULP's decision: close after sending
    failed,    // see error() and terminates()
  };

  // The initiator's Request is ready at once. Without `decision` a responder accepts every Request
  // with its settings' private data.
  MpaStartUp(MpaRole role, MpaSettings settings, Time now, MpaDecision decision = nullptr);
  MpaStartUp(const MpaStartUp&) = delete;
  MpaStartUp& operator=(const MpaStartUp&) = delete;

  // Takes bytes off the front of `input` and says how many. Once the state is not `going_on`,
  // takes none.
  std::size_t received(Bytes input);
  // The byte stream ended.
  void transport_closed();
  void expired(Time now);
  // None once the state is not `going_on`.
  std::optional<Time> deadline() const;

  // The frame to be sent, once: empty if there is none. To be looked at after construction and
  // after received(); always before the outcome is acted on.
  std::vector<std::byte> take_output();

  State state() const { return state_; }
  // errc::rejected, or why it failed.
  ErrorCode error() const { return error_; }
  // The initiator failed after a good Reply: settled() holds, and a Terminate with error() is due
  // as its first and last FPDU (RFC 6581 sections 8 and 9). All other failures close the TCP
  // connection without one.
  bool terminates() const { return terminates_; }
  // Holds when established, and when terminates().
  const MpaSettled& settled() const { return settled_; }
  // The peer's; empty until its frame is there.
  Bytes peer_private_data() const { return peer_private_data_; }

 private:
  // Bytes still missing of the part of the frame that tells how long it is, then of the whole.
  std::size_t missing() const;
  void handle(const MpaFrame& frame);
  void handle_request(const MpaFrame& request);
  void handle_reply(const MpaFrame& reply);
  MpaFrame make_request() const;
  MpaFrame make_reply(const MpaFrame& request, const MpaAnswer& answer) const;
  EnhancedData answer_enhanced(const EnhancedData& asked) const;
  void settle(const MpaFrame& reply, const MpaFrame& sent, const MpaFrame& got);
  void settle_initiator(const MpaFrame& reply);
  void settle_responder(const EnhancedData& asked, const EnhancedData& answered);
  Rtr choose_rtr(const EnhancedData& answered) const;
  void fail(ErrorCode error);
  void fail_with_terminate(ErrorCode error);

  MpaRole role_;
  MpaSettings settings_;
  MpaDecision decision_;
  Time deadline_;
  State state_ = State::going_on;
  ErrorCode error_;
  bool terminates_ = false;
  MpaSettled settled_;
  std::vector<std::byte> output_;
  // The peer's frame as far as it has come.
  std::array<std::byte, kMaxMpaFrameSize> frame_{};
  std::size_t frame_size_ = 0;
  Bytes peer_private_data_;
};

}  // namespace openiser::rdmap
