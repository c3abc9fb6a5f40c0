// getrandom(2) for fuzzers, in the place of libc's: STags are the same in every run, so that an
// input can name them. The nth word of each call is n << 16: a table of up to 2^16 slots gives the
// nth region registered (from 1) an STag of n << 16 plus its slot.
#include <sys/types.h>

#include <cstdint>
#include <cstring>

extern "C" ssize_t getrandom(void* buffer, size_t size, unsigned) {
  auto* bytes = static_cast<unsigned char*>(buffer);
  for (size_t at = 0; at < size; at += 4) {
    const std::uint32_t word = static_cast<std::uint32_t>(at / 4 + 1) << 16;
    std::memcpy(bytes + at, &word, size - at < 4 ? size - at : 4);
  }
  return static_cast<ssize_t>(size);
}
