// The seam between a sans-I/O core that speaks over a byte stream and whatever moves the bytes
// (rdmap/tcp's driver, a simulated wire, a test). The core says where the next bytes go and which
// bytes are ready to be sent; it never sees a socket or a clock. All calls are made on one thread.
//
// A core may be destroyed between calls, never from inside one of its own: whoever wants it gone
// defers that.
#pragma once

#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"

namespace openiser {

// What the core may ask of whoever drives it, from inside or outside of a call. Cheap, never calls
// back.
class StreamHost {
 public:
  // Output, the deadline or the close wish may have changed: look again before the turn ends.
  virtual void attention() = 0;

 protected:
  ~StreamHost() = default;
};

// How the core wants the stream to end.
enum class CloseWish {
  none,
  after_sending,  // send all that gather() has, then close gracefully (FIN)
  at_once,        // close now; what is unsent is dropped
};

class StreamEndpoint {
 public:
  virtual ~StreamEndpoint() = default;

  // Called once, before any other call. `host` outlives the endpoint or is replaced by null.
  virtual void attach(StreamHost* host) = 0;

  // Fills `into` with up to into.size() places for the next received bytes, in stream order, and
  // returns how many (0: take nothing more from the peer now). Valid until the next call of any
  // member.
  virtual std::size_t receive_space(std::span<MutableBytes> into) = 0;
  // The first `n` bytes of that space have been filled. Completions and notifications happen in
  // here.
  virtual void received(std::size_t n, Time now) = 0;

  // Fills `out` with up to out.size() pieces of what is to be sent next, in order; returns how
  // many. The pieces stay valid until sent() has consumed them or the endpoint is gone.
  virtual std::size_t gather(std::span<Bytes> out) = 0;
  // The first `n` bytes of what gather() gave are with the transport; the endpoint may reuse their
  // memory.
  virtual void sent(std::size_t n, Time now) = 0;

  // The transport is gone: `why` is an error, or no error for a graceful end by the peer. Last call
  // but attach(nullptr) and destruction.
  virtual void transport_closed(ErrorCode why, Time now) = 0;

  // When expired() is due, if ever.
  virtual std::optional<Time> deadline() const = 0;
  virtual void expired(Time now) = 0;

  virtual CloseWish close_wish() const = 0;
};

}  // namespace openiser
