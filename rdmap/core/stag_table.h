// The STags of one RDMAP Stream and the memory they open to the peer. Look-up is O(1): the low bits
// of an STag are a slot, the rest is random and new with every registration, so that a peer cannot
// guess an STag (RFC 5040 section 8.1.1 item 8) and one that was valid before is not found again.
// An STag of another stream is not in the table, hence simply invalid here.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "rdmap/core/random.h"
#include "rdmap/rcap.h"

namespace openiser::rdmap {

class StagTable {
 public:
  // What a message wants of the memory; decides the access right asked for and the errors given.
  enum class Use : std::uint8_t {
    write,        // RDMA Write: errors of tagged DDP segments (RFC 5041 section 7.2)
    read_source,  // RDMA Read Request: errors of RDMAP (RFC 5040 section 7.2)
  };

  // `zero_based`: every region starts at Tagged Offset 0.
  StagTable(std::uint32_t max_regions, bool zero_based);

  struct Entry {
    Stag stag;
    std::uint64_t base_offset;
  };
  // Fails with errc::too_many_regions.
  Result<Entry> add(MutableBytes memory, Access access);

  // Ends `stag`; gives the memory that was open under it, or errc::rdmap_invalid_stag.
  Result<MutableBytes> remove(Stag stag);

  // An STag that never names a region of this table: for the sinks of our own RDMA Reads, which are
  // matched by the requester and must be out of reach for RDMA Writes.
  Stag unused_stag();

  // Something has been, or is about to be, placed in the region of `stag`: gives its memory, which
  // is empty if there is none.
  MutableBytes not_fresh(Stag stag);
  // Regions with Access::remote_write_fresh in which nothing has been placed, oldest first, until
  // `visit(stag, memory)` returns false.
  template <class Visit>
  void for_each_fresh(Visit&& visit) const {
    for (std::uint32_t at = first_fresh_; at != kNone; at = slots_[at].next_fresh) {
      if (!visit(Stag{slots_[at].stag}, slots_[at].memory)) return;
    }
  }

  bool contains(Stag stag) const { return find(stag) != nullptr; }
  std::size_t size() const { return live_; }

  // The `length` bytes at Tagged Offset `offset` of `stag`, if `use` may have them (RFC 5041
  // section 7.1, RFC 5040 section 7.2). A zero-length message names no memory and is not checked:
  // do not ask.
  Result<MutableBytes> resolve(Stag stag, std::uint64_t offset, std::uint64_t length,
                               Use use) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Slot {
    MutableBytes memory;
    std::uint64_t base_offset = 0;
    std::uint32_t stag = 0;
    Access access{};
    bool live = false;
    bool fresh = false;
    // In the list of fresh ones.
    std::uint32_t next_fresh = kNone;
    std::uint32_t previous_fresh = kNone;
  };

  const Slot* find(Stag stag) const;
  std::uint32_t fresh_stag(std::uint32_t slot);
  std::uint64_t fresh_base();
  void link_fresh(std::uint32_t index);
  void unlink_fresh(std::uint32_t index);

  std::uint32_t max_regions_;
  std::uint32_t slot_mask_;
  bool zero_based_;
  std::size_t live_ = 0;
  RandomWords random_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint32_t first_fresh_ = kNone;
  std::uint32_t last_fresh_ = kNone;
};

}  // namespace openiser::rdmap
