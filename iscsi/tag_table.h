// Finds what is open by its Initiator Task Tag. Intrusive, so that a command costs no allocation:
// an entry derives from TagTable<Entry>::Hook and has initiator_task_tag.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace openiser::iscsi {

template <class Entry>
class TagTable {
 public:
  class Hook {
    friend class TagTable;
    Entry* next_ = nullptr;
  };

  // For about `expected` entries; more make it slower, not wrong.
  explicit TagTable(std::size_t expected)
      : buckets_(std::bit_ceil(expected < 8 ? std::size_t{8} : expected)) {}

  Entry* find(std::uint32_t tag) const {
    Entry* entry = buckets_[index(tag)];
    while (entry && entry->initiator_task_tag != tag) entry = hook(*entry).next_;
    return entry;
  }
  // Its tag is not in the table.
  void insert(Entry& entry) {
    Entry*& head = buckets_[index(entry.initiator_task_tag)];
    hook(entry).next_ = head;
    head = &entry;
    ++size_;
  }
  // The entry is in the table.
  void erase(Entry& entry) {
    Entry** link = &buckets_[index(entry.initiator_task_tag)];
    while (*link != &entry) link = &hook(**link).next_;
    *link = hook(entry).next_;
    --size_;
  }
  std::size_t size() const { return size_; }

  // Those that are in it now.
  std::vector<Entry*> all() const {
    std::vector<Entry*> entries;
    for_each([&entries](Entry& entry) { entries.push_back(&entry); });
    return entries;
  }
  // `visit` may not change the table.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (Entry* entry : buckets_) {
      for (; entry; entry = hook(*entry).next_) visit(*entry);
    }
  }

 private:
  static Hook& hook(Entry& entry) { return entry; }
  // Tags are counters, addresses or indices with flags in high bits: mix, then take the top. Eight
  // in a row share a cache line.
  std::size_t index(std::uint32_t tag) const {
    const std::uint32_t mixed = (tag >> 3) * 0x9e3779b1u;
    return (mixed >> (32 - std::countr_zero(buckets_.size()))) ^ (tag & 7);
  }

  std::vector<Entry*> buckets_;
  std::size_t size_ = 0;
};

}  // namespace openiser::iscsi
