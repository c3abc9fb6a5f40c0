// bench's load: which blocks of a LUN are read or written, and what is in them.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "initiator/cli/commands.h"
#include "initiator/lun.h"

namespace openiser::initiator::cli {

struct Load {
  bool random = false, reads = false, writes = false, verify = false;
  std::uint32_t block_size = 0, depth = 0, mix = 0;  // mix: per cent of reads, where it does both
  std::uint64_t blocks = 0;                          // of block_size
};

// Throws UsageError for what does not fit the LUN, or each other.
Load load_of(const BenchArguments& arguments, const BlockDeviceProperties& lun);

// A pattern by which every 512 bytes tell where they belong.
void stamp(MutableBytes data, std::uint64_t offset);
bool stamped(Bytes data, std::uint64_t offset);

// Writes the pattern to all the blocks, for --rate-verify to read back. Throws SessionError.
void fill(Lun& lun, const Load& load);

}  // namespace openiser::initiator::cli
