// ISER_ASSERT is for faults of our own and stays on in release builds. Nothing a peer sends, a user
// types or a disk returns may trip it: those are results. Keep it out of loops over bytes.
#pragma once

namespace openiser {
[[noreturn]] void assertion_failed(const char* what, const char* file, int line);
}  // namespace openiser

#define ISER_ASSERT(condition) \
  ((condition) ? void(0) : ::openiser::assertion_failed(#condition, __FILE__, __LINE__))
