// Where the function that uses this was called from: a macro, as it has to be asked in that very
// function. Needs frame pointers, on x86-64 and AArch64.
#pragma once

#include "tests/bench/copies/tally.h"

// The return address lies right above the saved frame pointer.
#define OPENISER_CALLER()                                                 \
  openiser::bench::Caller {                                               \
    reinterpret_cast<std::uint64_t>(__builtin_return_address(0)),         \
        static_cast<const std::uint64_t*>(__builtin_frame_address(0)) + 1 \
  }
