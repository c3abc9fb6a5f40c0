// Random words from the kernel's generator, fetched 64 at a time so that a registration costs no
// system call of its own. Values are safe to use as secrets.
#pragma once

#include <array>
#include <cstdint>

namespace openiser::rdmap {

class RandomWords {
 public:
  std::uint32_t next();

 private:
  std::array<std::uint32_t, 64> words_{};
  std::size_t used_ = words_.size();
};

}  // namespace openiser::rdmap
