// One side's connections and the turns over them, by epoll or by spinning.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "base/descriptor.h"
#include "tests/bench/ping_pong/receiver.h"
#include "tests/bench/ping_pong/sender.h"

namespace openiser::bench {

struct Connection {
  Connection(Descriptor s, const Options& options, Payload& payload)
      : socket(std::move(s)),
        sender(socket.get(), options, payload),
        receiver(socket.get(), options, payload) {}

  Descriptor socket;
  Sender sender;
  Receiver receiver;
  bool full = false;               // waits until the socket takes more
  std::deque<std::int64_t> begun;  // client: when each request in flight was sent, in ns
};

class Connections {
 public:
  Connections(const Options& options, Side side);

  // Takes a connected socket. Throws std::system_error.
  void add(Descriptor socket);
  std::deque<Connection>& all() { return connections_; }

  // Receives and sends whatever is ready, and sleeps until something is, unless it spins. Each
  // message that came is answered by one. False when the peer has closed.
  using OnMessages = std::function<void(Connection&, unsigned)>;
  bool turn(const OnMessages& on_messages);
  // Sends what is owed on one, as far as its socket takes it.
  void flush(Connection& connection);

 private:
  struct Ready {
    Connection* connection;
    bool readable;
  };
  const std::vector<Ready>& wait();

  const Options& options_;
  Payload payload_;
  Descriptor epoll_;
  std::deque<Connection> connections_;  // never moved: epoll points to them
  std::vector<Ready> ready_;
};

}  // namespace openiser::bench
