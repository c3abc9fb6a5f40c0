// Tells by a connection's first bytes which way it speaks, before anything is allocated for it:
//
//   first bytes            way
//   MPA ID Req Frame       rdma-first: MPA Request (RFC 5044 section 7.1.1)
//   0x43 or 0x03           iSCSI Login Request on the byte stream (RFC 7143 section 11.12)
//   anything else          none of ours: the connection is closed at once
//
// Reads no more than those 16 bytes, in any number of pieces, and hands them over.
#pragma once

#include <array>
#include <optional>

#include "base/stream_endpoint.h"

namespace openiser::target {

enum class Wire : std::uint8_t { rdma_first, stream };

// What `start` (up to 16 bytes) shows; nothing yet, or errc::wrong_opcode for a stranger.
Result<std::optional<Wire>> detect_wire(Bytes start);

class WireDetector final : public StreamEndpoint {
 public:
  class Client {
   public:
    // Called once, from inside received(): the detector is replaced in a deferred call.
    virtual void wire_detected(Wire wire) = 0;
    // Called at most once instead: a stranger, silence until the deadline, or the end of the
    // stream. The detector closes the connection.
    virtual void wire_unknown(ErrorCode why) = 0;

   protected:
    ~Client() = default;
  };

  WireDetector(Client& client, Time deadline) : client_(client), deadline_(deadline) {}

  // What has been read, for whoever comes next.
  Bytes start() const { return Bytes(start_).first(used_); }

  void attach(StreamHost* host) override { (void)host; }
  std::size_t receive_space(std::span<MutableBytes> into) override;
  void received(std::size_t n, Time now) override;
  std::size_t gather(std::span<Bytes>) override { return 0; }
  void sent(std::size_t, Time) override {}
  void transport_closed(ErrorCode why, Time now) override;
  std::optional<Time> deadline() const override;
  void expired(Time now) override;
  CloseWish close_wish() const override;

 private:
  enum class State : std::uint8_t { reading, detected, refused };
  void refuse(ErrorCode why);

  Client& client_;
  const Time deadline_;
  std::array<std::byte, 16> start_{};
  std::size_t used_ = 0;
  State state_ = State::reading;
};

}  // namespace openiser::target
