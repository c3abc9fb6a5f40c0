#include "initiator/mount/nbd_server.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <memory>

#include "base/log.h"

namespace openiser::initiator::nbd {
namespace {

namespace errc = boost::system::errc;

bool changes(Command command) {
  return command == Command::write || command == Command::trim || command == Command::write_zeroes;
}

// False if the client is gone.
bool send_all(int socket, Bytes header, Bytes data) {
  std::array<iovec, 2> parts{{{const_cast<std::byte*>(header.data()), header.size()},
                              {const_cast<std::byte*>(data.data()), data.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  while (message.msg_iovlen > 0) {
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    auto n = static_cast<std::size_t>(sent);
    while (message.msg_iovlen > 0 && n >= message.msg_iov->iov_len) {
      n -= message.msg_iov->iov_len;
      ++message.msg_iov, --message.msg_iovlen;
    }
    if (message.msg_iovlen == 0) break;
    message.msg_iov->iov_base = static_cast<std::byte*>(message.msg_iov->iov_base) + n;
    message.msg_iov->iov_len -= n;
  }
  return true;
}

}  // namespace

Server::Server(BlockDevice& device, bool read_only, Descriptor socket)
    : access_(device, read_only), socket_(std::move(socket)) {}

void Server::run() {
  std::optional<Request> request;
  while (receive(request)) {
    if (!request) continue;
    if (request->command == Command::disconnect) break;
    {
      const std::lock_guard lock(counting_);
      ++open_;
    }
    begin(std::move(*request));
  }
  std::unique_lock lock(counting_);
  idle_.wait(lock, [this] { return open_ == 0; });
  shutdown(socket_.get(), SHUT_RDWR);
}

void Server::stop() const {
  shutdown(socket_.get(), SHUT_RD);
}

bool Server::receive(std::optional<Request>& request) {
  request.reset();
  const MutableBytes room = reader_.room();
  const ssize_t n = recv(socket_.get(), room.data(), room.size(), 0);
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  auto result = reader_.received(static_cast<std::size_t>(n));
  if (!result) {
    log::error("nbd", "what the kernel sent is no NBD request; the device is given up");
    return false;
  }
  request = std::move(*result);
  return true;
}

ErrorCode Server::refusal(const Request& request) const {
  if ((request.flags & ~(kForceUnitAccess | kNoHole)) != 0)
    return make_error_code(errc::invalid_argument);
  if (changes(request.command) && properties().read_only)
    return make_error_code(errc::operation_not_permitted);
  const std::uint64_t size = properties().size();
  const bool inside = request.offset <= size && request.length <= size - request.offset;
  if (inside || request.command == Command::flush) return {};
  const bool writes = request.command == Command::write || request.command == Command::write_zeroes;
  return make_error_code(writes ? errc::no_space_on_device : errc::invalid_argument);
}

void Server::begin(Request request) {
  if (const ErrorCode error = refusal(request)) return answer(request.cookie, error);
  switch (request.command) {
    case Command::read:
      return read(request);
    case Command::write:
      return write(std::move(request));
    case Command::flush:
      return access_.flush(answers(request));
    case Command::trim:
      return access_.unmap(request.offset, request.length, answers_safely(request));
    case Command::write_zeroes:
      return access_.write_zeroes(request.offset, request.length, (request.flags & kNoHole) == 0,
                                  answers_safely(request));
    case Command::disconnect:
      break;  // does not come here
  }
  answer(request.cookie, make_error_code(errc::invalid_argument));
}

void Server::read(const Request& request) {
  const auto data = std::make_shared<Buffer>(Buffer::allocate(request.length));
  const MutableBytes into = data->bytes();
  access_.read(request.offset, into, [this, cookie = request.cookie, data](ErrorCode error) {
    answer(cookie, error, error ? Bytes() : data->bytes());
  });
}

void Server::write(Request request) {
  const bool force = (request.flags & kForceUnitAccess) != 0 && properties().force_unit_access;
  const auto done = force ? answers(request) : answers_safely(request);
  const auto data = std::make_shared<Buffer>(std::move(request.data));
  const Bytes bytes = data->bytes();
  access_.write(request.offset, bytes, force, [done, data](ErrorCode error) { done(error); });
}

void Server::answer(std::uint64_t cookie, ErrorCode error, Bytes data) {
  {
    // A client that is gone needs no answer; that it is gone, run() sees.
    const std::lock_guard lock(sending_);
    send_all(socket_.get(), encode_reply(cookie, error), data);
  }
  // Told under the lock: run()'s caller may destroy us as soon as it is let go.
  const std::lock_guard lock(counting_);
  if (--open_ == 0) idle_.notify_one();
}

BlockDevice::Done Server::answers(const Request& request) {
  return [this, cookie = request.cookie](ErrorCode error) { answer(cookie, error); };
}

BlockDevice::Done Server::answers_safely(const Request& request) {
  if ((request.flags & kForceUnitAccess) == 0) return answers(request);
  return [this, done = answers(request)](ErrorCode error) {
    if (error) return done(error);
    access_.flush(done);
  };
}

}  // namespace openiser::initiator::nbd
