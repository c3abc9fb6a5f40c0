// Receives whole messages on one connection and checks the CRC of each FPDU. Many small messages
// are taken by one recv and copied to where they belong; large ones are read straight to there.
#pragma once

#include <sys/uio.h>

#include <vector>

#include "base/crc32c.h"
#include "tests/bench/ping_pong/payload.h"

namespace openiser::bench {

class Receiver {
 public:
  // `payload` outlives this.
  Receiver(int socket, const Options& options, Payload& payload);

  struct Got {
    unsigned messages = 0;  // completed
    bool closed = false;
  };
  // One system call. Throws std::runtime_error on a wrong CRC.
  Got receive();

 private:
  Got receive_in_place();
  void offer_rest_of_message();
  static bool closed(ssize_t received);
  unsigned take(Bytes bytes, bool in_place);
  std::size_t take_payload(Bytes bytes, bool in_place);
  std::size_t take_crc(Bytes bytes);
  void begin_message();
  void begin_fpdu();
  bool end_fpdu();

  const int socket_;
  const std::uint64_t size_, limit_;  // bytes of a message, and of an FPDU
  const bool crc_;
  Payload& payload_;
  Buffer staging_;
  std::vector<iovec> parts_;            // of a readv
  std::vector<std::uint32_t> crcs_in_;  // where parts_ puts CRCs

  MutableBytes place_;           // of this message; empty: it is dropped
  std::uint64_t offset_ = 0;     // bytes of the message that have come
  std::uint64_t fpdu_left_ = 0;  // bytes of the FPDU that have not
  std::size_t crc_got_ = 0;      // bytes of the CRC behind it
  std::uint32_t crc_in_ = 0;
  Crc32c computed_;
};

}  // namespace openiser::bench
