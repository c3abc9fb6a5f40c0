// The receiving side of DDP and RDMAP: whether a segment may be placed, where, and what its
// delivery means (RFC 5041 sections 5 and 7, RFC 5040 sections 5 and 7.2). Segments come in the
// order of the stream, so each untagged message is taken strictly from its start to its end.
#pragma once

#include <cstdint>
#include <optional>

#include "rdmap/core/exposed_memory.h"
#include "rdmap/core/read_queue.h"
#include "rdmap/core/work_queue.h"
#include "rdmap/wire/ddp.h"
#include "rdmap/wire/rdmap_header.h"

namespace openiser::rdmap {

// One DDP segment that has passed the checks of its headers.
struct Segment {
  const OpcodeRow* row = nullptr;
  TaggedHeader tagged;      // if row->tagged
  UntaggedHeader untagged;  // if not
  std::size_t length = 0;   // of the payload
  // Where the payload goes; empty for what the core itself reads (Read Request, Terminate).
  MutableBytes destination;

  bool is_whole_send() const {
    return !row->tagged && untagged.queue == kSendQueue && untagged.message_offset == 0 &&
           untagged.last;
  }
};

class DdpPlacement {
 public:
  DdpPlacement(ExposedMemory& memory, ReceiveQueue& receives, CompletionQueue& completions,
               ReadRequester& requester, ReadResponder& responder)
      : memory_(memory),
        receives_(receives),
        completions_(completions),
        requester_(requester),
        responder_(responder) {}

  // `swallow_rtr`: the first message may be a zero-length Send that only says that the peer is
  // ready (RFC 6581 section 4.3); it takes no receive buffer then.
  void start(StreamVersion version, bool swallow_rtr) {
    version_ = version;
    rtr_send_due_ = swallow_rtr;
  }

  // Checks the headers at the start of a ULPDU of `ulpdu_size` bytes; `start` holds at least the
  // DDP header, if there is one. Changes nothing.
  Result<Segment> admit(Bytes start, std::size_t ulpdu_size) const;
  // The payload of the admitted segment is about to be put into its destination. True for an RDMA
  // Write that fills all of a region at once.
  bool begin(const Segment& segment);
  // The payload of the admitted segment is in its destination; `ulpdu` is the whole ULPDU if that
  // is empty. `lent`: the payload, of a whole Send, is there instead.
  Status deliver(const Segment& segment, Bytes ulpdu, Buffer lent = {});

  // Where an RDMA Read Response goes on behind this admitted segment of it; else empty.
  MutableBytes behind(const Segment& segment) const;

  // Where RDMA Writes may be expected to go.
  const StagTable& stags() const { return memory_.stags(); }
  // A guess has put something else into the region.
  void spoilt(Stag stag) { memory_.stags().not_fresh(stag); }

  // Set by delivery of a Terminate, which deliver() reports as an error too: what it means.
  const std::optional<ErrorCode>& peer_terminated() const { return peer_terminated_; }

 private:
  Result<Segment> admit_tagged(Bytes start, std::size_t length) const;
  Result<Segment> admit_untagged(Bytes start, std::size_t length) const;
  Result<MutableBytes> place_send(const UntaggedHeader& header, std::size_t length) const;
  Status admit_control(const Segment& segment) const;
  bool is_rtr_send(const UntaggedHeader& header, std::size_t length) const;
  Status deliver_send(const Segment& segment, Buffer lent);
  Status deliver_read_request(Bytes ulpdu);
  Status deliver_terminate(Bytes ulpdu);

  ExposedMemory& memory_;
  ReceiveQueue& receives_;
  CompletionQueue& completions_;
  ReadRequester& requester_;
  ReadResponder& responder_;

  StreamVersion version_ = 1;
  // The next message of the Send queue and of the Read Request queue (RFC 5041 section 5.3).
  std::uint32_t send_msn_ = 1;
  std::uint32_t read_msn_ = 1;
  // What has come of the Send under way.
  std::size_t send_offset_ = 0;
  bool rtr_send_due_ = false;
  std::optional<ErrorCode> peer_terminated_;
};

}  // namespace openiser::rdmap
