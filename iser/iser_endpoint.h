// A queue pair over TCP together with the iSER connection that owns it, as the one endpoint a
// driver sees: the connection has deadlines of its own (the Hello exchange), which the driver keeps
// along with the queue pair's. Both outlive it.
#pragma once

#include <algorithm>

#include "base/stream_endpoint.h"
#include "iser/iser_datamover.h"

namespace openiser::iser {

class IserEndpoint final : public StreamEndpoint {
 public:
  IserEndpoint(StreamEndpoint& stream, IserConnection& connection)
      : stream_(stream), connection_(connection) {}

  void attach(StreamHost* host) override { stream_.attach(host); }
  std::size_t receive_space(std::span<MutableBytes> into) override {
    return stream_.receive_space(into);
  }
  void received(std::size_t n, Time now) override { stream_.received(n, now); }
  std::size_t gather(std::span<Bytes> out) override { return stream_.gather(out); }
  void sent(std::size_t n, Time now) override { stream_.sent(n, now); }
  void transport_closed(ErrorCode why, Time now) override { stream_.transport_closed(why, now); }
  CloseWish close_wish() const override { return stream_.close_wish(); }

  std::optional<Time> deadline() const override {
    const auto ours = stream_.deadline();
    const auto theirs = connection_.deadline();
    if (!ours || !theirs) return ours ? ours : theirs;
    return std::min(*ours, *theirs);
  }
  void expired(Time now) override {
    if (is_due(stream_.deadline(), now)) stream_.expired(now);
    if (is_due(connection_.deadline(), now)) connection_.expired(now);
  }

 private:
  static bool is_due(std::optional<Time> deadline, Time now) {
    return deadline && *deadline <= now;
  }

  StreamEndpoint& stream_;
  IserConnection& connection_;
};

}  // namespace openiser::iser
