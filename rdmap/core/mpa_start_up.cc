#include "rdmap/core/mpa_start_up.h"

#include <algorithm>
#include <utility>

#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

// The first revision that carries IRD, ORD and RTR.
constexpr std::uint8_t kEnhancedRevision = 2;
// The RDMA Consortium's: always markers and CRC, DDP and RDMAP version 0 (RFC 5044 appendix C).
constexpr std::uint8_t kConsortiumRevision = 0;

std::uint16_t depth(std::uint16_t setting) {
  return std::min(setting, kUlpReadDepth);
}

RtrKinds both(const RtrKinds& a, const RtrKinds& b) {
  return {.send = a.send && b.send, .write = a.write && b.write, .read = a.read && b.read};
}
bool any(const RtrKinds& kinds) {
  return kinds != RtrKinds{};
}

// What we take from the peer besides a well-formed frame.
bool acceptable(const MpaFrame& frame, const MpaSettings& settings) {
  // A Consortium frame without markers or CRC is nobody's protocol.
  if (frame.revision == kConsortiumRevision && !(frame.markers && frame.crc)) return false;
  // A responder may fall back to what an older one speaks, never go beyond what it was asked.
  return frame.kind == MpaFrameKind::request || frame.revision <= settings.revision;
}

bool fits(const MpaFrame& frame) {
  const std::size_t enhanced = frame.enhanced ? kEnhancedDataSize : 0;
  return frame.private_data.size() + enhanced <= kMaxMpaPrivateData;
}

}  // namespace

MpaStartUp::MpaStartUp(MpaRole role, MpaSettings settings, Time now, MpaDecision decision)
    : role_(role),
      settings_(std::move(settings)),
      decision_(std::move(decision)),
      deadline_(now + settings_.start_up_timeout) {
  if (role_ == MpaRole::initiator) output_ = encode(make_request());
}

std::size_t MpaStartUp::received(Bytes input) {
  std::size_t taken = 0;
  while (state_ == State::going_on && taken < input.size()) {
    const Bytes part = input.subspan(taken, std::min(missing(), input.size() - taken));
    std::ranges::copy(part, frame_.begin() + static_cast<std::ptrdiff_t>(frame_size_));
    frame_size_ += part.size();
    taken += part.size();

    // A Request where a Reply is due shows in its key: two initiators (RFC 5044 section 7.1.2).
    const auto kind = role_ == MpaRole::initiator ? MpaFrameKind::reply : MpaFrameKind::request;
    const auto parsed = parse_mpa_frame(Bytes(frame_).first(frame_size_), kind);
    if (!parsed) {
      fail(parsed.error());
    } else if (*parsed) {
      handle((*parsed)->frame);
    }
  }
  return taken;
}

std::size_t MpaStartUp::missing() const {
  if (frame_size_ < kMpaHeaderSize) return kMpaHeaderSize - frame_size_;
  return kMpaHeaderSize + load_be16(&frame_[kMpaHeaderSize - 2]) - frame_size_;
}

void MpaStartUp::transport_closed() {
  if (state_ == State::going_on) fail(errc::transport_closed);
}

void MpaStartUp::expired(Time now) {
  if (state_ == State::going_on && now >= deadline_) fail(errc::start_up_timeout);
}

std::optional<Time> MpaStartUp::deadline() const {
  if (state_ != State::going_on) return std::nullopt;
  return deadline_;
}

std::vector<std::byte> MpaStartUp::take_output() {
  return std::exchange(output_, {});
}

void MpaStartUp::handle(const MpaFrame& frame) {
  peer_private_data_ = frame.private_data;
  settled_.peer = frame.enhanced;
  if (!acceptable(frame, settings_)) {
    fail(errc::mpa_bad_frame);
  } else if (role_ == MpaRole::initiator) {
    handle_reply(frame);
  } else {
    handle_request(frame);
  }
}

MpaFrame MpaStartUp::make_request() const {
  const bool consortium = settings_.revision == kConsortiumRevision;
  MpaFrame request;
  request.kind = MpaFrameKind::request;
  request.revision = settings_.revision;
  request.markers = settings_.markers || consortium;
  request.crc = settings_.crc || consortium;
  if (settings_.revision >= kEnhancedRevision) {
    request.enhanced = EnhancedData{.peer_to_peer = settings_.peer_to_peer,
                                    .rtr = settings_.rtr,
                                    .ird = depth(settings_.inbound_reads),
                                    .ord = depth(settings_.outbound_reads)};
  }
  request.private_data = settings_.private_data;
  return request;
}

void MpaStartUp::handle_request(const MpaFrame& request) {
  const MpaAnswer answer = decision_
                               ? decision_(request.private_data)
                               : MpaAnswer{.reject = false, .private_data = settings_.private_data};
  const MpaFrame reply = make_reply(request, answer);
  // The peer chose the revision, and with it how much fits.
  if (!fits(reply)) return fail(errc::mpa_local_catastrophic);
  output_ = encode(reply);
  if (reply.reject) {
    state_ = State::rejected;
    error_ = errc::rejected;
    return;
  }
  settle(reply, reply, request);
  if (reply.enhanced) settle_responder(*request.enhanced, *reply.enhanced);
  state_ = State::established;
}

// An enhanced Request gets an enhanced Reply, any other a plain one (RFC 6581 section 10).
MpaFrame MpaStartUp::make_reply(const MpaFrame& request, const MpaAnswer& answer) const {
  MpaFrame reply;
  reply.kind = MpaFrameKind::reply;
  reply.revision = request.revision;
  reply.markers = settings_.markers || request.revision == kConsortiumRevision;
  // C in either frame means CRC; saying so in both leaves no doubt.
  reply.crc = settings_.crc || request.crc;
  reply.reject = answer.reject;
  if (request.enhanced) reply.enhanced = answer_enhanced(*request.enhanced);
  reply.private_data = answer.private_data;
  return reply;
}

// RFC 6581 sections 9.1 and 9.2.
EnhancedData MpaStartUp::answer_enhanced(const EnhancedData& asked) const {
  EnhancedData answer;
  answer.peer_to_peer = asked.peer_to_peer;
  // The peer's wish bounds ours and ours the peer's; all ones leaves both as they are.
  answer.ord =
      asked.ird == kUlpReadDepth ? asked.ird : std::min(settings_.outbound_reads, asked.ird);
  answer.ird =
      asked.ord == kUlpReadDepth ? asked.ord : std::min(settings_.inbound_reads, asked.ord);
  if (!asked.peer_to_peer) return answer;

  RtrKinds ours = settings_.rtr;
  ours.read = ours.read && settings_.inbound_reads > 0;
  // At least one kind must be supported, and a zero-length Write asks for nothing.
  if (!any(ours)) ours.write = true;
  const RtrKinds common = both(ours, asked.rtr);
  // Without a match the initiator learns what we have, and terminates.
  answer.rtr = any(common) ? common : ours;
  // An RTR Read needs a place in our inbound queue even if the ULP wants none.
  if (answer.rtr.read) answer.ird = std::max<std::uint16_t>(answer.ird, 1);
  return answer;
}

void MpaStartUp::settle_responder(const EnhancedData& asked, const EnhancedData& answered) {
  if (asked.ird != kUlpReadDepth) settled_.outbound_reads = answered.ord;
  if (asked.ord != kUlpReadDepth) settled_.inbound_reads = answered.ird;
  settled_.rtr_expected = answered.rtr;
}

void MpaStartUp::handle_reply(const MpaFrame& reply) {
  // R=1: whatever else it says, MPA is left (RFC 5044 section 7.1.2).
  if (reply.reject) {
    state_ = State::rejected;
    error_ = errc::rejected;
    return;
  }
  settle(reply, make_request(), reply);
  settle_initiator(reply);
}

void MpaStartUp::settle_initiator(const MpaFrame& reply) {
  if (reply.enhanced) {
    const EnhancedData& answered = *reply.enhanced;
    if (answered.ird != kUlpReadDepth) {
      settled_.outbound_reads = std::min(settled_.outbound_reads, answered.ird);
    }
    // Our IRD is all we have: more than that cannot be raised (RFC 6581 section 9.1).
    if (answered.ord != kUlpReadDepth && answered.ord > settled_.inbound_reads) {
      return fail_with_terminate(errc::mpa_insufficient_ird);
    }
  }
  if (settings_.revision >= kEnhancedRevision && settings_.peer_to_peer) {
    // A plain Reply, or A=0, is another connection model than the one asked for (RFC 6581
    // section 9.2).
    const bool agreed = reply.enhanced && reply.enhanced->peer_to_peer;
    settled_.rtr_to_send = agreed ? choose_rtr(*reply.enhanced) : Rtr::none;
    if (settled_.rtr_to_send == Rtr::none) return fail_with_terminate(errc::mpa_no_rtr_match);
  }
  state_ = State::established;
}

// The cheapest first: a Write costs the peer nothing, a Read a place in its queue, a Send a receive
// of its ULP's.
Rtr MpaStartUp::choose_rtr(const EnhancedData& answered) const {
  const RtrKinds common = both(settings_.rtr, answered.rtr);
  if (common.write) return Rtr::write;
  if (common.read && settled_.outbound_reads > 0) return Rtr::read;
  if (common.send) return Rtr::send;
  return Rtr::none;
}

// RFC 5044 section 7.1.1: M asks for markers from the other side, C in either frame is CRC for
// both. A Consortium Reply switches all of it on, whatever we had asked (appendix C.2.5).
void MpaStartUp::settle(const MpaFrame& reply, const MpaFrame& sent, const MpaFrame& got) {
  const bool consortium = reply.revision == kConsortiumRevision;
  settled_.revision = reply.revision;
  settled_.version = consortium ? 0 : 1;
  settled_.crc = sent.crc || got.crc || consortium;
  settled_.markers_sent = got.markers || consortium;
  settled_.markers_received = sent.markers || consortium;
  settled_.inbound_reads = settings_.inbound_reads;
  settled_.outbound_reads = settings_.outbound_reads;
}

void MpaStartUp::fail(ErrorCode error) {
  state_ = State::failed;
  error_ = error;
}

void MpaStartUp::fail_with_terminate(ErrorCode error) {
  fail(error);
  terminates_ = true;
}

}  // namespace openiser::rdmap
