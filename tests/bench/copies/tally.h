// Counts of calls and bytes, one for each place in the program that makes them, kept in a file that
// others can look into at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace openiser::bench {

// The format of the file; tests/bench/harness/tally.py reads it. Counts only ever grow.
struct Site {
  std::atomic<std::uint64_t> key;  // 0: not in use; what follows is valid a moment later
  char what[24];
  std::uint64_t caller, outer;  // return addresses; outer is 0 where it was not looked for
  std::atomic<std::uint64_t> calls, bytes;
};
struct Tally {
  std::uint64_t load_address;        // of the program
  std::atomic<std::uint64_t> spilt;  // calls that found no site any more
  static constexpr std::size_t kSites = 1024;
  Site sites[kSites];
};

// Where a function that stands in for another one was called from (caller.h).
struct Caller {
  std::uint64_t address;
  const std::uint64_t* return_slot;  // where the stack has that address
};

// Maps a new file in the place of the one that the environment names in COPIES_FILE; without that,
// nothing is counted.
void open_tally();

// No allocation, no lock, no system call. `what` lives for ever.
void count(const char* what, std::uint64_t bytes, const Caller& caller);
// Tells the caller's caller as well, for what is called by way of helpers.
void count_with_outer(const char* what, std::uint64_t bytes, const Caller& caller);

}  // namespace openiser::bench
