// Stands in for memcpy and its like, and ISA-L's CRC32C. The compiler may not see in here what they
// are: it would call them.
#include <dlfcn.h>

#include <cstddef>

#include "tests/bench/copies/caller.h"
#include "tests/bench/copies/tally.h"

namespace openiser::bench {
namespace {

// Less is no payload, and too frequent to be counted cheaply.
constexpr std::size_t kLeast = 512;

using Copy = void*(void*, const void*, std::size_t);
using Set = void*(void*, int, std::size_t);
using Crc = unsigned(unsigned char*, int, unsigned);

// Needed before there is anything else, by the dynamic linker's own work among others.
void* first_copy(void* to, const void* from, std::size_t n) {
  auto* out = static_cast<volatile char*>(to);
  const auto* in = static_cast<const volatile char*>(from);
  if (to <= from) {
    for (std::size_t i = 0; i != n; ++i) out[i] = in[i];
  } else {
    for (std::size_t i = n; i != 0; --i) out[i - 1] = in[i - 1];
  }
  return to;
}
void* first_set(void* to, int value, std::size_t n) {
  for (std::size_t i = 0; i != n; ++i)
    static_cast<volatile char*>(to)[i] = static_cast<char>(value);
  return to;
}

Copy* real_memcpy = first_copy;
Copy* real_memmove = first_copy;
Set* real_memset = first_set;
Crc* real_crc = nullptr;

template <class Function>
void resolve(Function*& real, const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) real = reinterpret_cast<Function*>(found);
}

__attribute__((constructor(101))) void begin() {
  resolve(real_memcpy, "memcpy");
  resolve(real_memmove, "memmove");
  resolve(real_memset, "memset");
  resolve(real_crc, "crc32_iscsi");
  open_tally();
}

}  // namespace
}  // namespace openiser::bench

using namespace openiser::bench;

extern "C" {

void* memcpy(void* to, const void* from, std::size_t n) {
  if (n >= kLeast) count_with_outer("memcpy", n, OPENISER_CALLER());
  return real_memcpy(to, from, n);
}

void* memmove(void* to, const void* from, std::size_t n) {
  if (n >= kLeast) count_with_outer("memmove", n, OPENISER_CALLER());
  return real_memmove(to, from, n);
}

void* memset(void* to, int value, std::size_t n) {
  if (n >= kLeast) count_with_outer("memset", n, OPENISER_CALLER());
  return real_memset(to, value, n);
}

unsigned crc32_iscsi(unsigned char* bytes, int n, unsigned crc) {
  if (n >= static_cast<int>(kLeast)) {
    count_with_outer("crc32_iscsi", static_cast<unsigned>(n), OPENISER_CALLER());
  }
  return real_crc(bytes, n, crc);
}

}  // extern "C"
