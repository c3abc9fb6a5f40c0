#include "base/buffer.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <new>
#include <vector>

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

// Owns the blocks, and itself from the time its pool is gone until the last lease is.
class BufferPool::Core final : public BufferOwner {
 public:
  explicit Core(std::size_t limit) : limit_(limit) {}

  Buffer take(std::size_t size) {
    const int order = order_of(size);
    if (order > kMaxOrder) return {};
    const std::size_t block_size = std::size_t{1} << order;
    if (block_size > limit_ - outstanding_) return {};
    auto& free = free_[order - kMinOrder];
    std::byte* block;
    if (free.empty()) {
      block = allocate_block(block_size);
    } else {
      block = free.back();
      free.pop_back();
    }
    outstanding_ += block_size;
    Buffer buffer(block, block_size, this);
    buffer.resize(size);
    return buffer;
  }

  void release(std::byte* block, std::size_t capacity) noexcept override {
    outstanding_ -= capacity;
    auto& free = free_[order_of(capacity) - kMinOrder];
    if (abandoned_ || (free.size() + 1) * capacity > kKeptPerClass) {
      free_block(block);
    } else {
      free.push_back(block);
    }
    if (abandoned_ && outstanding_ == 0) delete this;
  }

  void abandon() {
    for (auto& free : free_) {
      for (std::byte* block : free) free_block(block);
      free.clear();
    }
    abandoned_ = true;
    if (outstanding_ == 0) delete this;
  }

  std::size_t outstanding() const { return outstanding_; }

 private:
  static constexpr int kMinOrder = 8;
  static constexpr int kMaxOrder = 24;
  static constexpr std::size_t kKeptPerClass = std::size_t{64} << 20;

  static int order_of(std::size_t size) {
    if (size <= (std::size_t{1} << kMinOrder)) return kMinOrder;
    return std::bit_width(size - 1);
  }

  std::array<std::vector<std::byte*>, kMaxOrder - kMinOrder + 1> free_;
  std::size_t limit_;
  std::size_t outstanding_ = 0;
  bool abandoned_ = false;
};

BufferPool::BufferPool(std::size_t limit) : core_(new Core(limit)) {}
BufferPool::~BufferPool() {
  core_->abandon();
}
Buffer BufferPool::take(std::size_t size) {
  return core_->take(size);
}
std::size_t BufferPool::outstanding() const {
  return core_->outstanding();
}

}  // namespace openiser
