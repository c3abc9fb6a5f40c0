// A pool's blocks by size class. Small ones are of slabs; large ones have memory of their own.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/buffer.h"
#include "base/slab.h"

namespace openiser {
namespace {

constexpr int kMinOrder = 8;
constexpr int kMaxOrder = 24;
constexpr std::size_t kAlignment = 64;
// What a class keeps for reuse while nobody trims.
constexpr std::size_t kKeptPerClass = std::size_t{64} << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kHotBlocks = 0;
#else
constexpr std::size_t kHotBlocks = 64;
#endif

int order_of(std::size_t size) {
  if (size <= (std::size_t{1} << kMinOrder)) return kMinOrder;
  return std::bit_width(size - 1);
}

// The pieces of memory that a pool has, and who wants to know.
class Pieces {
 public:
  void add(std::byte* piece, std::size_t size) {
    all_.emplace(piece, size);
    for (PoolWatcher* each : watchers_) each->memory_came({piece, size});
  }
  void remove(std::byte* piece) noexcept {
    const auto found = all_.find(piece);
    for (PoolWatcher* each : watchers_) each->memory_goes({piece, found->second});
    all_.erase(found);
  }
  void watch(PoolWatcher& watcher) {
    watchers_.push_back(&watcher);
    for (const auto& [piece, size] : all_) watcher.memory_came({piece, size});
  }
  void unwatch(PoolWatcher& watcher) noexcept { std::erase(watchers_, &watcher); }

 private:
  std::map<std::byte*, std::size_t> all_;
  std::vector<PoolWatcher*> watchers_;
};

// Blocks of one size up to Slab::kLargestBlock.
class SlabClass {
 public:
  explicit SlabClass(Pieces& pieces) : pieces_(pieces) {}

  // The last few to come back go first: they are cached, and where they lie need not be looked at.
  std::byte* take(std::size_t size) {
    return hot_count_ > 0 ? hot_[--hot_count_] : take_from_slab(size);
  }
  void release(std::byte* block) noexcept {
    if (hot_count_ == hot_.size()) return give_back(block);
    hot_[hot_count_++] = block;
  }
  void trim() noexcept {
    while (hot_count_ > 0) give_back(hot_[--hot_count_]);
    for (std::size_t i = open_.size(); i > 0; --i) {
      if (open_[i - 1]->empty()) remove(*open_[i - 1]);
    }
  }

 private:
  std::byte* take_from_slab(std::size_t size) {
    if (open_.empty()) {
      Slab* const slab = Slab::make(size);
      pieces_.add(reinterpret_cast<std::byte*>(slab), Slab::kSize);
      add(slab);
      ++empty_;
    }
    Slab& slab = *open_.back();
    if (slab.empty()) --empty_;
    std::byte* const block = slab.take();
    if (slab.full()) open_.pop_back();
    return block;
  }
  void give_back(std::byte* block) noexcept {
    Slab& slab = Slab::of(block);
    const bool was_full = slab.full();
    slab.give_back(block);
    if (was_full) add(&slab);
    if (!slab.empty()) return;
    if ((++empty_) * Slab::kSize > kKeptPerClass) remove(slab);
  }
  void add(Slab* slab) {
    slab->place = open_.size();
    open_.push_back(slab);
  }
  void remove(Slab& slab) noexcept {
    --empty_;
    open_[slab.place] = open_.back();
    open_[slab.place]->place = slab.place;
    open_.pop_back();
    pieces_.remove(reinterpret_cast<std::byte*>(&slab));
    Slab::free(&slab);
  }

  Pieces& pieces_;
  // With the address sanitizer none: a slab keeps what is given back out of reach.
  std::array<std::byte*, kHotBlocks> hot_;
  std::size_t hot_count_ = 0;
  std::vector<Slab*> open_;  // those that are not full; the last is used first
  std::size_t empty_ = 0;    // of these
};

// Blocks of one larger size.
class LargeClass {
 public:
  explicit LargeClass(Pieces& pieces) : pieces_(pieces) {}

  std::byte* take(std::size_t size) {
    if (spare_.empty()) {
      auto* const fresh =
          static_cast<std::byte*>(::operator new (size, std::align_val_t{kAlignment}));
      pieces_.add(fresh, size);
      return fresh;
    }
    std::byte* const block = spare_.back();
    spare_.pop_back();
    return block;
  }
  void release(std::byte* block, std::size_t size) {
    if ((spare_.size() + 1) * size > kKeptPerClass) return free(block);
    spare_.push_back(block);
  }
  void trim() noexcept {
    for (std::byte* block : spare_) free(block);
    spare_.clear();
  }

 private:
  void free(std::byte* block) noexcept {
    pieces_.remove(block);
    ::operator delete (block, std::align_val_t{kAlignment});
  }
  Pieces& pieces_;
  std::vector<std::byte*> spare_;
};

template <class Class, std::size_t... kIndex>
std::array<Class, sizeof...(kIndex)> classes_of(Pieces& pieces, std::index_sequence<kIndex...>) {
  return {((void)kIndex, Class(pieces))...};
}

// The memory of a pool, by size class.
class Blocks {
 public:
  std::byte* take(int order) {
    const std::size_t size = std::size_t{1} << order;
    return is_small(order) ? small_[order - kMinOrder].take(size)
                           : large_[order - kFirstLarge].take(size);
  }
  void release(std::byte* block, int order) noexcept {
    if (is_small(order)) {
      small_[order - kMinOrder].release(block);
    } else {
      large_[order - kFirstLarge].release(block, std::size_t{1} << order);
    }
  }
  void trim() noexcept {
    for (SlabClass& each : small_) each.trim();
    for (LargeClass& each : large_) each.trim();
  }
  Pieces& pieces() { return pieces_; }

 private:
  static constexpr int kFirstLarge = std::bit_width(Slab::kLargestBlock);
  static bool is_small(int order) { return order < kFirstLarge; }

  Pieces pieces_;
  std::array<SlabClass, kFirstLarge - kMinOrder> small_ =
      classes_of<SlabClass>(pieces_, std::make_index_sequence<kFirstLarge - kMinOrder>());
  std::array<LargeClass, kMaxOrder - kFirstLarge + 1> large_ =
      classes_of<LargeClass>(pieces_, std::make_index_sequence<kMaxOrder - kFirstLarge + 1>());
};

}  // namespace

// Lives from the time its pool is made until that is gone and the last lease has come back. What
// is taken of it through another core is on lease here too.
class BufferPool::Core final : public BufferOwner {
 public:
  explicit Core(std::size_t limit) : limit_(limit), blocks_(std::make_unique<Blocks>()) {}
  Core(std::size_t limit, Core& source) : limit_(limit), source_(&source) {}

  Buffer take(std::size_t size) {
    const int order = order_of(size);
    if (order > kMaxOrder) return {};
    std::byte* const block = take_block(order);
    if (!block) return {};
    Buffer buffer(block, std::size_t{1} << order, this);
    buffer.resize(size);
    return buffer;
  }

  void release(std::byte* block, std::size_t capacity) noexcept override {
    outstanding_ -= capacity;
    if (source_) {
      source_->release(block, capacity);
    } else {
      blocks_->release(block, order_of(capacity));
    }
    if (abandoned_) trim();
    if (abandoned_ && outstanding_ == 0) delete this;
  }

  void trim() noexcept {
    if (blocks_) blocks_->trim();
  }
  void abandon() {
    trim();
    abandoned_ = true;
    if (outstanding_ == 0) delete this;
  }
  std::size_t outstanding() const { return outstanding_; }
  Pieces& pieces() {
    ISER_ASSERT(blocks_);
    return blocks_->pieces();
  }

 private:
  std::byte* take_block(int order) {
    const std::size_t size = std::size_t{1} << order;
    if (size > limit_ - outstanding_) return nullptr;
    std::byte* const block = source_ ? source_->take_block(order) : blocks_->take(order);
    if (block) outstanding_ += size;
    return block;
  }

  std::size_t limit_;
  std::unique_ptr<Blocks> blocks_;  // or
  Core* source_ = nullptr;
  std::size_t outstanding_ = 0;
  bool abandoned_ = false;
};

BufferPool::BufferPool(std::size_t limit) : core_(new Core(limit)) {}
BufferPool::BufferPool(BufferPool& source, std::size_t limit)
    : core_(new Core(limit, *source.core_)) {}
BufferPool::~BufferPool() {
  core_->abandon();
}
Buffer BufferPool::take(std::size_t size) {
  return core_->take(size);
}
void BufferPool::trim() {
  core_->trim();
}
std::size_t BufferPool::outstanding() const {
  return core_->outstanding();
}
void BufferPool::watch(PoolWatcher& watcher) {
  core_->pieces().watch(watcher);
}
void BufferPool::unwatch(PoolWatcher& watcher) noexcept {
  core_->pieces().unwatch(watcher);
}

}  // namespace openiser
