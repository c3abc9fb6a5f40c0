#include "rdmap/core/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/assert.h"

namespace openiser::rdmap {

std::uint32_t RandomWords::next() {
  if (used_ == words_.size()) {
    // 256 bytes or fewer come whole once the kernel's generator is seeded (getrandom(2)).
    ssize_t got;
    do {
      got = ::getrandom(words_.data(), sizeof words_, 0);
    } while (got < 0 && errno == EINTR);
    ISER_ASSERT(got == static_cast<ssize_t>(sizeof words_));
    used_ = 0;
  }
  return std::exchange(words_[used_++], 0);
}

}  // namespace openiser::rdmap
