#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace openiser {
namespace {

// ISA-L 2.30 returns with the upper halves of the vector registers in use; until they are cleared,
// every SSE instruction of the program runs several times slower.
#if defined(__x86_64__)
__attribute__((target("avx"))) void zero_upper_halves() {
  _mm256_zeroupper();
}
void clean_up_after_isal() {
  if (__builtin_cpu_supports("avx")) zero_upper_halves();
}
#else
void clean_up_after_isal() {}
#endif

}  // namespace

Crc32c& Crc32c::update(Bytes bytes) {
  constexpr std::size_t kStep = std::size_t{1} << 30;  // ISA-L takes the length as an int
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kStep);
    auto* start = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state_ = crc32_iscsi(start, static_cast<int>(n), state_);
    bytes = bytes.subspan(n);
  }
  clean_up_after_isal();
  return *this;
}

}  // namespace openiser
