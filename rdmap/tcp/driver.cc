#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <boost/asio/defer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "base/last_error.h"
#include "rdmap/tcp/tcp.h"

namespace openiser::rdmap {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kPieces = 256;
constexpr std::size_t kBytesPerSend = std::size_t{1} << 20;
// What one turn may move in each direction before others get theirs.
constexpr std::size_t kBytesPerTurn = std::size_t{2} << 20;
constexpr int kCallsPerTurn = 16;
// How long a graceful end waits for a peer that takes nothing, or does not end its side.
constexpr Duration kLinger = std::chrono::seconds(3);

// At most `limit` bytes of `pieces`; returns how many.
template <class Piece>
std::size_t fill(std::array<iovec, kPieces>& vectors, std::size_t& count,
                 std::span<const Piece> pieces, std::size_t limit) {
  std::size_t total = 0;
  count = 0;
  for (const Piece& piece : pieces) {
    const std::size_t size = std::min(piece.size(), limit - total);
    if (size == 0) continue;
    vectors[count++] = {const_cast<std::byte*>(piece.data()), size};
    total += size;
  }
  return total;
}

msghdr message_of(std::array<iovec, kPieces>& vectors, std::size_t count) {
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  return message;
}

}  // namespace

// All work is done in turns: one is run when the socket is ready, when the endpoint has asked for
// attention (once for all that happens before it runs), and when the last one had to stop early. A
// turn receives and sends what came of it, call by call, so that the peer has work while we go on;
// then it sees what to wait for.
//
// The handlers that are under way own the State too, so the driver may be destroyed from anywhere,
// also from inside a turn; after each call to the endpoint a turn looks whether it was.
struct TcpDriver::State final : StreamHost, std::enable_shared_from_this<TcpDriver::State> {
  State(EventLoop& loop, Socket connected, std::function<void(ErrorCode)> closed_now)
      : loop(loop),
        context(*static_cast<asio::io_context*>(loop.io_context())),
        socket(std::move(connected)),
        descriptor(context, socket.fd()),
        timer(loop, [this] { timer_expired(); }),
        closed(std::move(closed_now)) {}
  ~State() { close(); }

  void attention() override {
    if (in_turn) {
      asked_in_turn = true;
    } else {
      post_turn();
    }
  }

  void drive(StreamEndpoint& next) {
    ISER_ASSERT(!in_turn);
    if (endpoint) endpoint->attach(nullptr);
    endpoint = &next;
    endpoint->attach(this);
    post_turn();
  }

  void drop() {
    end({});
    post_turn();
  }

  void destroy() {
    if (endpoint) std::exchange(endpoint, nullptr)->attach(nullptr);
    destroyed = true;
    ended = true;
    close();
  }

  void post_turn() {
    if (turn_posted || destroyed || !endpoint) return;
    turn_posted = true;
    asio::defer(context, [self = shared_from_this()] {
      self->turn_posted = false;
      self->turn();
    });
  }

  void turn() {
    if (!endpoint) return;
    if (ended) return report_end();  // driven only after the end
    const auto self = shared_from_this();
    in_turn = true;
    bool more_input = false, more_output = false;
    std::size_t bytes = 0;
    for (int calls = 0; calls != kCallsPerTurn && bytes < kBytesPerTurn; ++calls) {
      if (readable) bytes += receive();
      more_input = readable && !blocked && !ended;
      asked_in_turn = false;
      more_output = !ended && send();
      if (!more_input || more_output) break;
    }
    in_turn = false;
    if (ended) {
      if (!destroyed) report_end();
      return;
    }
    // Sending gives the endpoint memory to receive into.
    const bool unblocked = blocked && asked_in_turn;
    if (!settle_close_wish()) return report_end();
    if (more_input || more_output || unblocked) post_turn();
    wait();
  }

  // --- input ---

  // Makes one call; returns the bytes that the endpoint got.
  std::size_t receive() {
    if (wish != CloseWish::none) return discard(), 0;
    std::array<MutableBytes, kPieces> places;
    const std::size_t offered = endpoint->receive_space(places);
    if (destroyed) return 0;
    std::array<iovec, kPieces> vectors;
    std::size_t count = 0;
    const std::size_t room =
        fill<MutableBytes>(vectors, count, std::span(places).first(offered), kBytesPerTurn);
    blocked = room == 0;
    if (blocked) return 0;
    msghdr message = message_of(vectors, count);
    const ssize_t n = recvmsg(socket.fd(), &message, MSG_DONTWAIT);
    if (n <= 0) return no_input(n), 0;
    const auto got = static_cast<std::size_t>(n);
    // Less than there was room for: the socket is empty, which the wait looks at again.
    readable = got == room;
    endpoint->received(got, loop.now());
    return got;
  }

  void no_input(ssize_t n) {
    if (n < 0 && errno == EINTR) return;
    readable = false;
    if (n == 0) return peer_ended();
    if (errno != EAGAIN) end(last_error());
  }

  void peer_ended() {
    peer_has_ended = true;
    if (wish != CloseWish::none) return;  // what is queued may still be taken
    // The answers to what came before the end.
    send();
    end({});
  }

  // The endpoint wants to close: what the peer still says is not for it. Read all the same, so that
  // a peer blocked in sending gets to read, and so that our close is no reset that would destroy
  // what is on its way to the peer.
  void discard() {
    const ssize_t n =
        recv(socket.fd(), nullptr, kBytesPerTurn / kCallsPerTurn, MSG_DONTWAIT | MSG_TRUNC);
    if (n <= 0) no_input(n);
  }

  // --- output ---

  // True when the turn's share is used up and the socket takes more.
  bool send() {
    std::size_t bytes = 0;
    for (int calls = 0; writable && !ended && !shut_down; ++calls) {
      if (calls == kCallsPerTurn || bytes >= kBytesPerTurn) return true;
      const std::size_t n = send_once();
      if (n == 0) return false;
      bytes += n;
    }
    return false;
  }

  std::size_t send_once() {
    std::array<Bytes, kPieces> pieces;
    const std::size_t given = endpoint->gather(pieces);
    if (destroyed) return 0;
    std::array<iovec, kPieces> vectors;
    std::size_t count = 0;
    const std::size_t ready =
        fill<Bytes>(vectors, count, std::span(pieces).first(given), kBytesPerSend);
    drained = ready == 0;
    if (drained) return 0;
    const msghdr message = message_of(vectors, count);
    const ssize_t n = sendmsg(socket.fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) return no_output(), 0;
    const auto taken = static_cast<std::size_t>(n);
    writable = taken == ready;
    const Time now = loop.now();
    if (wish != CloseWish::none) linger_until = now + kLinger;
    endpoint->sent(taken, now);
    return taken;
  }

  void no_output() {
    if (errno == EAGAIN || errno == EINTR) {
      writable = false;
    } else {
      end(last_error());
    }
  }

  // --- the end ---

  // False when the connection has ended.
  bool settle_close_wish() {
    const CloseWish now_wished = endpoint->close_wish();
    if (now_wished == CloseWish::at_once) return end({}), false;
    if (now_wished == wish || wish == CloseWish::after_sending) return settle_linger();
    wish = now_wished;
    linger_until = loop.now() + kLinger;
    // Input that the endpoint had no room for is now for discard().
    if (std::exchange(blocked, false)) post_turn();
    return settle_linger();
  }

  bool settle_linger() {
    if (wish == CloseWish::none) return true;
    if (drained && !shut_down) {
      shut_down = true;
      linger_until = loop.now() + kLinger;
      shutdown(socket.fd(), SHUT_WR);
    }
    if (shut_down && peer_has_ended) return end({}), false;
    return true;
  }

  void timer_expired() {
    const auto self = shared_from_this();
    if (wish != CloseWish::none) {
      end(shut_down ? ErrorCode() : ErrorCode(ETIMEDOUT, boost::system::system_category()));
      return report_end();
    }
    in_turn = true;
    endpoint->expired(loop.now());
    in_turn = false;
    if (!destroyed) turn();
  }

  void end(ErrorCode why) {
    if (ended) return;
    ended = true;
    // Once all is sent and shut down, a peer that resets is as good as one that ends.
    end_reason = shut_down ? ErrorCode() : why;
    close();
  }

  // Tells the endpoint, then the owner; either may destroy the driver.
  void report_end() {
    const auto self = shared_from_this();
    in_turn = true;
    StreamEndpoint* told = std::exchange(endpoint, nullptr);
    told->transport_closed(end_reason, loop.now());
    told->attach(nullptr);
    in_turn = false;
    if (!destroyed && closed) std::exchange(closed, nullptr)(end_reason);
  }

  void close() {
    timer.set({});
    if (descriptor.is_open()) descriptor.release();
    socket = Socket();
  }

  // --- waiting ---

  void wait() {
    if (!readable && !read_wait && !peer_has_ended) {
      read_wait = true;
      descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                            [self = shared_from_this()](const ErrorCode&) {
                              self->read_wait = false;
                              self->readable = true;
                              self->turn();
                            });
    }
    if (!writable && !write_wait) {
      write_wait = true;
      descriptor.async_wait(asio::posix::descriptor_base::wait_write,
                            [self = shared_from_this()](const ErrorCode&) {
                              self->write_wait = false;
                              self->writable = true;
                              self->turn();
                            });
    }
    timer.set(wish == CloseWish::none ? endpoint->deadline() : std::optional(linger_until));
  }

  EventLoop& loop;
  asio::io_context& context;
  Socket socket;
  asio::posix::stream_descriptor descriptor;
  Timer timer;
  std::function<void(ErrorCode)> closed;
  StreamEndpoint* endpoint = nullptr;

  // Whether a call on the socket may find something to do; else there is a wait, or the peer has
  // ended.
  bool readable = true;
  bool writable = true;
  bool read_wait = false;
  bool write_wait = false;
  // The endpoint had no room at its last chance: nothing is read until it asks for attention.
  bool blocked = false;
  // The endpoint had nothing to send at its last chance.
  bool drained = false;

  bool turn_posted = false;
  bool in_turn = false;
  bool asked_in_turn = false;

  CloseWish wish = CloseWish::none;
  Time linger_until;
  bool shut_down = false;
  bool peer_has_ended = false;

  // The socket is closed; why.
  bool ended = false;
  ErrorCode end_reason;
  bool destroyed = false;
};

TcpDriver::TcpDriver(EventLoop& loop, Socket socket, std::function<void(ErrorCode why)> closed)
    : state_(std::make_shared<State>(loop, std::move(socket), std::move(closed))) {}

TcpDriver::~TcpDriver() {
  state_->destroy();
}

void TcpDriver::drive(StreamEndpoint& endpoint) {
  state_->drive(endpoint);
}

void TcpDriver::drop() {
  state_->drop();
}

const Socket& TcpDriver::socket() const {
  return state_->socket;
}

}  // namespace openiser::rdmap
