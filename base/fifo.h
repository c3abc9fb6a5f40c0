// A queue that does not allocate in its steady state. Elements stay where they are until popped.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/thread_spares.h"

namespace openiser {

// Like a std::deque of which only the ends move, but emptied blocks are kept by the thread, for the
// next queue of the same kind to fill. An empty queue has none.
template <class T, std::size_t kBlock = 64>
class Fifo {
 public:
  Fifo() = default;
  ~Fifo() { clear(); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return *place(first_ + i); }
  const T& operator[](std::size_t i) const { return *place(first_ + i); }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }

  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    const std::size_t at = first_ + size_;
    if (at == blocks_.size() * kBlock) add_block();
    T* const made = std::construct_at(place(at), std::forward<Arguments>(arguments)...);
    ++size_;
    return *made;
  }
  T& push_back(T&& value) { return emplace_back(std::move(value)); }
  void pop_front() {
    std::destroy_at(place(first_));
    --size_;
    if (++first_ == kBlock || size_ == 0) drop_block();
  }
  void clear() {
    while (!empty()) pop_front();
  }

 private:
  struct Block {
    alignas(T) std::byte memory[sizeof(T) * kBlock];
  };
  using Spares = ThreadSpares<Block>;

  T* place(std::size_t at) const {
    return reinterpret_cast<T*>(blocks_[at / kBlock]->memory) + at % kBlock;
  }
  void add_block() { blocks_.push_back(Spares::take()); }
  // The first, which has no element.
  void drop_block() {
    Spares::give(std::move(blocks_.front()));
    blocks_.erase(blocks_.begin());
    first_ = 0;
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t first_ = 0;  // in the first block
  std::size_t size_ = 0;
};

}  // namespace openiser
