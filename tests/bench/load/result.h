// What a load achieved, printed as `iser bench --json` prints it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/latency_histogram.h"
#include "base/processor.h"

namespace openiser::bench {

using Clock = std::chrono::steady_clock;

// CPU seconds of another process, all its threads, to the nanosecond.
double cpu_time_of(int pid);

// Keeps the calling thread, and those it starts, on one core. Throws boost::system::system_error.
void pin_to_core(int core);

struct Result {
  LatencyHistogram latencies;
  std::uint64_t bytes_per_io = 0, errors = 0;
  double seconds = 0;
  ProcessorTime cpu;
  double peer_cpu = -1;  // negative: not known
};

// One line of JSON.
std::string to_json(const Result& result);

}  // namespace openiser::bench
