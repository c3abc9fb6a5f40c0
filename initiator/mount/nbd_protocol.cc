#include "initiator/mount/nbd_protocol.h"

#include <cerrno>

#include "initiator/mount/byte_access.h"

namespace openiser::initiator::nbd {
namespace {

constexpr std::uint32_t kRequestMagic = 0x25609513, kSimpleReplyMagic = 0x67446698;

ErrorCode protocol_error() {
  return make_error_code(boost::system::errc::protocol_error);
}

Result<Request> decode(Bytes header) {
  ByteReader in(header);
  if (in.be32() != kRequestMagic) return protocol_error();
  Request request;
  request.flags = in.be16();
  request.command = static_cast<Command>(in.be16());
  request.cookie = in.be64();
  request.offset = in.be64();
  request.length = in.be32();
  // The length of other commands says how much to trim or to zero, whatever it is.
  const bool moves = request.command == Command::read || request.command == Command::write;
  if (moves && request.length > kMaxPayload) return protocol_error();
  return request;
}

}  // namespace

std::uint16_t transmission_flags(const BlockDeviceProperties& device) {
  std::uint16_t flags = kHasFlags;
  if (device.read_only) return flags | kReadOnly;
  if (device.write_cache) flags |= kSendFlush;
  // Linux takes a device that has FUA and no flush for one without a cache.
  if (device.write_cache && device.force_unit_access) flags |= kSendForceUnitAccess;
  if (device.unmap) flags |= kSendTrim;
  if (device.write_same) flags |= kSendWriteZeroes;
  return flags;
}

MutableBytes RequestReader::room() {
  const MutableBytes whole = in_payload_ ? request_.data.bytes() : MutableBytes(header_);
  return whole.subspan(filled_);
}

Result<std::optional<Request>> RequestReader::received(std::size_t n) {
  filled_ += n;
  if (!room().empty()) return std::nullopt;
  filled_ = 0;
  if (!in_payload_) {
    auto request = decode(header_);
    if (!request) return request.error();
    request_ = std::move(*request);
    if (request_.command == Command::write && request_.length > 0) {
      request_.data = Buffer::allocate(request_.length);
      in_payload_ = true;
      return std::nullopt;
    }
  }
  in_payload_ = false;
  return std::optional(std::move(request_));
}

std::array<std::byte, kReplySize> encode_reply(std::uint64_t cookie, ErrorCode error) {
  std::array<std::byte, kReplySize> reply{};
  ByteWriter out{MutableBytes(reply)};
  out.be32(kSimpleReplyMagic);
  out.be32(wire_error(error));
  out.be64(cookie);
  return reply;
}

std::uint32_t wire_error(ErrorCode error) {
  const int number = errno_of(error);
  switch (number) {
    case 0:
    case EPERM:
    case EIO:
    case ENOMEM:
    case EINVAL:
    case ENOSPC:
    case EOVERFLOW:
    case EOPNOTSUPP:
    case ESHUTDOWN:
      return static_cast<std::uint32_t>(number);
    case EROFS:
      return EPERM;
    default:
      return EIO;
  }
}

}  // namespace openiser::initiator::nbd
