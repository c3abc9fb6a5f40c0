#include "rdmap/core/transmitter.h"

#include <algorithm>
#include <array>

#include "rdmap/core/segment_length.h"
#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

// Framed ahead of what is sent: one gathered write's worth.
constexpr std::size_t kFramedAhead = std::size_t{1} << 20;
// RFC 5041 section 4.1: a message is shorter than 2^32 octets.
constexpr std::uint64_t kMaxMessage = UINT32_MAX;

Opcode send_opcode(const Work& work) {
  if (work.invalidate) {
    return work.solicited_event ? Opcode::send_solicited_invalidate : Opcode::send_invalidate;
  }
  return work.solicited_event ? Opcode::send_solicited : Opcode::send;
}

// The part [from, from + length) of two buffers laid end to end.
std::array<Bytes, 2> part_of(const Work& work, std::size_t from, std::size_t length) {
  const Bytes head = work.buffer.bytes();
  const Bytes body = work.body.bytes();
  const std::size_t in_head = from < head.size() ? std::min(length, head.size() - from) : 0;
  const std::size_t body_from = from + in_head - head.size();
  return {in_head > 0 ? head.subspan(from, in_head) : Bytes(),
          length > in_head ? body.subspan(body_from, length - in_head) : Bytes()};
}

// Of the next segment, where `left` bytes are to go, at most `room` in each. Full ones, each of
// which fills a TCP segment (RFC 5044 section 4.5); but equal ones where these are large.
std::size_t segment_length(std::size_t left, std::size_t room) {
  constexpr std::size_t kLarge = 16 << 10;
  if (left <= room || room < kLarge) return std::min(left, room);
  const std::size_t segments = (left + room - 1) / room;
  return std::min(room, equal_segment(left, segments));
}

}  // namespace

void Transmitter::start(const MpaSettled& settled, std::uint32_t emss, std::uint32_t max_send) {
  encoder_.emplace(settled.crc, settled.markers_sent);
  version_ = settled.version;
  mulpdu_ = mulpdu(emss, settled.markers_sent);
  max_send_ = max_send;
  send_rtr(settled.rtr_to_send);
}

// RFC 6581 section 4.3: a zero-length message of the kind agreed on.
void Transmitter::send_rtr(Rtr kind) {
  std::array<std::byte, kUntaggedHeaderSize> space;
  ByteWriter header(space);
  switch (kind) {
    case Rtr::none:
      return;
    case Rtr::read:
      return request_read(nullptr);
    case Rtr::send:
      encode(UntaggedHeader{.rdmap_control = rdmap_control(Opcode::send, version_),
                            .invalidate = {},
                            .msn = send_msn_++},
             version_, header);
      break;
    case Rtr::write:
      encode(TaggedHeader{.rdmap_control = rdmap_control(Opcode::rdma_write, version_), .stag = {}},
             version_, header);
      break;
  }
  encoder_->append(output_, header.written());
}

Status Transmitter::pump() {
  while (output_.size() < kFramedAhead && (message_ || begin_message())) {
    if (const auto framed = frame_segment(); !framed) return framed;
  }
  return {};
}

bool Transmitter::begin_message() {
  const bool response_first = !response_last_;
  if (response_first && !responder_.idle()) return begin_response(), true;
  if (begin_work()) return true;
  if (!responder_.idle()) return begin_response(), true;
  return false;
}

void Transmitter::begin_response() {
  response_last_ = true;
  message_ = Message{nullptr, responder_.front().request.size};
}

// The order of submission is kept (RFC 5040 section 5.5 rule 13), so a read that must wait holds up
// what is behind it. Read Requests, one FPDU each, are framed on the way.
bool Transmitter::begin_work() {
  while (Work* work = works_.next()) {
    response_last_ = false;
    const bool read = work->kind == Completion::Kind::read;
    const bool send = work->kind == Completion::Kind::send;
    if (read && requester_.limit() > 0 && !requester_.may_request()) return false;
    works_.start();
    if (work->length() > (send ? max_send_ : kMaxMessage)) {
      refuse_work(*work, errc::send_too_long);
    } else if (!read) {
      message_ = Message{work, work->length()};
      return true;
    } else if (requester_.limit() == 0) {
      refuse_work(*work, errc::mpa_insufficient_ird);
    } else {
      request_read(work);
      if (output_.size() >= kFramedAhead) return false;
    }
  }
  return false;
}

void Transmitter::refuse_work(Work& work, ErrorCode why) {
  work.status = why;
  work.finished = true;
}

void Transmitter::request_read(Work* work) {
  std::array<std::byte, kReadRequestUlpduSize> space;
  ByteWriter ulpdu(space);
  encode(UntaggedHeader{.rdmap_control = rdmap_control(Opcode::read_request, version_),
                        .invalidate = {},
                        .queue = kReadRequestQueue,
                        .msn = read_msn_++},
         version_, ulpdu);
  encode(requester_.request(work), ulpdu);
  encoder_->append(output_, ulpdu.written());
}

Status Transmitter::frame_segment() {
  const bool send = message_->work && message_->work->kind == Completion::Kind::send;
  const std::size_t room = mulpdu_ - ddp_header_size(!send);
  const std::size_t length = segment_length(message_->length - message_->position, room);
  const bool last = message_->position + length == message_->length;
  if (!message_->work) {
    if (const auto framed = frame_response(length, last); !framed) return framed;
  } else if (send) {
    frame_send(length, last);
  } else {
    frame_write(length, last);
  }
  message_->position += length;
  if (last) end_message();
  return {};
}

void Transmitter::frame_write(std::size_t length, bool last) {
  const Work& work = *message_->work;
  std::array<std::byte, kTaggedHeaderSize> space;
  ByteWriter header(space);
  encode(TaggedHeader{.last = last,
                      .rdmap_control = rdmap_control(Opcode::rdma_write, version_),
                      .stag = work.remote.stag,
                      .offset = work.remote.offset + message_->position},
         version_, header);
  encoder_->append(output_, header.written(),
                   Bytes(work.buffer.bytes()).subspan(message_->position, length));
}

void Transmitter::frame_send(std::size_t length, bool last) {
  const Work& work = *message_->work;
  std::array<std::byte, kUntaggedHeaderSize> space;
  ByteWriter header(space);
  encode(UntaggedHeader{.last = last,
                        .rdmap_control = rdmap_control(send_opcode(work), version_),
                        .invalidate = work.invalidate.value_or(Stag{}),
                        .queue = kSendQueue,
                        .msn = send_msn_,
                        .message_offset = static_cast<std::uint32_t>(message_->position)},
         version_, header);
  const auto payload = part_of(work, message_->position, length);
  encoder_->append(output_, header.written(), payload);
  if (last) ++send_msn_;
}

// The source is looked up anew for each segment: its region may have ended meanwhile.
Status Transmitter::frame_response(std::size_t length, bool last) {
  const ReadRequestHeader& request = responder_.front().request;
  Bytes payload;
  if (length > 0) {
    const auto source =
        memory_.stags().resolve(request.source, request.source_offset + message_->position, length,
                                StagTable::Use::read_source);
    if (!source) {
      responder_.front().advance(message_->position);
      return source.error();
    }
    payload = *source;
  }
  std::array<std::byte, kTaggedHeaderSize> space;
  ByteWriter header(space);
  encode(TaggedHeader{.last = last,
                      .rdmap_control = rdmap_control(Opcode::read_response, version_),
                      .stag = request.sink,
                      .offset = request.sink_offset + message_->position},
         version_, header);
  encoder_->append(output_, header.written(), payload);
  memory_.referenced();
  return {};
}

void Transmitter::end_message() {
  if (message_->work) {
    framed_.push_back({message_->work, output_.end()});
  } else {
    responder_.pop();
  }
  message_.reset();
}

void Transmitter::sent() {
  for (; !framed_.empty() && framed_.front().end <= output_.sent_total(); framed_.pop_front()) {
    framed_.front().work->finished = true;
  }
}

}  // namespace openiser::rdmap
