#include "rdmap/core/stag_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

// At least 12 random bits stay in every STag.
constexpr std::uint32_t kMostRegions = 1u << 20;

struct UseErrors {
  Access right;
  errc invalid_stag, bounds, wrap;
};

// Indexed by StagTable::Use. Access rights are an RDMAP error for both (RFC 5040 section 4.8).
constexpr UseErrors kErrors[] = {
    {Access::remote_write, errc::ddp_tagged_invalid_stag, errc::ddp_tagged_bounds,
     errc::ddp_tagged_wrap},
    {Access::remote_read, errc::rdmap_invalid_stag, errc::rdmap_bounds, errc::rdmap_wrap},
};

bool allows(Access access, Access right) {
  return (static_cast<unsigned>(access) & static_cast<unsigned>(right)) != 0;
}

}  // namespace

StagTable::StagTable(std::uint32_t max_regions, bool zero_based)
    : max_regions_(std::min(max_regions, kMostRegions)),
      slot_mask_(std::bit_ceil(max_regions_ + 1) - 1),
      zero_based_(zero_based) {}

Result<StagTable::Entry> StagTable::add(MutableBytes memory, Access access) {
  std::uint32_t index;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else if (slots_.size() < max_regions_) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    return make_error_code(errc::too_many_regions);
  }
  Slot& slot = slots_[index];
  slot = {memory, fresh_base(), fresh_stag(index), access, true};
  if (access == Access::remote_write_fresh) link_fresh(index);
  ++live_;
  return Entry{Stag{slot.stag}, slot.base_offset};
}

Result<MutableBytes> StagTable::remove(Stag stag) {
  if (!find(stag)) return make_error_code(errc::rdmap_invalid_stag);
  const std::uint32_t index = stag.value & slot_mask_;
  unlink_fresh(index);
  slots_[index].live = false;
  free_.push_back(index);
  --live_;
  return slots_[index].memory;
}

Result<MutableBytes> StagTable::resolve(Stag stag, std::uint64_t offset, std::uint64_t length,
                                        Use use) const {
  const UseErrors& errors = kErrors[static_cast<std::size_t>(use)];
  const Slot* slot = find(stag);
  if (!slot) return make_error_code(errors.invalid_stag);
  if (offset + length < offset) return make_error_code(errors.wrap);
  if (!allows(slot->access, errors.right)) return make_error_code(errc::rdmap_access);
  const std::uint64_t at = offset - slot->base_offset;
  if (offset < slot->base_offset || at > slot->memory.size() || length > slot->memory.size() - at) {
    return make_error_code(errors.bounds);
  }
  return slot->memory.subspan(at, length);
}

MutableBytes StagTable::not_fresh(Stag stag) {
  const Slot* const slot = find(stag);
  if (!slot) return {};
  unlink_fresh(stag.value & slot_mask_);
  return slot->memory;
}

void StagTable::link_fresh(std::uint32_t index) {
  Slot& slot = slots_[index];
  slot.fresh = true;
  slot.previous_fresh = last_fresh_;
  (last_fresh_ == kNone ? first_fresh_ : slots_[last_fresh_].next_fresh) = index;
  last_fresh_ = index;
}

void StagTable::unlink_fresh(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (!std::exchange(slot.fresh, false)) return;
  const std::uint32_t previous = std::exchange(slot.previous_fresh, kNone);
  const std::uint32_t next = std::exchange(slot.next_fresh, kNone);
  (previous == kNone ? first_fresh_ : slots_[previous].next_fresh) = next;
  (next == kNone ? last_fresh_ : slots_[next].previous_fresh) = previous;
}

const StagTable::Slot* StagTable::find(Stag stag) const {
  const std::uint32_t index = stag.value & slot_mask_;
  if (index >= slots_.size()) return nullptr;
  const Slot& slot = slots_[index];
  return slot.live && slot.stag == stag.value ? &slot : nullptr;
}

// Slot max_regions_ is within the mask and never filled.
Stag StagTable::unused_stag() {
  std::uint32_t stag;
  do {
    stag = (random_.next() & ~slot_mask_) | max_regions_;
  } while (stag == 0);
  return Stag{stag};
}

// Never 0, which many stacks take for "none", and never what the slot had last.
std::uint32_t StagTable::fresh_stag(std::uint32_t slot) {
  std::uint32_t stag;
  do {
    stag = (random_.next() & ~slot_mask_) | slot;
  } while (stag == 0 || stag == slots_[slot].stag);
  return stag;
}

// A page-aligned offset below 2^48, so that no region wraps.
std::uint64_t StagTable::fresh_base() {
  return zero_based_ ? 0 : (std::uint64_t{random_.next()} + 1) << 12;
}

}  // namespace openiser::rdmap
