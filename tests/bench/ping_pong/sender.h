// Sends whole messages on one connection: everything that is owed goes into one sendmsg of up to
// 1 MiB, the CRC of each FPDU computed just before.
#pragma once

#include <sys/uio.h>

#include <array>
#include <vector>

#include "tests/bench/ping_pong/payload.h"

namespace openiser::bench {

class Sender {
 public:
  // `payload` outlives this.
  Sender(int socket, const Options& options, Payload& payload);

  void owe(std::uint64_t messages) { owed_ += messages; }
  // False when the socket takes no more for now. Messages for a peer that is gone are dropped.
  bool flush();

 private:
  void gather();
  void sent(std::size_t bytes);
  bool all_sent() const { return first_ == parts_.size(); }

  static constexpr std::size_t kMaxParts = 1024;  // IOV_MAX
  const int socket_;
  const bool spin_, crc_;
  const std::uint64_t limit_;  // bytes of a part
  Payload& payload_;
  std::uint64_t owed_ = 0;
  Bytes rest_;  // of the message that is begun
  std::vector<iovec> parts_;
  std::size_t first_ = 0;                      // of parts_ that is unsent
  std::array<std::uint32_t, kMaxParts> crcs_;  // that parts_ points to
  bool full_ = false;
};

}  // namespace openiser::bench
