// Bounds the payload that a session has under way in one direction. What goes beyond what keeps the
// wire busy only waits, in memory that has left the caches by the time it is used.
#pragma once

#include <cstddef>

#include "base/assert.h"

namespace openiser::iscsi {

class TransferWindow {
 public:
  // `size` in bytes.
  explicit TransferWindow(std::size_t size) : size_(size) {}

  // Another transfer may begin, whatever its size.
  bool is_open() const { return under_way_ <= size_; }
  void begin(std::size_t bytes) { under_way_ += bytes; }
  void end(std::size_t bytes) {
    ISER_ASSERT(bytes <= under_way_);
    under_way_ -= bytes;
  }

 private:
  std::size_t size_;
  std::size_t under_way_ = 0;
};

}  // namespace openiser::iscsi
