// When the next RDMA Write of a stream begins, as guessed from the last ones: an iSER target that
// answers reads sends one Write for each, of all its region, and a Send of always the same size.
#pragma once

#include <cstddef>
#include <optional>

namespace openiser::rdmap {

class WriteRhythm {
 public:
  // A Write begins. `whole`: its first segment fills all of its region.
  void write(bool whole) {
    if (pause_ > 0) --pause_;
    steady_ = whole && last_was_whole_ && since_ == between_ && pause_ == 0;
    last_was_whole_ = whole;
    between_ = since_;
    since_ = 0;
  }
  // So many bytes of other FPDUs have been taken.
  void other(std::size_t n) { since_ += n; }
  // The guess was wrong: for a while there is none.
  void missed() {
    steady_ = false;
    pause_ = kPause;
  }

  // What lies between two Writes, in bytes.
  std::size_t between() const { return between_; }
  // How much of that is still to come before the next; none where there is no telling.
  std::optional<std::size_t> ahead() const {
    if (!steady_ || since_ > between_) return std::nullopt;
    return between_ - since_;
  }

 private:
  static constexpr int kPause = 64;  // Writes

  std::size_t since_ = 0;  // bytes since the last Write
  std::size_t between_ = 0;
  bool last_was_whole_ = false;
  bool steady_ = false;
  int pause_ = 0;
};

}  // namespace openiser::rdmap
