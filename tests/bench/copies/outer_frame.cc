#include "tests/bench/copies/outer_frame.h"

#include <unwind.h>

namespace openiser::bench {
namespace {

constexpr std::int64_t kUnknown = -1;

// Of one caller: how far above its own return address that of the function it is in lies.
struct Depth {
  std::atomic<std::uint64_t> caller;
  std::atomic<std::int64_t> words;  // 0: being found out
};
constexpr std::size_t kDepths = 512;
Depth depths[kDepths];

struct Search {
  const Caller& caller;
  bool at_caller = false;
  std::int64_t words = kUnknown;
};

// Called for each frame, from the innermost. A frame's canonical address (CFA), as libgcc gives it,
// is that of the frame it called: right above the return address into it.
_Unwind_Reason_Code visit(_Unwind_Context* frame, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  const std::uint64_t address = _Unwind_GetIP(frame);
  const auto* slot = reinterpret_cast<const std::uint64_t*>(_Unwind_GetCFA(frame)) - 1;
  if (search.at_caller) {
    if (*slot == address) search.words = slot - search.caller.return_slot;
    return _URC_END_OF_STACK;
  }
  search.at_caller = address == search.caller.address && slot == search.caller.return_slot;
  return _URC_NO_REASON;
}

std::int64_t depth_of(const Caller& caller) {
  for (std::size_t probe = 0; probe != kDepths; ++probe) {
    Depth& depth = depths[(caller.address + probe) % kDepths];
    std::uint64_t found = depth.caller.load(std::memory_order_relaxed);
    if (found == 0 && depth.caller.compare_exchange_strong(found, caller.address)) {
      Search search{caller};
      _Unwind_Backtrace(visit, &search);
      depth.words.store(search.words, std::memory_order_relaxed);
      return search.words;
    }
    if (found == caller.address) return depth.words.load(std::memory_order_relaxed);
  }
  return kUnknown;
}

}  // namespace

std::uint64_t outer_return_address(const Caller& caller) {
  const std::int64_t words = depth_of(caller);
  return words > 0 ? caller.return_slot[words] : 0;
}

}  // namespace openiser::bench
