// A load of one kind on libiscsi's asynchronous calls.
#pragma once

#include <cstdint>
#include <string>

#include "tests/bench/load/result.h"

namespace openiser::bench {

struct LoadOptions {
  std::string url;
  std::uint32_t block_size = 4096;
  unsigned depth = 32, sessions = 1;
  unsigned read_share = 100;  // percent; the rest writes
  bool random = false, header_digest = false;
  double seconds = 1, warm_up = 0.25;
  int core = -1;
};

// Throws std::runtime_error for whatever is wrong but single commands, which are counted as errors.
Result run(const LoadOptions& options);

}  // namespace openiser::bench
