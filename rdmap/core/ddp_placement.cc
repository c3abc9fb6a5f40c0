#include "rdmap/core/ddp_placement.h"

#include <algorithm>

#include "rdmap/errors.h"
#include "rdmap/wire/terminate.h"

namespace openiser::rdmap {
namespace {

// A message too short for its own headers: there is no code of its own for it.
constexpr errc kMalformed = errc::rdmap_stream_catastrophic;

}  // namespace

Result<Segment> DdpPlacement::admit(Bytes start, std::size_t ulpdu_size) const {
  if (ulpdu_size == 0) return make_error_code(kMalformed);
  const bool tagged = is_tagged(start);
  const std::size_t header = ddp_header_size(tagged);
  if (ulpdu_size < header) return make_error_code(kMalformed);
  return tagged ? admit_tagged(start, ulpdu_size - header)
                : admit_untagged(start, ulpdu_size - header);
}

// RFC 5041 section 7.1. A zero-length RDMA Write names no memory.
Result<Segment> DdpPlacement::admit_tagged(Bytes start, std::size_t length) const {
  const auto header = parse_tagged(start, version_);
  if (!header) return header.error();
  const auto row = check_opcode(*header, version_);
  if (!row) return row.error();
  Segment segment;
  segment.row = *row;
  segment.tagged = *header;
  segment.length = length;
  if ((*row)->opcode == Opcode::rdma_write && length == 0) return segment;
  const auto where =
      (*row)->opcode == Opcode::rdma_write
          ? memory_.stags().resolve(header->stag, header->offset, length, StagTable::Use::write)
          : requester_.place(*header, length);
  if (!where) return where.error();
  segment.destination = *where;
  return segment;
}

Result<Segment> DdpPlacement::admit_untagged(Bytes start, std::size_t length) const {
  const auto header = parse_untagged(start, version_);
  if (!header) return header.error();
  const auto row = check_opcode(*header, version_);
  if (!row) return row.error();
  Segment segment;
  segment.row = *row;
  segment.untagged = *header;
  segment.length = length;
  if (header->queue == kSendQueue) {
    const auto where = place_send(*header, length);
    if (!where) return where.error();
    segment.destination = *where;
  } else if (const auto good = admit_control(segment); !good) {
    return good.error();
  }
  return segment;
}

bool DdpPlacement::is_rtr_send(const UntaggedHeader& header, std::size_t length) const {
  return rtr_send_due_ && header.msn == 1 && header.last && length == 0;
}

// RFC 5041 section 7.1: the checks of untagged segments, in its order.
Result<MutableBytes> DdpPlacement::place_send(const UntaggedHeader& header,
                                              std::size_t length) const {
  if (header.msn != send_msn_) return make_error_code(errc::ddp_untagged_msn_range);
  if (is_rtr_send(header, length)) return MutableBytes();
  if (receives_.empty()) return make_error_code(errc::ddp_untagged_no_buffer);
  if (header.message_offset != send_offset_) return make_error_code(errc::ddp_untagged_offset);
  const MutableBytes buffer = receives_.current().bytes();
  if (length > buffer.size() - send_offset_) return make_error_code(errc::ddp_untagged_too_long);
  return buffer.subspan(send_offset_, length);
}

// Messages for RDMAP itself have one segment: MULPDU is never below 128 (RFC 5044 section 3).
Status DdpPlacement::admit_control(const Segment& segment) const {
  const UntaggedHeader& header = segment.untagged;
  const bool read_request = header.queue == kReadRequestQueue;
  if (header.msn != (read_request ? read_msn_ : 1)) {
    return make_error_code(errc::ddp_untagged_msn_range);
  }
  if (read_request && responder_.full()) return make_error_code(errc::ddp_untagged_no_buffer);
  if (header.message_offset != 0) return make_error_code(errc::ddp_untagged_offset);
  if (segment.length > (read_request ? kReadRequestHeaderSize : kMaxTerminateSize)) {
    return make_error_code(errc::ddp_untagged_too_long);
  }
  if (!header.last || segment.length < segment.row->header_size) {
    return make_error_code(kMalformed);
  }
  return {};
}

bool DdpPlacement::begin(const Segment& segment) {
  if (segment.row->opcode != Opcode::rdma_write) return false;
  return memory_.stags().not_fresh(segment.tagged.stag).size() == segment.length;
}

MutableBytes DdpPlacement::behind(const Segment& segment) const {
  if (segment.row->opcode != Opcode::read_response || segment.tagged.last) return {};
  return requester_.sink_behind(segment.length);
}

Status DdpPlacement::deliver(const Segment& segment, Bytes ulpdu, Buffer lent) {
  const bool first = std::exchange(rtr_send_due_, false);
  switch (segment.row->opcode) {
    case Opcode::rdma_write:
      return {};
    case Opcode::read_response:
      return requester_.deliver(segment.tagged, segment.length);
    case Opcode::read_request:
      return deliver_read_request(ulpdu);
    case Opcode::terminate:
      return deliver_terminate(ulpdu);
    default:
      if (first && segment.untagged.last && segment.length == 0) {
        ++send_msn_;
        return {};
      }
      return deliver_send(segment, std::move(lent));
  }
}

Status DdpPlacement::deliver_send(const Segment& segment, Buffer lent) {
  send_offset_ += segment.length;
  if (!segment.untagged.last) return {};
  std::optional<Stag> invalidated;
  if (segment.row->invalidates) {
    invalidated = segment.untagged.invalidate;
    // RFC 5040 section 7.2 items 4 and 5.
    if (!memory_.revoke(*invalidated)) return make_error_code(errc::rdmap_cannot_invalidate);
  }
  receives_.complete(send_offset_, invalidated, segment.row->solicited_event, completions_,
                     std::move(lent));
  send_offset_ = 0;
  ++send_msn_;
  return {};
}

// RFC 5040 sections 5.2.1 and 7.2; the source of a zero-length read is not looked at.
Status DdpPlacement::deliver_read_request(Bytes ulpdu) {
  const auto request = parse_read_request(ulpdu.subspan(kUntaggedHeaderSize));
  if (!request) return request.error();
  if (request->size > 0) {
    const auto source = memory_.stags().resolve(request->source, request->source_offset,
                                                request->size, StagTable::Use::read_source);
    if (!source) return source.error();
  }
  ReadResponder::Owed owed{*request, {}};
  std::ranges::copy(ulpdu.first(kReadRequestUlpduSize), owed.ulpdu.begin());
  responder_.accept(owed);
  ++read_msn_;
  return {};
}

Status DdpPlacement::deliver_terminate(Bytes ulpdu) {
  const auto terminate = parse_terminate(ulpdu.subspan(kUntaggedHeaderSize));
  if (!terminate) return terminate.error();
  peer_terminated_ = error_of_terminate(terminate->layer, terminate->type, terminate->code);
  return *peer_terminated_;
}

}  // namespace openiser::rdmap
