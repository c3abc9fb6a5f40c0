// How often this program has asked for heap memory. Only micro_bench replaces operator new.
#pragma once

#include <cstdint>

namespace openiser::bench {

// Calls of operator new on this thread so far.
std::uint64_t allocations();

}  // namespace openiser::bench
