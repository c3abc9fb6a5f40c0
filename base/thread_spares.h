// What a thread keeps for reuse, whichever of its users comes next. The last to be given is the
// first to be taken: it is still in the cache, which what every user kept for itself would not be.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace openiser {

// `Item` owns a piece of memory and is false when it has none. Of each kind a thread keeps `kMost`.
template <class Item, std::size_t kMost = 64>
class ThreadSpares {
 public:
  // An empty item if there is none.
  static Item take() {
    if (ended_ || list().items.empty()) return {};
    Item item = std::move(list().items.back());
    list().items.pop_back();
    return item;
  }
  static void give(Item item) {
    if (!ended_ && list().items.size() < kMost) list().items.push_back(std::move(item));
  }

 private:
  struct List {
    List() { items.reserve(kMost); }
    ~List() { ended_ = true; }
    std::vector<Item> items;
  };
  static List& list() {
    thread_local List list;
    return list;
  }
  // The thread's end is at hand: there may still be users of static storage.
  static inline thread_local bool ended_ = false;
};

}  // namespace openiser
