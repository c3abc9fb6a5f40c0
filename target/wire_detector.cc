#include "target/wire_detector.h"

#include <algorithm>

#include "iscsi/errors.h"

namespace openiser::target {

namespace {

constexpr std::string_view kMpaRequestKey = "MPA ID Req Frame";
static_assert(kMpaRequestKey.size() == 16);

bool is_login_request(std::byte first) {
  constexpr std::byte kImmediate{0x40};
  return (first & ~kImmediate) == static_cast<std::byte>(iscsi::Opcode::login_request);
}

}  // namespace

Result<std::optional<Wire>> detect_wire(Bytes start) {
  if (start.empty()) return std::optional<Wire>();
  if (is_login_request(start[0])) return Wire::stream;
  if (!kMpaRequestKey.starts_with(as_text(start))) return iscsi::errc::wrong_opcode;
  if (start.size() < kMpaRequestKey.size()) return std::optional<Wire>();
  return Wire::rdma_first;
}

std::size_t WireDetector::receive_space(std::span<MutableBytes> into) {
  if (state_ != State::reading || into.empty()) return 0;
  into[0] = MutableBytes(start_).subspan(used_);
  return 1;
}

void WireDetector::received(std::size_t n, Time) {
  used_ += n;
  const auto wire = detect_wire(start());
  if (!wire) return refuse(wire.error());
  if (!*wire) return;
  state_ = State::detected;
  client_.wire_detected(**wire);
}

void WireDetector::transport_closed(ErrorCode why, Time) {
  if (state_ == State::reading) refuse(why ? why : iscsi::errc::connection_closed);
}

std::optional<Time> WireDetector::deadline() const {
  if (state_ != State::reading) return {};
  return deadline_;
}

void WireDetector::expired(Time) {
  if (state_ == State::reading) refuse(iscsi::errc::login_timeout);
}

CloseWish WireDetector::close_wish() const {
  return state_ == State::refused ? CloseWish::at_once : CloseWish::none;
}

void WireDetector::refuse(ErrorCode why) {
  state_ = State::refused;
  client_.wire_unknown(why);
}

}  // namespace openiser::target
