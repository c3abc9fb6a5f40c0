// Looks after a queue pair that moves its own bytes, as a card's does, and what lives on it: what
// TcpDriver is to a byte stream.
#pragma once

#include <functional>
#include <utility>

#include "base/stream_endpoint.h"
#include "rdmap/rcap.h"
#include "rdmap/tcp/event_loop.h"

namespace openiser::rdmap {

// `Client`: a QueuePairClient with deadlines of its own: attach(StreamHost*), deadline() and
// expired(Time), as a StreamEndpoint has them.
template <class Client>
class QueuePairDriver final : QueuePairClient, StreamHost {
 public:
  // Takes the place of `client` as the queue pair's, before anything happens on it. `closed` is
  // called once, after the client has had its disconnected(). Both outlive the driver.
  QueuePairDriver(EventLoop& loop, QueuePair& queue_pair, Client& client,
                  std::function<void(ErrorCode why)> closed)
      : loop_(loop),
        queue_pair_(queue_pair),
        client_(client),
        closed_(std::move(closed)),
        timer_(loop, [this] { timer_expired(); }) {
    queue_pair_.set_client(this);
    client_.attach(this);
    attention();
  }
  ~QueuePairDriver() {
    client_.attach(nullptr);
    queue_pair_.set_client(nullptr);
  }
  QueuePairDriver(const QueuePairDriver&) = delete;
  QueuePairDriver& operator=(const QueuePairDriver&) = delete;

 private:
  void established(const Established& how) override {
    client_.established(how);
    attention();
  }
  void completions_ready() override { client_.completions_ready(); }
  void disconnected(ErrorCode why) override {
    client_.disconnected(why);
    attention();
    closed_(why);
  }

  void attention() override { timer_.set(client_.deadline()); }
  void timer_expired() {
    const auto deadline = client_.deadline();
    const Time now = loop_.now();
    if (deadline && *deadline <= now) client_.expired(now);
    attention();
  }

  EventLoop& loop_;
  QueuePair& queue_pair_;
  Client& client_;
  const std::function<void(ErrorCode)> closed_;
  Timer timer_;
};

}  // namespace openiser::rdmap
