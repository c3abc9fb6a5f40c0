#include "iscsi/login/stream_login_channel.h"

#include <algorithm>
#include <array>

#include "iscsi/errors.h"

namespace openiser::iscsi {
namespace {

// MaxRecvDataSegmentLength during login (RFC 7143 section 13.12).
constexpr std::uint32_t kMaxLoginData = 8192;
// One PDU of the largest size, and a little of what may follow the last one.
constexpr std::size_t kInput = kBhsSize + kMaxLoginData + 1024;

// What the header of a PDU in login may not be. The first PDU is a login PDU; what may come later
// is for the machine to judge.
ErrorCode fault_of(const Bhs& bhs, bool first) {
  const Opcode opcode = bhs.opcode();
  if (first && opcode != Opcode::login_request && opcode != Opcode::login_response)
    return errc::wrong_opcode;
  if (bhs.total_ahs_length() > 0) return errc::ahs_too_long;
  if (bhs.data_segment_length() > kMaxLoginData) return errc::data_too_long;
  return {};
}

}  // namespace

StreamLoginChannel::StreamLoginChannel(Client& client, Bytes already_read)
    : client_(client), input_(already_read.begin(), already_read.end()) {
  input_used_ = input_.size();
  input_.resize(std::max(kInput, input_used_));
}

StreamLoginChannel::~StreamLoginChannel() = default;

void StreamLoginChannel::send(ControlPdu pdu) {
  pdu.bhs.set_total_ahs_length(0);
  pdu.bhs.set_data_segment_length(static_cast<std::uint32_t>(pdu.data.size()));
  output_.append_copy(pdu.bhs.raw);
  output_.append_copy(pdu.data.bytes());
  output_.append_copy(Bytes(kZeros).first(pad4(pdu.data.size())));
  awaits_answer_ = false;
  attention();
}

void StreamLoginChannel::close() {
  closing_ = stopped_ = true;
  input_used_ = 0;
  attention();
}

std::vector<std::byte> StreamLoginChannel::take_unread() {
  stopped_ = true;
  std::vector<std::byte> unread = std::exchange(input_, {});
  unread.resize(std::exchange(input_used_, 0));
  return unread;
}

std::vector<std::byte> StreamLoginChannel::take_unsent() {
  std::vector<std::byte> unsent;
  std::array<Bytes, 16> pieces;
  while (const std::size_t count = output_.gather(pieces)) {
    for (const Bytes piece : std::span(pieces).first(count)) {
      unsent.insert(unsent.end(), piece.begin(), piece.end());
      output_.consume(piece.size());
    }
  }
  return unsent;
}

void StreamLoginChannel::attach(StreamHost* host) {
  host_ = host;
  attention();
}

std::size_t StreamLoginChannel::receive_space(std::span<MutableBytes> into) {
  // While closing, what comes is discarded: unread bytes would make TCP reset the connection before
  // the peer has our last answer.
  const bool reading = !stopped_ || closing_;
  if (!reading || into.empty() || input_used_ == input_.size()) return 0;
  into[0] = MutableBytes(input_).subspan(input_used_);
  return 1;
}

void StreamLoginChannel::received(std::size_t n, Time) {
  if (stopped_) return;
  input_used_ += n;
  frame();
}

std::size_t StreamLoginChannel::gather(std::span<Bytes> out) {
  return output_.gather(out);
}

void StreamLoginChannel::sent(std::size_t n, Time) {
  output_.consume(n);
}

void StreamLoginChannel::transport_closed(ErrorCode why, Time) {
  if (!stopped_) fail(why ? why : errc::connection_closed);
}

// What was there before, or came together with an earlier PDU, is framed without waiting for more.
std::optional<Time> StreamLoginChannel::deadline() const {
  if (!host_ || stopped_ || awaits_answer_ || (!fault() && !whole_pdu())) return {};
  return Time();
}

void StreamLoginChannel::expired(Time) {
  frame();
}

CloseWish StreamLoginChannel::close_wish() const {
  return closing_ ? CloseWish::after_sending : CloseWish::none;
}

// The header that stands first in the input, if it is complete.
std::optional<Bhs> StreamLoginChannel::header() const {
  if (input_used_ < kBhsSize) return {};
  Bhs bhs;
  std::copy_n(input_.begin(), kBhsSize, bhs.raw.begin());
  return bhs;
}

ErrorCode StreamLoginChannel::fault() const {
  const std::optional<Bhs> bhs = header();
  return bhs ? fault_of(*bhs, first_) : ErrorCode();
}

bool StreamLoginChannel::whole_pdu() const {
  const std::optional<Bhs> bhs = header();
  if (!bhs) return false;
  const std::size_t length = bhs->data_segment_length();
  return input_used_ - kBhsSize >= length + pad4(length);
}

void StreamLoginChannel::frame() {
  while (!stopped_ && !awaits_answer_) {
    if (const ErrorCode error = fault()) return fail(error);
    if (!whole_pdu()) return;
    ControlPdu pdu{*header(), {}, {}};
    const std::size_t length = pdu.bhs.data_segment_length();
    if (length > 0) pdu.data = Buffer::copy_of(Bytes(input_).subspan(kBhsSize, length));
    const std::size_t size = kBhsSize + length + pad4(length);
    std::copy(input_.begin() + size, input_.begin() + input_used_, input_.begin());
    input_used_ -= size;
    first_ = false;
    awaits_answer_ = true;
    client_.login_pdu(std::move(pdu));
  }
}

void StreamLoginChannel::fail(ErrorCode why) {
  stopped_ = true;
  client_.login_stream_failed(why);
}

void StreamLoginChannel::attention() {
  if (host_) host_->attention();
}

}  // namespace openiser::iscsi
