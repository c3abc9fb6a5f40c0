// Copies between two block devices (a LUN, or a file dressed as one) with several chunks in flight.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "initiator/block_device.h"

namespace openiser::initiator::cli {

// A file, a pipe excluded, as a BlockDevice with blocks of one byte. Throws SessionError.
std::unique_ptr<BlockDevice> open_file(const std::string& path, bool writing,
                                       std::uint64_t size_if_created);

struct CopyPlan {
  std::uint64_t length = 0;  // bytes to copy, from offset 0 of both
  bool destination_zeroed =
      false;  // reads give zeroes where nothing is written (a new file): zeroes are skipped
  std::uint32_t chunk = 1u << 20;
  unsigned depth = 8;
  std::function<void(std::uint64_t)> progress;  // bytes done so far
};

struct CopyResult {
  std::uint64_t data = 0;   // bytes written
  std::uint64_t holes = 0;  // bytes of zeroes that were skipped or written by WRITE SAME
};

// Throws SessionError that names the side, the offset and the error. The last block of a
// destination with larger blocks is filled up with zeroes. Ends with a flush of the destination.
CopyResult copy_blocks(BlockDevice& source, BlockDevice& destination, const CopyPlan& plan);

// Reads both and compares; throws SessionError with the offset of the first difference.
void compare_blocks(BlockDevice& source, BlockDevice& destination, const CopyPlan& plan);

}  // namespace openiser::initiator::cli
