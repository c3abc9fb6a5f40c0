// The mappings of RFC 7145 section 1.5.1: Initiator Task Tag to STags. No allocation a task: the
// thread keeps the memory of those that have ended for the next of any connection. Tags are of the
// peer's choosing at the target, so the number of entries is bounded by whoever inserts.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/thread_spares.h"
#include "iscsi/tag_table.h"

namespace openiser::iser {

template <class T>
class TaskMap {
 public:
  // For about `expected` entries; more make it slower, not wrong.
  explicit TaskMap(std::size_t expected = 64) : table_(expected) {}
  ~TaskMap() { clear(); }
  TaskMap(const TaskMap&) = delete;
  TaskMap& operator=(const TaskMap&) = delete;

  std::size_t size() const { return table_.size(); }

  // Null if there is none. Valid until it is erased.
  T* find(std::uint32_t tag) {
    Entry* const entry = table_.find(tag);
    return entry ? &entry->value : nullptr;
  }
  const T* find(std::uint32_t tag) const {
    const Entry* const entry = table_.find(tag);
    return entry ? &entry->value : nullptr;
  }

  // Puts `value` in the place of what was there.
  T& insert(std::uint32_t tag, T value) {
    Entry* entry = table_.find(tag);
    if (!entry) {
      entry = Spares::take().release();
      entry->initiator_task_tag = tag;
      table_.insert(*entry);
    }
    entry->value = std::move(value);
    return entry->value;
  }

  bool erase(std::uint32_t tag) {
    Entry* const entry = table_.find(tag);
    if (entry) erase(*entry);
    return entry != nullptr;
  }

  void clear() {
    for (Entry* entry : table_.all()) erase(*entry);
  }

 private:
  // Owned by the table it is in.
  struct Entry : iscsi::TagTable<Entry>::Hook {
    std::uint32_t initiator_task_tag = 0;
    T value{};
  };
  using Spares = ThreadSpares<Entry, 256>;

  void erase(Entry& entry) {
    table_.erase(entry);
    entry.value = T{};
    Spares::give(std::unique_ptr<Entry>(&entry));
  }

  iscsi::TagTable<Entry> table_;
};

}  // namespace openiser::iser
