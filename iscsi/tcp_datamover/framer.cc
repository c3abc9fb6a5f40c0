#include "iscsi/tcp_datamover/framer.h"

#include <algorithm>

#include "base/assert.h"
#include "iscsi/errors.h"

namespace openiser::iscsi {
namespace {

constexpr std::size_t kStaging = 65536;
constexpr std::size_t kDigest = 4;
// While a segment of more than kLarge is received in place, this much is staged behind it: its
// trailer and the next headers, so that little of a next large segment has to be copied.
constexpr std::size_t kLarge = 32768;
constexpr std::size_t kBehindLarge = 1024;

// The digest's bytes are on the wire least significant first (RFC 7143 section 13.1).
bool digest_matches(const Crc32c& digest, Bytes wire) {
  return load_le32(wire.data()) == digest.value();
}

}  // namespace

PduFramer::PduFramer(Client& client, Settings settings, BufferPool& pool)
    : client_(client), settings_(settings), pool_(pool), staging_(Buffer::allocate(kStaging)) {}

std::size_t PduFramer::receive_space(std::span<MutableBytes> into) {
  std::size_t count = 0;
  std::size_t room = kStaging - end_;
  direct_space_ = 0;
  if (state_ == State::data && kind_ != Placement::Kind::drop && !into.empty()) {
    into[count++] = unfilled_;
    direct_space_ = unfilled_.size();
    if (direct_space_ > kLarge) room = kBehindLarge;
  }
  if (count < into.size()) into[count++] = staging_.bytes().subspan(end_, room);
  return count;
}

Status PduFramer::received(std::size_t n) {
  const std::size_t direct = std::min(n, direct_space_);
  direct_space_ = 0;
  if (state_ == State::stopped) return {};
  if (direct > 0) {
    if (settings_.data_digest) digest_.update(unfilled_.first(direct));
    unfilled_ = unfilled_.subspan(direct);
    missing_ -= direct;
  }
  end_ += n - direct;
  for (;;) {
    const Result<Step> result = step();
    if (!result) {
      stop();
      return result.error();
    }
    if (*result == Step::needs_more) break;
  }
  compact();
  return {};
}

void PduFramer::drop_rest() {
  kind_ = Placement::Kind::drop;
  unfilled_ = {};
  direct_space_ = 0;
}

Result<PduFramer::Step> PduFramer::step() {
  switch (state_) {
    case State::header:
      return take_header();
    case State::data:
      return take_data();
    case State::trailer:
      return take_trailer();
    case State::stopped:
      break;
  }
  return Step::needs_more;
}

Result<PduFramer::Step> PduFramer::take_header() {
  if (staged().size() < kBhsSize) return Step::needs_more;
  std::memcpy(pdu_.bhs.raw.data(), staged().data(), kBhsSize);
  const std::size_t ahs_size = pdu_.bhs.total_ahs_length();
  const std::size_t digest_size = settings_.header_digest ? kDigest : 0;
  if (staged().size() < kBhsSize + ahs_size + digest_size) return Step::needs_more;

  const Bytes header = consume(kBhsSize + ahs_size);
  if (settings_.header_digest && !digest_matches(Crc32c().update(header), consume(kDigest)))
    return errc::header_digest;
  if (pdu_.bhs.data_segment_length() > settings_.max_data_segment) return errc::data_too_long;
  if (ahs_size > 0) pdu_.ahs = Buffer::copy_of(header.subspan(kBhsSize));
  if (const Status status = begin_data(); !status) return status.error();
  return Step::advanced;
}

Status PduFramer::begin_data() {
  const Result<Placement> placement = client_.header_arrived(pdu_.bhs);
  if (!placement) return placement.error();
  missing_ = pdu_.bhs.data_segment_length();
  kind_ = placement->kind;
  unfilled_ = placement->memory;
  digest_ = {};
  state_ = missing_ > 0 ? State::data : State::trailer;
  if (kind_ == Placement::Kind::collect && missing_ > 0) {
    pdu_.data = pool_.take(missing_);
    // The pool is at its limit: what control-type PDUs take beyond it is bounded by the command
    // window, and without it the connection could not even abort tasks to free some.
    if (!pdu_.data) pdu_.data = Buffer::allocate(missing_);
    unfilled_ = pdu_.data.bytes();
  }
  ISER_ASSERT(kind_ == Placement::Kind::drop || unfilled_.size() == missing_);
  return {};
}

Result<PduFramer::Step> PduFramer::take_data() {
  const Bytes arrived = consume(std::min(missing_, staged().size()));
  if (settings_.data_digest) digest_.update(arrived);
  if (kind_ != Placement::Kind::drop && !arrived.empty()) {
    std::memcpy(unfilled_.data(), arrived.data(), arrived.size());
    unfilled_ = unfilled_.subspan(arrived.size());
  }
  missing_ -= arrived.size();
  if (missing_ > 0) return Step::needs_more;
  state_ = State::trailer;
  return Step::advanced;
}

// A zero-length data segment has no digest either (RFC 7143 section 11.2.3).
std::size_t PduFramer::trailer_size() const {
  const std::size_t length = pdu_.bhs.data_segment_length();
  if (length == 0) return 0;
  return pad4(length) + (settings_.data_digest ? kDigest : 0);
}

Result<PduFramer::Step> PduFramer::take_trailer() {
  const std::size_t size = trailer_size();
  if (staged().size() < size) return Step::needs_more;
  if (size > 0) {
    const Bytes pad = consume(pad4(pdu_.bhs.data_segment_length()));
    if (settings_.data_digest && !digest_matches(digest_.update(pad), consume(kDigest)))
      return errc::data_digest;
  }
  state_ = State::header;
  const Status status = client_.pdu_arrived(std::exchange(pdu_, {}), kind_);
  if (!status) return status.error();
  return Step::advanced;
}

Bytes PduFramer::consume(std::size_t n) {
  const Bytes taken = staged().first(n);
  begin_ += n;
  return taken;
}

// What is left is less than a header or a trailer, so moving it is cheap and there is always room
// for a whole header behind it.
void PduFramer::compact() {
  const std::size_t left = state_ == State::stopped ? 0 : end_ - begin_;
  if (begin_ > 0 && left > 0) std::memmove(staging_.data(), staging_.data() + begin_, left);
  begin_ = 0;
  end_ = left;
}

}  // namespace openiser::iscsi
