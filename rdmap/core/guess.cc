#include "rdmap/core/guess.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"

namespace openiser::rdmap {

std::size_t Guess::received(std::size_t n, std::size_t staged) {
  for (std::size_t i = first_; i < end_; ++i) {
    const std::size_t between = std::min(n, parts_[i].at - staged);
    parts_[i].came = std::min(n - between, parts_[i].payload.size());
    staged += between;
    n -= between + parts_[i].came;
  }
  return staged + n;
}

std::span<const Guess::Part> Guess::pending() const {
  const std::span<const Part> rest = std::span(parts_).subspan(first_, end_ - first_);
  const auto none_came = [](const Part& part) { return part.came == 0; };
  return rest.first(static_cast<std::size_t>(std::ranges::find_if(rest, none_came) - rest.begin()));
}

std::size_t Guess::undo(MutableBytes staging, std::size_t begin, std::size_t end) {
  std::vector<std::byte> stream;
  const auto append = [&stream](Bytes bytes) {
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  };
  std::size_t at = begin;
  for (const Part& part : pending()) {
    append(staging.subspan(at, part.at - at));
    append(part.payload.first(part.came));
    at = part.at;
  }
  append(staging.subspan(at, end - at));
  ISER_ASSERT(begin + stream.size() <= staging.size());
  std::ranges::copy(stream, staging.subspan(begin).begin());
  clear();
  return begin + stream.size();
}

}  // namespace openiser::rdmap
