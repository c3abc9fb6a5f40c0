// Blocks of one size, side by side in one piece of memory from the kernel. Memory of a block that
// nobody has written to is not there yet: no header lies between blocks. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace openiser {

class Slab {
 public:
  static constexpr std::size_t kSize = std::size_t{1} << 20;
  // Of which at least 15 fit.
  static constexpr std::size_t kLargestBlock = std::size_t{64} << 10;

  // `block_size` is a multiple of 64. Throws std::bad_alloc.
  static Slab* make(std::size_t block_size);
  // All blocks have come back.
  static void free(Slab* slab) noexcept;
  // The slab that a block is of.
  static Slab& of(std::byte* block);

  bool full() const { return live_ == capacity_; }
  bool empty() const { return live_ == 0; }
  // 64-byte aligned; not of a slab that is full.
  std::byte* take();
  void give_back(std::byte* block) noexcept;

  // Its owner's: where it is in a list.
  std::size_t place = 0;

 private:
  explicit Slab(std::size_t block_size);
  ~Slab() = default;

  const std::size_t block_size_;
  const std::uint32_t capacity_;
  std::uint32_t live_ = 0;
  std::uint32_t touched_ = 0;      // blocks that were taken before
  std::vector<std::byte*> spare_;  // of these; the last to come back is the first to go
};

}  // namespace openiser
