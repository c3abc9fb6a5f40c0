// The provider seam: what iSER needs of an RDMA-capable protocol (RCaP, RFC 7145 section 1.1),
// whoever provides it: the in-memory loopback, our own RDMAP over TCP, or a card through rdma-core.
// Code above branches on a capability, never on a provider's name.
//
// A queue pair and everything of it live on one thread. post_* only queue; flush() starts what is
// queued as one gathered write or one doorbell. Buffers are leases: they go in with post_* and come
// back in completions, also when the work failed or was flushed by the end of the connection.
// Client calls are never made from inside a call of the client's, and a queue pair is never
// destroyed from inside one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/result.h"

namespace openiser::rdmap {

// A steering tag (RFC 5040 section 1.2): names a piece of memory to the peer.
struct Stag {
  std::uint32_t value = 0;
  friend bool operator==(Stag, Stag) = default;
};

// Memory of the peer's: an STag it advertised and a Tagged Offset within it.
struct RemoteMemory {
  Stag stag;
  std::uint64_t offset = 0;
};

enum class Access : std::uint8_t {
  remote_read = 1,
  remote_write = 2,
  remote_read_write = 3,
  // remote_write, of memory whose content means nothing until something is placed in it: a provider
  // may receive data into it that turns out to belong elsewhere.
  remote_write_fresh = 6,
};

class QueuePair;

// Memory of ours that the peer may reach by its STag until this is invalidated or destroyed:
// afterwards the provider neither writes nor reads it, not even for requests already queued. Must
// not outlive its queue pair.
class MemoryRegion {
 public:
  MemoryRegion() = default;
  MemoryRegion(QueuePair* owner, Stag stag, std::uint64_t base_offset, std::size_t length)
      : owner_(owner), stag_(stag), base_offset_(base_offset), length_(length) {}
  MemoryRegion(MemoryRegion&& other) noexcept { *this = std::move(other); }
  MemoryRegion& operator=(MemoryRegion&& other) noexcept {
    if (this == &other) return *this;
    invalidate();
    owner_ = std::exchange(other.owner_, nullptr);
    stag_ = other.stag_;
    base_offset_ = other.base_offset_;
    length_ = other.length_;
    return *this;
  }
  ~MemoryRegion() { invalidate(); }

  // False when nothing is registered, or no more.
  explicit operator bool() const { return owner_ != nullptr; }
  Stag stag() const { return stag_; }
  // The Tagged Offset of the region's first byte.
  std::uint64_t base_offset() const { return base_offset_; }
  std::size_t length() const { return length_; }
  // Ends the registration now, whether or not the peer's Send with Invalidate did so already.
  inline void invalidate();

 private:
  QueuePair* owner_ = nullptr;
  Stag stag_;
  std::uint64_t base_offset_ = 0;
  std::size_t length_ = 0;
};

// Chosen by the client, given back in the completion; means nothing to the provider.
using WorkId = std::uint64_t;

// Send, or Send with Invalidate, with or without Solicited Event (RFC 5040 section 5.3). The
// message is `head` followed by `body`; either may be empty. Both stay untouched until the
// completion.
struct SendWork {
  WorkId id = 0;
  Buffer head;
  Buffer body;
  std::optional<Stag> invalidate;
  bool solicited_event = false;
};

// RDMA Write of `data` (its window; may be empty) to `sink` (RFC 5040 section 5.1).
struct WriteWork {
  WorkId id = 0;
  Buffer data;
  RemoteMemory sink;
};

// RDMA Read of sink.size() bytes (may be 0) from `source` into `sink` (RFC 5040 section 5.2). The
// provider registers the sink for the time of the read where the protocol needs that. Reads beyond
// the outbound read limit wait inside.
struct ReadWork {
  WorkId id = 0;
  Buffer sink;
  RemoteMemory source;
};

struct Completion {
  enum class Kind : std::uint8_t { send, receive, write, read };

  Kind kind = Kind::send;
  WorkId id = 0;
  // No error, or why: errc::flushed after the end of the connection, or what ended it.
  ErrorCode status;
  // The lease: head of a send; data of a write; sink of a read; the posted buffer of a receive,
  // with the message as its window.
  Buffer buffer;
  // Of a send. Of a receive: the posted buffer, unused, where the provider lends the message in
  // memory of its own instead. While that is kept it may have to copy the messages that follow.
  Buffer body;
  // Receives: the STag of ours that the peer's Send with Invalidate has just invalidated.
  std::optional<Stag> invalidated;
  bool solicited_event = false;
};

struct Capabilities {
  // RDMA Reads we may have outstanding (ORD), and the peer (IRD); settled when the connection is
  // established.
  std::uint32_t outbound_reads = 0;
  std::uint32_t inbound_reads = 0;
  // Send with Invalidate may be posted.
  bool remote_invalidate = false;
  // Every region's base_offset() is 0 (RFC 5046 needs that).
  bool zero_based_offsets = false;
  // Largest payload of one Send.
  std::uint32_t max_send = 0;
};

// What connection set-up settled.
struct Established {
  Capabilities capabilities;
  // The peer's private data, valid during the call.
  Bytes private_data;
  bool crc = false;
  bool markers_sent = false;
  bool markers_received = false;
};

// How a queue pair tells its client. Calls come from the provider's turn, never from inside post_*,
// flush or poll.
class QueuePairClient {
 public:
  // Set-up is done: work may be posted. Exactly one of established() and disconnected() comes
  // first.
  virtual void established(const Established& how) = 0;
  // poll() has something.
  virtual void completions_ready() = 0;
  // The end: `why` is no error for a graceful end by either side, else what ended it (a received or
  // sent Terminate, an error of the transport, a failed set-up). Comes once, also after
  // disconnect(); all outstanding work has been flushed into completions before it, ready for
  // poll().
  virtual void disconnected(ErrorCode why) = 0;

 protected:
  ~QueuePairClient() = default;
};

class QueuePair {
 public:
  virtual ~QueuePair() = default;

  // Must be called before anything else happens; null is allowed once the client wants to hear no
  // more.
  virtual void set_client(QueuePairClient* client) = 0;

  virtual Capabilities capabilities() const = 0;

  // Opens `memory` to the peer. It stays valid and in place until the region is invalidated. With
  // zero_based_offsets the base offset is 0, else whatever the provider finds best. Fails with
  // errc::too_many_regions.
  virtual Result<MemoryRegion> register_memory(MutableBytes memory, Access access) = 0;

  // Receives are used in any order, one a message; a message longer than its buffer ends the
  // connection. May be posted before the connection is established.
  virtual void post_receive(Buffer buffer, WorkId id) = 0;
  virtual void post_send(SendWork work) = 0;
  virtual void post_write(WriteWork work) = 0;
  virtual void post_read(ReadWork work) = 0;
  virtual void flush() = 0;

  // Takes up to out.size() completions, in the order the RFC allows them (RFC 5040 section 5.5);
  // returns how many.
  virtual std::size_t poll(std::span<Completion> out) = 0;

  // Ends the connection: what is flushed is still sent, then a Terminate if `reason` is an error
  // that has one (see rdmap/errors.h), then the transport is closed. disconnected() follows.
  virtual void disconnect(ErrorCode reason = {}) = 0;

 private:
  friend class MemoryRegion;
  // Must tolerate an STag that the peer has invalidated, and one whose connection is gone.
  virtual void deregister(Stag stag) = 0;
};

inline void MemoryRegion::invalidate() {
  if (owner_) std::exchange(owner_, nullptr)->deregister(stag_);
}

}  // namespace openiser::rdmap
