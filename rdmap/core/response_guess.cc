#include "rdmap/core/response_guess.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"

namespace openiser::rdmap {

std::size_t ResponseGuess::received(std::size_t n) {
  std::size_t staged = 0;
  for (std::size_t i = first_; i < end_; ++i) {
    const std::size_t between = std::min(n, parts_[i].between);
    parts_[i].came = std::min(n - between, parts_[i].payload.size());
    staged += between;
    n -= between + parts_[i].came;
  }
  return staged + n;
}

std::size_t ResponseGuess::undo(MutableBytes staged, std::size_t size, std::size_t header) {
  std::vector<std::byte> stream;
  Bytes rest = staged.first(size);
  const auto append = [&stream](Bytes bytes) {
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  };
  for (; first_ < end_; ++first_) {
    const Part& part = parts_[first_];
    append(rest.first(std::min(header, rest.size())));
    rest = rest.subspan(std::min(header, rest.size()));
    append(part.payload.first(part.came));
    if (first_ + 1 < end_) header = parts_[first_ + 1].between;
  }
  append(rest);
  ISER_ASSERT(stream.size() <= staged.size());
  std::ranges::copy(stream, staged.begin());
  clear();
  return stream.size();
}

}  // namespace openiser::rdmap
