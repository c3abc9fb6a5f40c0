// Which pages of a store hold data, as far as is known: one bit a page.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace openiser::target {

// Any thread. Who writes marks the pages afterwards, who discards them clears the marks before: so
// what two threads do to one page at the same time leaves it marked, whoever was first, unless its
// data is gone.
class PageMap {
 public:
  // A page number is below `pages`. Throws std::bad_alloc. Parts of the map where nothing is marked
  // take no memory.
  explicit PageMap(std::uint64_t pages)
      : words_(static_cast<std::uint64_t*>(std::calloc(pages / 64 + 1, sizeof(std::uint64_t)))) {
    if (!words_) throw std::bad_alloc();
  }

  void mark(std::uint64_t first, std::uint64_t end) {
    for_words(first, end, [](Word word, std::uint64_t mask) {
      // Mostly they are marked already.
      if ((word.load(std::memory_order_relaxed) & mask) != mask) word.fetch_or(mask);
    });
  }
  void clear(std::uint64_t first, std::uint64_t end) {
    for_words(first, end, [](Word word, std::uint64_t mask) {
      if ((word.load(std::memory_order_relaxed) & mask) != 0) word.fetch_and(~mask);
    });
  }
  bool is_marked(std::uint64_t page) const {
    return (word_at(page / 64).load() >> page % 64 & 1) != 0;
  }
  // The first page from `page` on, and before `end`, that is not as it is; `end` if all are.
  std::uint64_t change(std::uint64_t page, std::uint64_t end) const {
    const std::uint64_t flip = is_marked(page) ? ~std::uint64_t{0} : 0;
    while (page < end) {
      const std::uint64_t rest = (word_at(page / 64).load() ^ flip) >> page % 64;
      if (rest != 0) return std::min(end, page + static_cast<unsigned>(std::countr_zero(rest)));
      page = (page / 64 + 1) * 64;
    }
    return end;
  }

 private:
  using Word = std::atomic_ref<std::uint64_t>;
  struct Free {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };

  Word word_at(std::uint64_t index) const { return Word(words_.get()[index]); }

  template <class Call>
  void for_words(std::uint64_t first, std::uint64_t end, Call call) {
    while (first < end) {
      const std::uint64_t stop = std::min(end, (first / 64 + 1) * 64);
      const std::uint64_t count = stop - first;
      const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      call(word_at(first / 64), ones << first % 64);
      first = stop;
    }
  }

  const std::unique_ptr<std::uint64_t[], Free> words_;
};

}  // namespace openiser::target
