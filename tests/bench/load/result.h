// What the programs that measure share: their result, printed as `iser bench --json` prints its.
#pragma once

#include <chrono>
#include <string>

#include "initiator/cli/load_result.h"

namespace openiser::bench {

using Clock = std::chrono::steady_clock;

// CPU seconds of another process, all its threads, to the nanosecond.
double cpu_time_of(int pid);

// Keeps the calling thread, and those it starts, on one core. Throws boost::system::system_error.
void pin_to_core(int core);

struct Result : initiator::cli::LoadResult {
  double peer_cpu = -1;  // negative: not known
};

// One line of JSON.
std::string to_json(const Result& result);

}  // namespace openiser::bench
