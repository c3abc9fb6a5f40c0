// The mappings of RFC 7145 section 1.5.1: Initiator Task Tag to STags. A hash table with open
// addressing: no allocation a task, but as it grows to the most there ever were at one time; a
// larger one would only be more for the cache. Tags are of the peer's choosing at the target, so the number of
// entries is bounded by whoever inserts.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace openiser::iser {

template <class T>
class TaskMap {
 public:
  std::size_t size() const { return size_; }

  // Null if there is none. Valid until the next insert or erase.
  T* find(std::uint32_t tag) {
    const std::size_t at = locate(tag);
    return slots_[at].used ? &slots_[at].value : nullptr;
  }

  // Puts `value` in the place of what was there.
  T& insert(std::uint32_t tag, T value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[locate(tag)];
    if (!slot.used) ++size_;
    slot.used = true;
    slot.tag = tag;
    slot.value = std::move(value);
    return slot.value;
  }

  const T* find(std::uint32_t tag) const {
    const std::size_t at = locate(tag);
    return slots_[at].used ? &slots_[at].value : nullptr;
  }

  bool erase(std::uint32_t tag) {
    std::size_t hole = locate(tag);
    if (!slots_[hole].used) return false;
    clear(slots_[hole]);
    --size_;
    // Entries that had to go past the hole move back, so that no search stops early.
    for (std::size_t at = next(hole); slots_[at].used; at = next(at)) {
      if (distance(home(slots_[at].tag), at) < distance(hole, at)) continue;
      slots_[hole] = std::move(slots_[at]);
      clear(slots_[at]);
      hole = at;
    }
    return true;
  }

  void clear() {
    for (Slot& slot : slots_) clear(slot);
    size_ = 0;
  }

 private:
  struct Slot {
    T value{};
    std::uint32_t tag = 0;
    bool used = false;
  };

  static void clear(Slot& slot) {
    slot.value = T{};
    slot.used = false;
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  std::size_t distance(std::size_t from, std::size_t to) const {
    return (to - from) & (slots_.size() - 1);
  }
  std::size_t home(std::uint32_t tag) const {
    const std::uint64_t mixed = (tag ^ (std::uint64_t{tag} << 29)) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(mixed >> 32) & (slots_.size() - 1);
  }
  // The slot of `tag`, or the free one where it would go.
  std::size_t locate(std::uint32_t tag) const {
    std::size_t at = home(tag);
    while (slots_[at].used && slots_[at].tag != tag) at = next(at);
    return at;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.used) slots_[locate(slot.tag)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(16);
  std::size_t size_ = 0;
};

}  // namespace openiser::iser
