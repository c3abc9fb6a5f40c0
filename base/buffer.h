// Buffers are move-only leases on memory. A lease goes into a call that needs the memory and comes
// back out of the completion, also on failure; dropping it gives the memory back to its owner.
// Nothing is reference-counted and nothing is locked: a lease is dropped on the thread that owns
// its pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/bytes.h"

namespace openiser {

class Buffer;

// Takes blocks back. `block` and `capacity` are those the Buffer was made with.
class BufferOwner {
 public:
  virtual void release(std::byte* block, std::size_t capacity) noexcept = 0;

 protected:
  ~BufferOwner() = default;
};

// A lease on `capacity` bytes, of which a window [offset, offset + size) is in use.
class Buffer {
 public:
  Buffer() = default;
  // The window is the whole block. `owner` may be null: then nobody is told.
  Buffer(std::byte* block, std::size_t capacity, BufferOwner* owner)
      : block_(block), owner_(owner), capacity_(capacity), size_(capacity) {}
  // Memory of somebody else's, who keeps it valid and untouched until the lease has come back.
  static Buffer wrap(MutableBytes memory) { return {memory.data(), memory.size(), nullptr}; }
  // The same for memory that is only ever read.
  static Buffer wrap(Bytes memory) {
    return {const_cast<std::byte*>(memory.data()), memory.size(), nullptr};
  }
  // Memory from the heap, 64-byte aligned, freed with the lease. Not for the data path.
  static Buffer allocate(std::size_t size);
  static Buffer copy_of(Bytes bytes);

  Buffer(Buffer&& other) noexcept { take(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { reset(); }

  explicit operator bool() const { return block_ != nullptr; }
  std::byte* data() const { return block_ + offset_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  MutableBytes bytes() const { return {block_ + offset_, size_}; }
  // Bytes from the start of the window to the end of the block.
  std::size_t room() const { return capacity_ - offset_; }

  // Sets the window's length; n <= room().
  void resize(std::size_t n);
  // Drops n bytes from the window's front; n <= size().
  void trim_front(std::size_t n);
  // The window is the whole block again.
  void reset_window() {
    offset_ = 0;
    size_ = capacity_;
  }
  // Gives the memory back now.
  void reset() {
    if (block_ && owner_) owner_->release(block_, capacity_);
    forget();
  }

 private:
  void take(Buffer& other) noexcept {
    block_ = other.block_;
    owner_ = other.owner_;
    capacity_ = other.capacity_;
    offset_ = other.offset_;
    size_ = other.size_;
    other.forget();
  }
  void forget() noexcept {
    block_ = nullptr;
    owner_ = nullptr;
    capacity_ = offset_ = size_ = 0;
  }

  std::byte* block_ = nullptr;
  BufferOwner* owner_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t offset_ = 0;
  std::size_t size_ = 0;
};

// Is told of the pieces of memory that a pool's blocks lie in: a device may want to know them.
class PoolWatcher {
 public:
  virtual void memory_came(MutableBytes piece) = 0;
  // No block of it is out.
  virtual void memory_goes(MutableBytes piece) noexcept = 0;

 protected:
  ~PoolWatcher() = default;
};

// A pool of blocks in power-of-two size classes from 256 bytes to 16 MiB, for one thread. Blocks
// are kept for reuse; of a block of up to 64 KiB only the pages that are written to take memory.
// The pool may be destroyed while leases are out: the memory goes when the last of them does.
class BufferPool {
 public:
  // `limit`: bytes that may be out at one time; take() beyond it gives an empty Buffer.
  explicit BufferPool(std::size_t limit = SIZE_MAX);
  // A limit on what is taken of `source`, which has the memory: what one user gives back is still
  // in the cache for the next. `source` outlives the pool; leases may outlive both.
  BufferPool(BufferPool& source, std::size_t limit);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // A lease whose window is exactly `size` bytes (its block may be larger); contents are undefined.
  // Empty when the limit is reached or size exceeds 16 MiB.
  Buffer take(std::size_t size);
  // Gives back to the system what is kept and not needed now; a pool with a source keeps nothing.
  void trim();
  // Bytes out on lease now (whole blocks).
  std::size_t outstanding() const;

  // `watcher` hears of the pieces there are now, and of all that come and go until unwatch(), which
  // comes before the pool's end. Not of a pool with a source.
  void watch(PoolWatcher& watcher);
  void unwatch(PoolWatcher& watcher) noexcept;

 private:
  class Core;
  Core* core_;
};

}  // namespace openiser
