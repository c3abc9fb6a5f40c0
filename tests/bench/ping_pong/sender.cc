#include "tests/bench/ping_pong/sender.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/crc32c.h"

namespace openiser::bench {
namespace {

constexpr std::size_t kBatch = 1 << 20;

iovec part_of(Bytes bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

// Cheaper than a sendmsg that takes the socket's lock to fail.
bool takes_more(int socket) {
  pollfd p{socket, POLLOUT, 0};
  return poll(&p, 1, 0) > 0;
}

}  // namespace

Sender::Sender(int socket, const Options& options, Payload& payload)
    : socket_(socket),
      spin_(options.spin),
      crc_(options.fpdu > 0),
      limit_(crc_ ? options.fpdu : kBatch),
      payload_(payload) {
  parts_.reserve(kMaxParts);
}

void Sender::gather() {
  parts_.clear();
  first_ = 0;
  for (std::size_t bytes = 0; bytes < kBatch && parts_.size() + 2 <= kMaxParts;) {
    if (rest_.empty()) {
      if (owed_ == 0) return;
      --owed_;
      rest_ = payload_.source();
    }
    const Bytes fpdu = rest_.first(std::min<std::size_t>(rest_.size(), limit_));
    rest_ = rest_.subspan(fpdu.size());
    bytes += fpdu.size();
    parts_.push_back(part_of(fpdu));
    if (!crc_) continue;
    std::uint32_t& crc = crcs_[parts_.size()];
    crc = crc32c(fpdu);
    parts_.push_back({&crc, sizeof crc});
  }
}

void Sender::sent(std::size_t bytes) {
  while (bytes > 0) {
    iovec& part = parts_[first_];
    const std::size_t n = std::min(bytes, part.iov_len);
    bytes -= n;
    part.iov_base = static_cast<std::byte*>(part.iov_base) + n;
    part.iov_len -= n;
    if (part.iov_len == 0) ++first_;
  }
}

bool Sender::flush() {
  for (;;) {
    if (all_sent()) gather();
    if (all_sent()) {
      full_ = false;
      return true;
    }
    if (spin_ && full_ && !takes_more(socket_)) return false;
    msghdr message{};
    message.msg_iov = &parts_[first_];
    message.msg_iovlen = parts_.size() - first_;
    const ssize_t n = sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      sent(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      full_ = true;
      return false;
    } else if (errno == EPIPE || errno == ECONNRESET) {
      parts_.clear(), rest_ = {}, first_ = owed_ = 0;
      return true;
    } else {
      throw std::system_error(errno, std::generic_category(), "sendmsg");
    }
  }
}

}  // namespace openiser::bench
