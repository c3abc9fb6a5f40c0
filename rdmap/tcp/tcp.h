// TCP on an EventLoop: a listener, a connector, and the driver that moves bytes between a socket
// and a StreamEndpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/stream_endpoint.h"
#include "rdmap/tcp/event_loop.h"

namespace openiser::rdmap {

// A connected TCP socket, not yet driven. Closes it when destroyed.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int fd() const { return fd_; }
  int release();

  // "127.0.0.1:3260", "[::1]:3260".
  std::string local_address() const;
  std::string peer_address() const;
  // EMSS: TCP_MAXSEG of the connection as it is now; over the loopback what its MTU gives.
  std::uint32_t emss() const;

 private:
  int fd_ = -1;
};

// Listens on host:port (port 0: any free one). `accepted` gets each connection, non-blocking and
// tuned (TCP_NODELAY, congestion control reno or cubic, buffer sizes).
class Listener {
 public:
  static Result<std::unique_ptr<Listener>> open(EventLoop& loop, const std::string& host,
                                                std::uint16_t port,
                                                std::function<void(Socket)> accepted);
  ~Listener();
  // What it is bound to, with the real port.
  std::string address() const;
  std::uint16_t port() const;

 private:
  struct State;
  explicit Listener(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// Resolves and connects; `done` is called once on the loop, never from inside connect(). Destroying
// it cancels.
class Connect {
 public:
  Connect(EventLoop& loop, const std::string& host, std::uint16_t port, Duration timeout,
          std::function<void(Result<Socket>)> done);
  ~Connect();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Moves bytes: one gathered send of everything that is ready per turn (up to 1 MiB a call), one
// receive for as much as there is; bounded turns, so that other connections of the loop get theirs.
// Keeps the endpoint's deadline.
class TcpDriver {
 public:
  // `closed` is called once, after the endpoint has had its transport_closed(), when the socket is
  // closed.
  TcpDriver(EventLoop& loop, Socket socket, std::function<void(ErrorCode why)> closed);
  // Closes the socket at once; the endpoint hears nothing.
  ~TcpDriver();

  // Starts moving bytes for `endpoint`, which outlives the driver or is replaced. Replacing one by
  // another is the change of mode: no byte is lost, since the endpoints hand over what was read and
  // not sent among themselves. Not from inside the endpoint's calls; EventLoop::defer() does.
  void drive(StreamEndpoint& endpoint);
  // Closes the socket at once, whatever is still to be sent; the endpoint is told soon.
  void drop();
  const Socket& socket() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace openiser::rdmap
