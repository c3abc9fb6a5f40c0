// The memory that messages are sent from and placed in, on one side. Small messages come from one
// buffer that stays in the cache and are dropped; the larger ones of a pair lie in the LUN's
// mapping (server) or go to a place for each that can be in flight (client).
#pragma once

#include <memory>
#include <random>

#include "base/buffer.h"
#include "base/bytes.h"
#include "tests/bench/ping_pong/options.h"

namespace openiser::bench {

class Payload {
 public:
  // Maps the LUN here: a child does not inherit the page tables of a shared mapping, so the server
  // does this after the fork. Throws std::system_error.
  Payload(const Options& options, Side side);
  ~Payload();
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  std::uint64_t outgoing_size() const { return outgoing_; }
  std::uint64_t incoming_size() const { return incoming_; }

  // The next message to send. Valid as long as this.
  Bytes source();
  // Where the next message to come belongs; empty if nowhere. Valid as long as this.
  MutableBytes destination();

 private:
  void map_lun(const Options& options);
  MutableBytes next_place(std::uint64_t size);

  const std::uint64_t outgoing_, incoming_;
  const bool sequential_;
  Buffer hot_, kept_;
  MutableBytes lun_;
  MutableBytes places_;  // lun_ or kept_; empty: nothing is placed
  std::uint64_t next_ = 0;
  std::minstd_rand random_;
};

}  // namespace openiser::bench
