#include "rdmap/core/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/assert.h"

namespace openiser::rdmap {

std::uint32_t RandomWords::next() {
  if (used_ == words_.size()) refill();
  return std::exchange(words_[used_++], 0);
}

void RandomWords::refill() {
  auto* place = reinterpret_cast<std::byte*>(words_.data());
  std::size_t missing = sizeof words_;
  while (missing > 0) {
    const ssize_t got = ::getrandom(place, missing, 0);
    if (got < 0 && errno == EINTR) continue;
    ISER_ASSERT(got > 0);
    place += got;
    missing -= static_cast<std::size_t>(got);
  }
  used_ = 0;
}

}  // namespace openiser::rdmap
