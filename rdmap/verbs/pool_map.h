// The pieces of memory of a BufferPool, each registered when something in it is first used.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "base/buffer.h"
#include "base/result.h"

namespace openiser::rdmap {

// `Registered` is what a registration is owned by: a smart pointer.
template <class Registered>
class PoolMap final : public PoolWatcher {
 public:
  using Register = std::function<Result<Registered>(MutableBytes)>;

  PoolMap(BufferPool& pool, Register how) : pool_(pool), register_(std::move(how)) {
    pool_.watch(*this);
  }
  ~PoolMap() { pool_.unwatch(*this); }
  PoolMap(const PoolMap&) = delete;
  PoolMap& operator=(const PoolMap&) = delete;

  // What `memory` is registered by; null if it is not the pool's. Valid as long as a lease on it.
  Result<typename Registered::pointer> find(Bytes memory) {
    Piece* const piece = piece_of(memory);
    if (!piece) return typename Registered::pointer();
    if (!piece->registered) {
      auto made = register_(piece->memory);
      if (!made) return made.error();
      piece->registered = std::move(*made);
    }
    return piece->registered.get();
  }

 private:
  struct Piece {
    MutableBytes memory;
    Registered registered;
  };

  void memory_came(MutableBytes piece) override { pieces_[piece.data()].memory = piece; }
  void memory_goes(MutableBytes piece) noexcept override {
    last_ = nullptr;
    pieces_.erase(piece.data());
  }
  static bool holds(const Piece& piece, Bytes memory) {
    return memory.data() >= piece.memory.data() &&
           memory.data() + memory.size() <= piece.memory.data() + piece.memory.size();
  }
  Piece* piece_of(Bytes memory) {
    if (last_ && holds(*last_, memory)) return last_;
    auto after = pieces_.upper_bound(memory.data());
    if (after == pieces_.begin()) return nullptr;
    Piece& before = std::prev(after)->second;
    if (!holds(before, memory)) return nullptr;
    return last_ = &before;
  }

  BufferPool& pool_;
  Register register_;
  std::map<const std::byte*, Piece> pieces_;
  Piece* last_ = nullptr;
};

}  // namespace openiser::rdmap
