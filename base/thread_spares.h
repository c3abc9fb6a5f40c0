// What a thread keeps for reuse, whichever of its users comes next. The last to be given is the
// first to be taken: it is still in the cache, which what every user kept for itself would not be.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace openiser {

// Of each kind of object a thread keeps `kMost`, in whatever state they are given.
template <class T, std::size_t kMost = 64>
class ThreadSpares {
 public:
  // A new one, default-initialised, if there is none to be had.
  static std::unique_ptr<T> take() {
    if (ended_ || list().spares.empty()) return std::make_unique_for_overwrite<T>();
    std::unique_ptr<T> spare = std::move(list().spares.back());
    list().spares.pop_back();
    return spare;
  }
  static void give(std::unique_ptr<T> spare) {
    if (!ended_ && list().spares.size() < kMost) list().spares.push_back(std::move(spare));
  }

 private:
  struct List {
    List() { spares.reserve(kMost); }
    ~List() { ended_ = true; }
    std::vector<std::unique_ptr<T>> spares;
  };
  static List& list() {
    thread_local List list;
    return list;
  }
  // The thread's end is at hand: there may still be users of static storage.
  constinit static inline thread_local bool ended_ = false;
};

}  // namespace openiser
