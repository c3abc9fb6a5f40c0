// The caller's caller, for less than unwinding the stack costs.
#pragma once

#include "tests/bench/copies/tally.h"

namespace openiser::bench {

// A place in a function has its frame always as deep, so the stack is unwound once for each caller,
// and from then on one word is read. (Not so in functions that take memory off the stack, of which
// none is asked about here.) 0: unknown.
std::uint64_t outer_return_address(const Caller& caller);

}  // namespace openiser::bench
