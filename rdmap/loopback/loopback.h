// Two queue pairs joined in memory: the provider for tests of everything above the seam. Same rules
// as on a wire (bounds, access rights, credits, invalidation, read limits), no bytes framed. step()
// moves what is flushed; until then nothing arrives, so a test decides when.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "rdmap/rcap.h"

namespace openiser::rdmap {

struct LoopbackSettings {
  std::uint32_t outbound_reads = 16;
  std::uint32_t inbound_reads = 16;
  bool remote_invalidate = true;
  bool zero_based_offsets = true;
};

class LoopbackPair {
 public:
  explicit LoopbackPair(LoopbackSettings first = {}, LoopbackSettings second = {});
  ~LoopbackPair();

  QueuePair& first();
  QueuePair& second();

  // Hands out both ends, for owners that outlive or die before each other; first() and second() are
  // gone then.
  std::unique_ptr<QueuePair> take_first();
  std::unique_ptr<QueuePair> take_second();

  // Reports established() to both clients, with the private data each end shows the other.
  void establish(Bytes first_private_data = {}, Bytes second_private_data = {});
  // Executes the next flushed operation, of either end in turn; false when there is none. A read is
  // two: its request, and the peer's response.
  bool step();
  // step() until nothing is left (at most `limit` times); returns how many steps were made.
  std::size_t run(std::size_t limit = 100000);

  // The nth operation from now (0 = the next) fails with `error` and ends the connection on both
  // ends.
  void fail_after(std::size_t n, ErrorCode error);

 private:
  class Wire;
  std::shared_ptr<Wire> wire_;
};

}  // namespace openiser::rdmap
