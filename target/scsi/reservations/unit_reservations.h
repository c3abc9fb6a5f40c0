// The reservations of one logical unit, shared by the threads of all its nexuses, and what each
// nexus remembers of them, so that a command costs one atomic load while they do not change.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "target/scsi/reservations/conflict.h"
#include "target/scsi/reservations/it_nexus.h"

namespace openiser::target {

// Any thread. Locked by commands about reservations, and by the first other command of each nexus
// after something has changed.
class UnitReservations {
 public:
  // Goes up with each change; 0: there never was a reservation.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  struct Conflicts {
    ConflictSet set;
    std::uint64_t version = 0;
  };
  // What `nexus` is refused, as of the version given with it.
  Conflicts conflicts_of(const ItNexus& nexus) const;

  // RESERVE (SPC-2 section 7.21); false: it conflicts.
  bool reserve(const ItNexus& nexus);
  // RELEASE (SPC-2 section 7.16): nothing happens unless `nexus` is who reserved.
  void release(const ItNexus& nexus);
  // RESERVE does not outlive the nexus, or a reset of the unit (SPC-2 section 5.5.1).
  void nexus_lost(const ItNexus& nexus) { release(nexus); }
  void unit_reset();

 private:
  void changed() { version_.store(version() + 1, std::memory_order_release); }

  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> version_{0};
  std::optional<ItNexus> reserved_by_;  // RESERVE
};

// What a nexus is refused at a unit, kept until the unit's reservations change. On the thread of
// the nexus.
class ReservationView {
 public:
  bool conflicts(const UnitReservations& reservations, const ItNexus& nexus, ConflictsWith kind) {
    if (reservations.version() != known_.version) known_ = reservations.conflicts_of(nexus);
    return known_.set.contains(kind);
  }

 private:
  UnitReservations::Conflicts known_;
};

}  // namespace openiser::target
