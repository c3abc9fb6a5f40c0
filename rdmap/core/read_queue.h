// RDMA Reads under way (RFC 5040 section 5.2): those we have asked for, and those the peer has
// asked us for. Both are bounded by what MPA start-up settled, and both are answered in order
// (section 5.5 rule 20).
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "rdmap/core/work_queue.h"
#include "rdmap/wire/ddp.h"
#include "rdmap/wire/rdmap_header.h"

namespace openiser::rdmap {

// Reads of ours. All sinks share one STag that is in no table; each has Tagged Offsets of its own,
// never used again. So a Read Response is good only if it continues the oldest read exactly, and
// nothing else can reach a sink.
class ReadRequester {
 public:
  explicit ReadRequester(Stag sink) : sink_(sink) {}

  // ORD.
  void set_limit(std::uint32_t limit) { limit_ = limit; }
  std::uint32_t limit() const { return limit_; }
  bool may_request() const { return outstanding_.size() < limit_; }
  bool idle() const { return outstanding_.empty(); }

  // Makes `work` outstanding; it stays in place until finished. Null: a zero-length read that only
  // says that we are ready (RFC 6581 section 4.3).
  ReadRequestHeader request(Work* work);

  // Where `length` bytes of this Read Response go: errors ddp_tagged_invalid_stag,
  // ddp_tagged_bounds.
  Result<MutableBytes> place(const TaggedHeader& header, std::size_t length) const;
  // What is left of the sink behind the next `length` bytes of the oldest read; empty if nothing.
  MutableBytes sink_behind(std::size_t length) const;
  // They are there; finishes the work with the last of them. Error: rdmap_stream_catastrophic when
  // the response ends before all is there.
  Status deliver(const TaggedHeader& header, std::size_t length);

 private:
  struct Outstanding {
    Work* work;
    std::uint64_t offset;
    std::size_t length;
    std::size_t placed;
  };

  Stag sink_;
  std::uint32_t limit_ = 0;
  std::uint64_t next_offset_ = 4096;
  std::deque<Outstanding> outstanding_;
};

// A ULPDU with a Read Request: both headers.
inline constexpr std::size_t kReadRequestUlpduSize = kUntaggedHeaderSize + kReadRequestHeaderSize;

// Reads of the peer's.
class ReadResponder {
 public:
  struct Owed {
    ReadRequestHeader request;
    // As it came, for a Terminate.
    std::array<std::byte, kReadRequestUlpduSize> ulpdu;

    // The request, here and in `ulpdu`, is for what is left after `n` bytes (RFC 5040 section 4.8,
    // Terminated RDMA Header).
    void advance(std::size_t n);
  };

  // IRD.
  void set_limit(std::uint32_t limit) { limit_ = limit; }
  bool full() const { return owed_.size() >= limit_; }
  bool idle() const { return owed_.empty(); }
  void accept(const Owed& owed) { owed_.push_back(owed); }
  // The request to be answered next.
  Owed& front() { return owed_.front(); }
  // The front's response is framed.
  void pop() { owed_.pop_front(); }

 private:
  std::uint32_t limit_ = 0;
  std::deque<Owed> owed_;
};

}  // namespace openiser::rdmap
