#include "rdmap/verbs/local_memory.h"

#include <algorithm>
#include <cstring>

namespace openiser::rdmap {
namespace {

// To copy so much takes about as long as the two system calls of a registration.
constexpr std::size_t kMostToCopy = std::size_t{16} << 10;

ibv_sge element_of(MutableBytes memory, std::uint32_t key) {
  return {.addr = reinterpret_cast<std::uintptr_t>(memory.data()),
          .length = static_cast<std::uint32_t>(memory.size()),
          .lkey = key};
}

}  // namespace

Result<LocalMemory> LocalMemory::of(ProtectionDomain& domain, MutableBytes memory, Use use) {
  LocalMemory made;
  if (use != Use::named_sink) {
    auto piece = domain.registered_by_pool(memory);
    if (!piece) return piece.error();
    if (!*piece && memory.size() <= kMostToCopy) made.stand_in_ = domain.take(memory.size());
    if (made.stand_in_) {
      if (use == Use::source) std::memcpy(made.stand_in_.data(), memory.data(), memory.size());
      memory = made.stand_in_.bytes();
      piece = domain.registered_by_pool(memory);
      if (!piece) return piece.error();
    }
    if (*piece) {
      made.element_ = element_of(memory, (*piece)->lkey);
      return made;
    }
  }
  const int remote = use == Use::named_sink ? IBV_ACCESS_REMOTE_WRITE : 0;
  auto own = domain.register_memory(memory, IBV_ACCESS_LOCAL_WRITE | remote);
  if (!own) return own.error();
  made.own_ = std::move(*own);
  made.element_ = element_of(memory, made.own_->lkey);
  return made;
}

void LocalMemory::arrived(MutableBytes memory, std::size_t length) const {
  const std::size_t wanted = std::min(length, memory.size());
  if (stand_in_ && wanted > 0) std::memcpy(memory.data(), stand_in_.data(), wanted);
}

}  // namespace openiser::rdmap
