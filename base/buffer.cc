#include "base/buffer.h"

#include <cstdlib>
#include <new>

#include "base/assert.h"

namespace openiser {
namespace {

constexpr std::size_t kAlignment = 64;

std::byte* allocate_block(std::size_t size) {
  return static_cast<std::byte*>(::operator new (size, std::align_val_t{kAlignment}));
}

void free_block(std::byte* block) noexcept {
  ::operator delete (block, std::align_val_t{kAlignment});
}

class Heap final : public BufferOwner {
 public:
  void release(std::byte* block, std::size_t) noexcept override { free_block(block); }
};
Heap heap;

}  // namespace

Buffer Buffer::allocate(std::size_t size) {
  Buffer buffer(allocate_block(size == 0 ? 1 : size), size == 0 ? 1 : size, &heap);
  buffer.resize(size);
  return buffer;
}

Buffer Buffer::copy_of(Bytes bytes) {
  Buffer buffer = allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

void Buffer::resize(std::size_t n) {
  ISER_ASSERT(n <= room());
  size_ = n;
}

void Buffer::trim_front(std::size_t n) {
  ISER_ASSERT(n <= size_);
  offset_ += n;
  size_ -= n;
}

}  // namespace openiser
