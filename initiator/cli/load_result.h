// What a load achieved, as `iser bench --json` prints it; the programs in tests/bench print the
// same.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/latency_histogram.h"
#include "base/processor.h"

namespace openiser::initiator::cli {

struct LoadResult {
  LatencyHistogram latencies;  // of the I/Os without errors
  std::uint64_t bytes_per_io = 0, errors = 0;
  std::string first_error;  // in words; empty: none, or not known
  double seconds = 0;
  ProcessorTime cpu;  // of this process

  std::uint64_t bytes() const { return latencies.count() * bytes_per_io; }
  double per_second(std::uint64_t what) const {
    return seconds > 0 ? static_cast<double>(what) / seconds : 0;
  }
};

// More fields, behind those that every load has.
using LoadFields =
    std::vector<std::pair<std::string, std::variant<std::uint64_t, double, std::string>>>;

// One object. With an indent below 0 it is one line, else a line for each field.
std::string to_json(const LoadResult& result, const LoadFields& more, int indent = -1);

}  // namespace openiser::initiator::cli
