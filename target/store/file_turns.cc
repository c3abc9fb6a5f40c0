#include "target/store/file_turns.h"

#include <algorithm>

namespace openiser::target {

bool FileTurns::begins(Turn turn) {
  File& file = files_[turn.fd];
  if (!file.waiting.empty() || !has_place(file)) {
    file.waiting.push_back(turn.request);
    ++waiting_;
    return false;
  }
  ++file.under_way;
  ++under_way_;
  return true;
}

std::optional<FileTurns::Turn> FileTurns::ended(int fd) {
  --files_[fd].under_way;
  --under_way_;
  if (waiting_ == 0) return {};
  const auto after = files_.upper_bound(fd);
  if (const auto turn = next_of(after, files_.end())) return turn;
  return next_of(files_.begin(), after);
}

bool FileTurns::has_place(const File& file) const {
  const std::size_t share = std::max<std::size_t>(places_ / (files_.size() + 1), 1);
  return file.under_way < share && under_way_ < places_;
}

std::optional<FileTurns::Turn> FileTurns::next_of(Files::iterator begin, Files::iterator end) {
  const auto found = std::find_if(begin, end, [this](const auto& entry) {
    return !entry.second.waiting.empty() && has_place(entry.second);
  });
  if (found == end) return {};
  File& file = found->second;
  const Turn turn{found->first, file.waiting.front()};
  file.waiting.pop_front();
  --waiting_;
  ++file.under_way;
  ++under_way_;
  return turn;
}

}  // namespace openiser::target
