// Receive credit (RFC 7145 section 8.1): how many receives a connection keeps posted and how large
// they are. RCaP has no flow control for Sends, so there must be one for every PDU the peer may
// send. A receive that has come in is replaced at once from the pool, whether or not the session
// still holds the PDU's data: credit never depends on it.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "iscsi/login/parameters.h"
#include "iser/iser_datamover.h"
#include "rdmap/rcap.h"

namespace openiser::iser {

inline constexpr std::uint32_t kLoginDataSegment = 8192;  // RFC 7143 section 6.3

struct ReceivePlan {
  std::size_t size = 0;     // of one receive
  std::uint32_t count = 0;  // kept posted at least
  std::uint32_t spare = 0;  // of these, for what is no answer
};
// For full feature phase. At most 4 MiB of receives are for unsolicited Data-Outs: credit comes
// back with every turn, so that is more than a turn of a software provider brings.
ReceivePlan receive_plan(const Settings& settings, const iscsi::Parameters& parameters);
// Large enough for any PDU with a data segment of `length` bytes, whatever its AHS.
std::size_t receive_size(Dialect dialect, std::size_t length);

class ReceivePool {
 public:
  ReceivePool(rdmap::QueuePair& queue_pair, BufferPool& pool)
      : queue_pair_(queue_pair), pool_(pool) {}

  // Receives posted from now on have `size` bytes.
  void set_size(std::size_t size) { size_ = size; }
  // Keeps at least this many posted; what is posted already counts, of whatever size.
  void provide(std::uint32_t count);

  // A receive has completed.
  void taken() { --posted_; }
  // Posts what is missing; false when the pool gave nothing: try again later.
  bool replenish();
  // The same, from a buffer whose message needs no keeping, if that is large enough.
  void recycle(Buffer buffer);

  std::uint32_t posted() const { return posted_; }

 private:
  void post(Buffer buffer);

  rdmap::QueuePair& queue_pair_;
  BufferPool& pool_;
  std::size_t size_ = 0;
  std::uint32_t wanted_ = 0;
  std::uint32_t posted_ = 0;
};

}  // namespace openiser::iser
