// RDMA devices through rdma-core, on an EventLoop: a listener and a connector whose queue pairs are
// those of rdmap/rcap.h. Cards (iWARP, RoCE, InfiniBand) and the kernel's siw and rxe alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "rdmap/rcap.h"
#include "rdmap/tcp/event_loop.h"

namespace openiser::rdmap {

// False in a build without rdma-core: then everything here fails with errc::verbs_not_built.
bool verbs_built();
// For --version: "rdma-core 44.0", or "not in this build".
std::string verbs_version();
// True if an RDMA device of this machine carries the address (an empty host or a
// wildcard: any device at all).
bool verbs_device_carries(const std::string& host);

struct VerbsSettings {
  // RDMA Reads the peer may have outstanding towards us, and we towards it; the device's limits and
  // the peer's offer lower them.
  std::uint16_t inbound_reads = 128;
  std::uint16_t outbound_reads = 128;
  // Connector: at most 56 bytes, the least of what transports carry.
  std::vector<std::byte> private_data;
  // Memory regions that may be valid at one time, and the largest Send.
  std::uint32_t max_regions = 16384;
  std::uint32_t max_send = 16u << 20;
  // Connector: for the host's name, and for each of address and route resolution. Both: for the
  // connection set-up.
  Duration resolve_timeout = std::chrono::seconds(5);
  Duration set_up_timeout = std::chrono::seconds(10);
};

class VerbsQueuePair : public QueuePair {
 public:
  // "192.0.2.1:3260", "[2001:db8::1]:3260".
  virtual std::string local_address() const = 0;
  virtual std::string peer_address() const = 0;
};

// A connection that a peer asks for. Destroying one that was not accepted rejects it. May be moved
// to the thread of the loop that shall have the connection.
class VerbsRequest {
 public:
  struct State;

  VerbsRequest();
  VerbsRequest(VerbsRequest&& other) noexcept;
  VerbsRequest& operator=(VerbsRequest&& other) noexcept;
  ~VerbsRequest();

  std::string local_address() const;
  std::string peer_address() const;
  Bytes private_data() const;

  // On `loop`'s thread. The client is set and receives are posted before the caller returns to the
  // loop; only then is the peer told. `pool` is registered with the device, and outlives the queue
  // pair.
  Result<std::unique_ptr<VerbsQueuePair>> accept(EventLoop& loop, BufferPool& pool,
                                                 VerbsSettings settings);
  void reject(Bytes private_data);

 private:
  std::unique_ptr<State> state_;
};

// Survives the removal of the device that has its address: it listens again once one has.
class VerbsListener {
 public:
  // Port 0: any free one. `requested` is called on the loop for each request.
  static Result<std::unique_ptr<VerbsListener>> open(EventLoop& loop, const std::string& host,
                                                     std::uint16_t port,
                                                     std::function<void(VerbsRequest)> requested);
  ~VerbsListener();
  std::string address() const;
  std::uint16_t port() const;

 private:
  struct State;
  explicit VerbsListener(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// Resolves address and route; then `done` gets a queue pair whose connection is asked for once
// `done` has returned: it sets the client and posts the receives. Called once on the loop, never
// from inside the constructor. Destroying it cancels.
class VerbsConnect {
 public:
  VerbsConnect(EventLoop& loop, BufferPool& pool, const std::string& host, std::uint16_t port,
               VerbsSettings settings,
               std::function<void(Result<std::unique_ptr<VerbsQueuePair>>)> done);
  ~VerbsConnect();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace openiser::rdmap
