// The memory that a receiver reads into and takes messages from. Parts of it can be lent to whoever
// the messages are for: what is lent stays as it is until it has come back, also when the receiver
// has gone by then.
#pragma once

#include <cstddef>
#include <memory>

#include "base/buffer.h"

namespace openiser::rdmap {

class Staging final : private BufferOwner {
 public:
  struct Dropper {
    void operator()(Staging* staging) const noexcept { staging->drop(); }
  };
  using Pointer = std::unique_ptr<Staging, Dropper>;
  static Pointer make(std::size_t size) { return Pointer(new Staging(size)); }

  MutableBytes bytes() const { return memory_.bytes(); }
  // `part` lies in bytes(). The lease is given up on this thread.
  Buffer lend(Bytes part) {
    ++lent_;
    return {const_cast<std::byte*>(part.data()), part.size(), this};
  }
  bool lent() const { return lent_ != 0; }

 private:
  explicit Staging(std::size_t size) : memory_(Buffer::allocate(size)) {}
  ~Staging() = default;
  void release(std::byte*, std::size_t) noexcept override {
    if (--lent_ == 0 && dropped_) delete this;
  }
  void drop() noexcept {
    dropped_ = true;
    if (lent_ == 0) delete this;
  }

  Buffer memory_;
  std::size_t lent_ = 0;
  bool dropped_ = false;
};

}  // namespace openiser::rdmap
