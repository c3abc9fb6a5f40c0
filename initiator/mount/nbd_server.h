// Serves a BlockDevice over a stream socket that is past NBD's negotiation: many requests at once,
// each answered when it is done.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/descriptor.h"
#include "initiator/mount/byte_access.h"
#include "initiator/mount/nbd_protocol.h"

namespace openiser::initiator::nbd {

class Server {
 public:
  // `read_only`: whatever the device says.
  Server(BlockDevice& device, bool read_only, Descriptor socket);

  const BlockDeviceProperties& properties() const { return access_.properties(); }
  // Until the client disconnects or closes, and all that it has asked for is answered. Ends the
  // connection.
  void run();
  // Takes no more requests: run() comes to its end. May be called by a signal handler.
  void stop() const;

 private:
  // False at the end of the stream.
  bool receive(std::optional<Request>& request);
  void begin(Request request);
  void read(const Request& request);
  void write(Request request);
  void answer(std::uint64_t cookie, ErrorCode error, Bytes data = {});
  BlockDevice::Done answers(const Request& request);
  // The same, and what was done before is on stable storage then, if the client wants that.
  BlockDevice::Done answers_safely(const Request& request);
  ErrorCode refusal(const Request& request) const;

  ByteAccess access_;
  const Descriptor socket_;
  RequestReader reader_;
  std::mutex sending_;
  std::mutex counting_;
  std::condition_variable idle_;
  std::size_t open_ = 0;
};

}  // namespace openiser::initiator::nbd
