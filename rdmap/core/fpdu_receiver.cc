#include "rdmap/core/fpdu_receiver.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "rdmap/core/segment_length.h"
#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

// Holds the largest FPDU with its markers (66 KiB), and behind it as much as one read takes: many
// small FPDUs, but not so many that the peer runs out of work before it hears of them.
constexpr std::size_t kStagingSize = 260 << 10;
constexpr std::size_t kStagedRead = 96 << 10;
// For a peer that has far more than that under way: fewer calls and wake-ups for as much.
constexpr std::size_t kDeepRead = 192 << 10;
// So many staged reads in a row that took all they could show such a peer; and so many more are
// wanted after a deep one that fell short, which left the peer without work.
constexpr int kFullReads = 3;
constexpr int kFullReadsAfterShort = 64;
// From this payload on, placing directly saves more than the read of its own costs.
constexpr std::size_t kDirectPayload = 16 << 10;
// What is read behind a directly placed payload: its trailer and the start of what follows, whose
// payload, most likely large too, should be placed directly in turn.
constexpr std::size_t kBehindDirect = 1024;
// Payloads of a Read Response that are guessed behind one.
constexpr int kGuessedSegments = 3;
// Placing less than this directly is not worth a place of its own.
constexpr std::size_t kGuessedWrite = 1024;
constexpr std::size_t kTaggedStart = kFpduLengthSize + kTaggedHeaderSize;

}  // namespace

RefusedUlpdu RefusedUlpdu::of(Bytes start, std::size_t ulpdu_size) {
  RefusedUlpdu refused;
  refused.start_size = std::min({start.size(), ulpdu_size, refused.start.size()});
  std::ranges::copy(start.first(refused.start_size), refused.start.begin());
  refused.ulpdu_size = ulpdu_size;
  return refused;
}

FpduReceiver::FpduReceiver(DdpPlacement& placement)
    : placement_(placement), staging_(Staging::make(kStagingSize)) {}

std::size_t FpduReceiver::space(std::span<MutableBytes> into) {
  ISER_ASSERT(!into.empty());
  guess_.clear();
  compact();
  wanted_ = 0;
  if (!direct_) return staged_space(into);
  if (!direct_->revoked) return direct_space(into);
  const MutableBytes tail = staging_->bytes().subspan(end_, staged_room());
  // Nothing is staged while payload is missing, so a revoked one's can go over the tail's end.
  into[0] = tail.first(kBehindDirect);
  if (direct_->missing() == 0) return 1;
  into[0] = tail.subspan(kBehindDirect, std::min(direct_->missing(), tail.size() - kBehindDirect));
  if (into[0].size() < direct_->missing() || into.size() == 1) return 1;
  into[1] = tail.first(kBehindDirect);
  return 2;
}

// As much as one read takes, of which RDMA Writes have their places if it is known where they come.
std::size_t FpduReceiver::staged_space(std::span<MutableBytes> into) {
  std::size_t staged = end_;
  std::size_t room = staged_room();
  std::size_t places = 0;
  if (const auto ahead = rhythm_.ahead(); ahead && !decoder_.markers())
    places = guess_writes(into, staged, begin_ + *ahead, room);
  if (room > 0) into[places++] = staging_->bytes().subspan(staged, room);
  for (const MutableBytes place : into.first(places)) wanted_ += place.size();
  return places;
}

// The rest of the payload, what is guessed to follow it, and a little of whatever comes then.
std::size_t FpduReceiver::direct_space(std::span<MutableBytes> into) {
  std::size_t places = 0;
  std::size_t staged = end_;
  if (direct_->missing() > 0) {
    into[places++] = direct_->segment.destination.subspan(direct_->placed);
    if (direct_->segment.row->opcode == Opcode::rdma_write) {
      const std::size_t trailer = fpdu_trailer_size(direct_->ulpdu.ulpdu_size);
      std::size_t room = kStagedRead;
      if (const auto ahead = rhythm_.ahead())
        places += guess_writes(into.subspan(places), staged, end_ + trailer + *ahead, room);
    } else {
      places += guess_response(into.subspan(places), staged);
    }
    if (places == into.size()) return places;
  }
  into[places++] = staging_->bytes().subspan(staged, kBehindDirect);
  return places;
}

// Leaves one place. What lies between two payloads goes behind the first `staged` bytes.
std::size_t FpduReceiver::guess_response(std::span<MutableBytes> into, std::size_t& staged) {
  std::size_t places = 0;
  std::size_t length = direct_->segment.length;
  MutableBytes rest = placement_.behind(direct_->segment);
  for (int n = 0; n != kGuessedSegments && rest.size() >= kDirectPayload; ++n) {
    if (into.size() - places <= 2) break;
    const std::size_t between = fpdu_trailer_size(kTaggedHeaderSize + length) + kTaggedStart;
    length = guess_length(length, rest.size());
    into[places++] = staging_->bytes().subspan(staged, between);
    into[places++] = rest.first(length);
    staged += between;
    guess_.add(staged, rest.first(length));
    rest = rest.subspan(length);
  }
  return places;
}

// The same for RDMA Writes to whole regions, the first of which begins `at`; not more than `room`
// bytes. None where the payload of the first has begun to come.
std::size_t FpduReceiver::guess_writes(std::span<MutableBytes> into, std::size_t& staged,
                                       std::size_t at, std::size_t& room) {
  std::size_t places = 0;
  at += kTaggedStart;
  if (staged > at) return 0;
  placement_.stags().for_each_fresh([&](Stag stag, MutableBytes region) {
    if (region.size() < kGuessedWrite || region.size() >= kDirectPayload) return false;
    const std::size_t size = at - staged + region.size();
    if (guess_.full() || into.size() - places <= 2 || size > room) {
      // The next read is to begin with its payload.
      if (places > 0) room = std::min(room, at - staged);
      return false;
    }
    if (at > staged) into[places++] = staging_->bytes().subspan(staged, at - staged);
    into[places++] = region;
    guess_.add(at, region, stag);
    room -= size;
    staged = at;
    at += fpdu_trailer_size(kTaggedHeaderSize + region.size()) + rhythm_.between() + kTaggedStart;
    return true;
  });
  return places;
}

void FpduReceiver::filled(std::size_t n) {
  if (discarding_) return;
  if (wanted_ != 0) note_read(n);
  if (direct_ && direct_->missing() > 0) {
    const std::size_t payload = std::min(n, direct_->missing());
    const Bytes place = direct_->revoked
                            ? Bytes(staging_->bytes().subspan(kBehindDirect))
                            : Bytes(direct_->segment.destination.subspan(direct_->placed));
    direct_->check.update(place.first(payload));
    direct_->placed += payload;
    n -= payload;
  }
  end_ = guess_.received(n, end_);
  ISER_ASSERT(end_ <= staging_->bytes().size());
}

// What a read that nothing is placed by may take.
std::size_t FpduReceiver::staged_room() const {
  const std::size_t most = full_reads_ == kFullReads ? kDeepRead : kStagedRead;
  return std::min(staging_->bytes().size() - end_, most);
}

void FpduReceiver::note_read(std::size_t n) {
  const bool deep = full_reads_ == kFullReads;
  if (n == wanted_) {
    if (!deep) ++full_reads_;
  } else {
    full_reads_ = deep ? -kFullReadsAfterShort : std::min(full_reads_, 0);
  }
}

void FpduReceiver::compact() {
  if (discarding_) begin_ = end_;
  if (begin_ == 0) return;
  const Bytes rest = staged();
  if (staging_->lent()) {
    if (!spare_) spare_ = Staging::make(kStagingSize);
    std::swap(staging_, spare_);
  }
  if (!rest.empty()) std::memmove(staging_->bytes().data(), rest.data(), rest.size());
  end_ -= begin_;
  begin_ = 0;
}

Status FpduReceiver::process() {
  while (!discarding_) {
    if (direct_) {
      if (!direct_complete()) break;
      if (const auto finished = finish_direct(); !finished) return finished;
      continue;
    }
    if (guess_.is_pending() && guess_.front().at == begin_ + kTaggedStart) {
      take_guess();
      continue;
    }
    if (const auto fpdu = whole_fpdu()) {
      if (const auto taken = take_fpdu(*fpdu); !taken) return taken;
    } else if (guess_.is_pending()) {
      undo_guess();
    } else if (!begin_direct()) {
      break;
    }
  }
  return {};
}

// Before a payload that is guessed, of what is staged before its header.
std::optional<Bytes> FpduReceiver::whole_fpdu() const {
  Bytes there = staged();
  if (guess_.is_pending()) there = there.first(guess_.front().at - kTaggedStart - begin_);
  if (there.size() < decoder_.prefix_size()) return std::nullopt;
  const std::size_t size = decoder_.wire_size(there);
  if (there.size() < size) return std::nullopt;
  return there.first(size);
}

Status FpduReceiver::take_fpdu(Bytes fpdu) {
  const auto ulpdu = decoder_.decode(fpdu, scratch_);
  if (!ulpdu) return refuse(ulpdu.error(), {}, 0);
  validated_one_ = true;
  begin_ += fpdu.size();
  return handle(*ulpdu);
}

Status FpduReceiver::handle(Bytes ulpdu) {
  const auto segment = placement_.admit(ulpdu, ulpdu.size());
  if (!segment) return refuse(segment.error(), ulpdu, ulpdu.size());
  begin_placing(*segment, ulpdu.size());
  const Bytes payload = ulpdu.last(segment->length);
  Buffer lent;
  if (may_lend(*segment)) {
    lent = staging_->lend(payload);
  } else if (!segment->destination.empty()) {
    std::memcpy(segment->destination.data(), payload.data(), payload.size());
  }
  if (const auto delivered = placement_.deliver(*segment, ulpdu, std::move(lent)); !delivered) {
    return refuse(delivered.error(), ulpdu, ulpdu.size());
  }
  return {};
}

void FpduReceiver::begin_placing(const Segment& segment, std::size_t ulpdu_size) {
  const bool whole_region = placement_.begin(segment);
  if (segment.row->opcode == Opcode::rdma_write) {
    rhythm_.write(whole_region);
  } else {
    rhythm_.other(fpdu_size(ulpdu_size));
  }
}

// With markers the ULPDU is not in the staging buffer.
bool FpduReceiver::may_lend(const Segment& segment) const {
  return segment.length > 0 && segment.is_whole_send() && !decoder_.markers() &&
         !(spare_ && spare_->lent());
}

// Headers that are refused are looked at again when the whole FPDU is there: a wrong CRC is the
// first thing to be told (RFC 5044 section 8).
bool FpduReceiver::begin_direct() {
  const Bytes there = staged();
  if (decoder_.markers() || there.size() < kFpduLengthSize + kUntaggedHeaderSize) return false;
  const std::size_t ulpdu_size = decoder_.ulpdu_size(there);
  if (ulpdu_size < kDirectPayload) return false;
  const Bytes ulpdu =
      there.subspan(kFpduLengthSize, std::min(ulpdu_size, there.size() - kFpduLengthSize));
  const auto segment = placement_.admit(ulpdu, ulpdu_size);
  if (!segment || segment->destination.empty()) return false;

  const std::size_t header = ddp_header_size(segment->row->tagged);
  const Bytes payload = ulpdu.subspan(header);
  std::memcpy(segment->destination.data(), payload.data(), payload.size());
  start_direct(*segment, there.first(kFpduLengthSize + header), payload);
  begin_ += payload.size();
  return true;
}

// `payload` is in its place. The header is taken from the staging buffer.
void FpduReceiver::start_direct(const Segment& segment, Bytes header, Bytes payload) {
  const std::size_t ulpdu_size = decoder_.ulpdu_size(header);
  const Bytes ulpdu = header.subspan(kFpduLengthSize);
  begin_placing(segment, ulpdu_size);
  direct_ = Direct{segment, FpduCheck(decoder_.crc()), RefusedUlpdu::of(ulpdu, ulpdu_size)};
  direct_->check.update(header);
  direct_->check.update(payload);
  direct_->placed = payload.size();
  begin_ += header.size();
}

// Of the segment behind one of `last` bytes, where `left` bytes are still to come.
std::size_t FpduReceiver::guess_length(std::size_t last, std::size_t left) const {
  const std::size_t segments = (left + last - 1) / last;
  return std::min(left, equal_segments_ ? equal_segment(left, segments) : last);
}

void FpduReceiver::take_guess() {
  const Guess::Part part = guess_.front();
  const Bytes header = staged().first(kTaggedStart);
  const Bytes ddp_header = header.subspan(kFpduLengthSize);
  const std::size_t ulpdu_size = kTaggedHeaderSize + part.payload.size();
  // An untagged header is longer than what is there of it.
  if (!is_tagged(ddp_header) || decoder_.ulpdu_size(header) != ulpdu_size) return undo_guess();
  const auto segment = placement_.admit(ddp_header, ulpdu_size);
  if (!segment || segment->destination.data() != part.payload.data()) return undo_guess();
  guess_.pop();
  start_direct(*segment, header, part.payload.first(part.came));
}

void FpduReceiver::undo_guess() {
  const bool of_writes = guess_.front().stag != Stag{};
  for (const Guess::Part& part : guess_.pending()) placement_.spoilt(part.stag);
  if (of_writes) {
    rhythm_.missed();
  } else {
    equal_segments_ = !equal_segments_;
  }
  end_ = guess_.undo(staging_->bytes(), begin_, end_);
}

bool FpduReceiver::direct_complete() const {
  return direct_->missing() == 0 && staged().size() >= fpdu_trailer_size(direct_->ulpdu.ulpdu_size);
}

Status FpduReceiver::finish_direct() {
  const std::size_t trailer = fpdu_trailer_size(direct_->ulpdu.ulpdu_size);
  Direct done = *direct_;
  direct_.reset();
  const Bytes start = Bytes(done.ulpdu.start).first(done.ulpdu.start_size);
  if (const auto good = done.check.finish(staged().first(trailer)); !good) {
    return refuse(good.error(), {}, 0);
  }
  validated_one_ = true;
  begin_ += trailer;
  if (done.revoked) {
    return refuse(errc::ddp_tagged_invalid_stag, start, done.ulpdu.ulpdu_size);
  }
  if (const auto delivered = placement_.deliver(done.segment, {}); !delivered) {
    return refuse(delivered.error(), start, done.ulpdu.ulpdu_size);
  }
  return {};
}

Status FpduReceiver::refuse(ErrorCode error, Bytes start, std::size_t ulpdu_size) {
  refused_ = RefusedUlpdu::of(start, ulpdu_size);
  return error;
}

void FpduReceiver::stop_placing(Stag stag) {
  if (!direct_ || direct_->segment.row->opcode != Opcode::rdma_write) return;
  if (direct_->segment.tagged.stag == stag) direct_->revoked = true;
}

void FpduReceiver::discard() {
  discarding_ = true;
  guess_.clear();
  direct_.reset();
}

}  // namespace openiser::rdmap
