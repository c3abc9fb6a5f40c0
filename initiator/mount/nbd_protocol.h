// The transmission phase of the NBD protocol with simple replies, the server's side: requests out
// of a byte stream, replies into one. The document is doc/proto.md of NetworkBlockDevice/nbd.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/result.h"
#include "initiator/block_device.h"

namespace openiser::initiator::nbd {

inline constexpr std::size_t kRequestSize = 28, kReplySize = 16;
// What a write may carry and a read ask for: the document's advice, and Linux's most.
inline constexpr std::uint32_t kMaxPayload = 32u << 20;

enum class Command : std::uint16_t {
  read = 0,
  write = 1,
  disconnect = 2,  // is not answered
  flush = 3,
  trim = 4,
  write_zeroes = 6,
};

enum CommandFlag : std::uint16_t {
  kForceUnitAccess = 1 << 0,
  kNoHole = 1 << 1,  // of write_zeroes: keep the room
};

// What a server tells of an export.
enum TransmissionFlag : std::uint16_t {
  kHasFlags = 1 << 0,
  kReadOnly = 1 << 1,
  kSendFlush = 1 << 2,
  kSendForceUnitAccess = 1 << 3,
  kRotational = 1 << 4,
  kSendTrim = 1 << 5,
  kSendWriteZeroes = 1 << 6,
};
std::uint16_t transmission_flags(const BlockDeviceProperties& device);

struct Request {
  Command command = Command::read;  // perhaps one that is not listed
  std::uint16_t flags = 0;
  std::uint64_t cookie = 0;  // the client's; goes into the reply
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  Buffer data;  // of a write
};

// Takes a stream apart. Payload is received where it stays.
class RequestReader {
 public:
  // Where the stream's next bytes go; never empty.
  MutableBytes room();
  // `n` bytes of that are there: perhaps a request is whole now. After an error the stream is out
  // of step, and is of no more use.
  Result<std::optional<Request>> received(std::size_t n);

 private:
  std::array<std::byte, kRequestSize> header_{};
  std::size_t filled_ = 0;  // of the header, then of the payload
  bool in_payload_ = false;
  Request request_;
};

// The reply's header; the data of a read that succeeded follows.
std::array<std::byte, kReplySize> encode_reply(std::uint64_t cookie, ErrorCode error);
// The errno that the protocol has for an error.
std::uint32_t wire_error(ErrorCode error);

}  // namespace openiser::initiator::nbd
