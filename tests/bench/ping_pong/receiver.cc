#include "tests/bench/ping_pong/receiver.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace openiser::bench {
namespace {

constexpr std::size_t kOneReceive = 256 << 10;
constexpr std::size_t kInPlace = 16 << 10;  // what is left of a message that is worth a readv
constexpr std::size_t kCrc = sizeof(std::uint32_t);

}  // namespace

Receiver::Receiver(int socket, const Options& options, Payload& payload)
    : socket_(socket),
      size_(payload.incoming_size()),
      limit_(options.fpdu ? options.fpdu : size_),
      crc_(options.fpdu > 0),
      payload_(payload),
      staging_(Buffer::allocate(kOneReceive)),
      crcs_in_(size_ / limit_ + 1) {
  begin_message();
}

void Receiver::begin_message() {
  offset_ = 0;
  place_ = payload_.destination();
  begin_fpdu();
}

void Receiver::begin_fpdu() {
  fpdu_left_ = std::min(limit_, size_ - offset_);
  crc_got_ = 0;
  computed_ = {};
}

// True when it was the last of its message.
bool Receiver::end_fpdu() {
  const bool last = offset_ == size_;
  last ? begin_message() : begin_fpdu();
  return last;
}

std::size_t Receiver::take_payload(Bytes bytes, bool in_place) {
  bytes = bytes.first(std::min<std::size_t>(bytes.size(), fpdu_left_));
  if (crc_) computed_.update(bytes);
  if (!in_place && !place_.empty()) std::memcpy(&place_[offset_], bytes.data(), bytes.size());
  offset_ += bytes.size();
  fpdu_left_ -= bytes.size();
  return bytes.size();
}

std::size_t Receiver::take_crc(Bytes bytes) {
  const std::size_t n = std::min(bytes.size(), kCrc - crc_got_);
  std::memcpy(reinterpret_cast<std::byte*>(&crc_in_) + crc_got_, bytes.data(), n);
  crc_got_ += n;
  if (crc_got_ == kCrc && crc_in_ != computed_.value()) throw std::runtime_error("a CRC is wrong");
  return n;
}

unsigned Receiver::take(Bytes bytes, bool in_place) {
  unsigned messages = 0;
  while (!bytes.empty()) {
    const std::size_t n = fpdu_left_ > 0 ? take_payload(bytes, in_place) : take_crc(bytes);
    bytes = bytes.subspan(n);
    if (fpdu_left_ == 0 && (!crc_ || crc_got_ == kCrc)) messages += end_fpdu();
  }
  return messages;
}

bool Receiver::closed(ssize_t received) {
  if (received == 0) return true;
  if (received > 0 || errno == EAGAIN) return false;
  if (errno == ECONNRESET) return true;
  throw std::system_error(errno, std::generic_category(), "recv");
}

Receiver::Got Receiver::receive() {
  if (!place_.empty() && size_ - offset_ >= kInPlace) return receive_in_place();
  const ssize_t n = recv(socket_, staging_.data(), staging_.size(), MSG_DONTWAIT);
  if (n <= 0) return {0, closed(n)};
  return {take(staging_.bytes().first(static_cast<std::size_t>(n)), false), false};
}

// The rest of this message and its CRCs, as far as one receive goes.
void Receiver::offer_rest_of_message() {
  parts_.clear();
  std::uint64_t at = offset_, left = fpdu_left_;
  std::size_t crc_got = crc_got_, crcs = 0;
  for (std::size_t bytes = 0; bytes < kOneReceive; bytes += limit_) {
    if (left > 0) parts_.push_back({&place_[at], left});
    at += left;
    if (crc_) {
      auto* crc = reinterpret_cast<std::byte*>(&crcs_in_[crcs++]);
      parts_.push_back({crc + crc_got, kCrc - crc_got});
    }
    crc_got = 0;
    left = std::min(limit_, size_ - at);
    if (left == 0) return;
  }
}

Receiver::Got Receiver::receive_in_place() {
  offer_rest_of_message();
  const ssize_t n = readv(socket_, parts_.data(), static_cast<int>(parts_.size()));
  if (n <= 0) return {0, closed(n)};
  Got got;
  auto rest = static_cast<std::size_t>(n);
  for (const iovec& part : parts_) {
    const std::size_t size = std::min(rest, part.iov_len);
    got.messages += take({static_cast<const std::byte*>(part.iov_base), size}, true);
    rest -= size;
  }
  return got;
}

}  // namespace openiser::bench
