#include "base/slab.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "base/assert.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace openiser {
namespace {

// Between blocks, so that what all begin with is not in the same few sets of the cache.
constexpr std::size_t kGap = 64;
constexpr std::size_t kFront = (sizeof(Slab) + 63) / 64 * 64;

// Aligned to its size, which is how a block's slab is found; page by page, as most of it may never
// be written to.
std::byte* map_aligned() {
  void* got = ::mmap(nullptr, 2 * Slab::kSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(got);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % Slab::kSize;
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + Slab::kSize, Slab::kSize - before);
  ::madvise(begin + before, Slab::kSize, MADV_NOHUGEPAGE);
  return begin + before;
}

}  // namespace

Slab::Slab(std::size_t block_size)
    : block_size_(block_size),
      capacity_(static_cast<std::uint32_t>((kSize - kFront) / (block_size + kGap))) {
  spare_.reserve(capacity_);  // give_back() must not throw
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<std::byte*>(this) + kFront, kSize - kFront);
}

Slab* Slab::make(std::size_t block_size) {
  ISER_ASSERT(block_size <= kLargestBlock && block_size % 64 == 0);
  return new (map_aligned()) Slab(block_size);
}

void Slab::free(Slab* slab) noexcept {
  ISER_ASSERT(slab->empty());
  slab->~Slab();
  ASAN_UNPOISON_MEMORY_REGION(slab, kSize);
  ::munmap(slab, kSize);
}

Slab& Slab::of(std::byte* block) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is found by its alignment.
  return *reinterpret_cast<Slab*>(reinterpret_cast<std::uintptr_t>(block) & ~(kSize - 1));
}

std::byte* Slab::take() {
  ++live_;
  std::byte* block;
  if (spare_.empty()) {
    block = reinterpret_cast<std::byte*>(this) + kFront + touched_++ * (block_size_ + kGap);
  } else {
    block = spare_.back();
    spare_.pop_back();
  }
  ASAN_UNPOISON_MEMORY_REGION(block, block_size_);
  return block;
}

void Slab::give_back(std::byte* block) noexcept {
  ASAN_POISON_MEMORY_REGION(block, block_size_);
  --live_;
  spare_.push_back(block);
}

}  // namespace openiser
