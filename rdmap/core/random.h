// Random words from the kernel's generator, fetched 512 at a time so that registrations cost
// next to no system calls. Values are safe to use as secrets.
#pragma once

#include <array>
#include <cstdint>

namespace openiser::rdmap {

class RandomWords {
 public:
  std::uint32_t next();

 private:
  void refill();

  std::array<std::uint32_t, 512> words_{};
  std::size_t used_ = words_.size();
};

}  // namespace openiser::rdmap
