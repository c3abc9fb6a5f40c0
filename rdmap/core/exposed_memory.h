// The memory that the peer may reach, and the promise that goes with its end: once a region is
// revoked, nothing of ours reads or writes it, not even for Read Responses already framed.
#pragma once

#include "base/output_queue.h"
#include "rdmap/core/stag_table.h"

namespace openiser::rdmap {

class ExposedMemory {
 public:
  ExposedMemory(std::uint32_t max_regions, bool zero_based, OutputQueue& output)
      : stags_(max_regions, zero_based), output_(output) {}

  StagTable& stags() { return stags_; }

  // The output now ends with bytes that lie in a region.
  void referenced() { references_end_ = output_.end(); }

  // Ends `stag`; gives the memory that nobody touches any more, or an error if there was none.
  Result<MutableBytes> revoke(Stag stag) {
    const auto memory = stags_.remove(stag);
    if (memory && output_.sent_total() < references_end_) output_.detach(*memory);
    return memory;
  }

 private:
  StagTable stags_;
  OutputQueue& output_;
  // Where in the output the last reference into a region ends.
  std::uint64_t references_end_ = 0;
};

}  // namespace openiser::rdmap
