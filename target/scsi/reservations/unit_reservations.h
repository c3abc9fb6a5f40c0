// The reservations of one logical unit, shared by the threads of all its nexuses, and what each
// nexus remembers of them, so that a command costs one atomic load while they do not change.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "target/scsi/reservations/persistent.h"

namespace openiser::target {

// Any thread. Locked by commands about reservations, and by the first other command of each nexus
// after something has changed.
class UnitReservations {
 public:
  // With what a state file had, or nothing.
  explicit UnitReservations(PersistentReservations kept) : persistent_(std::move(kept)) {
    if (!persistent_.registrations.empty()) changed();
  }

  // Goes up with each change; 0: there never was a reservation.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  struct Conflicts {
    ConflictSet set;
    std::uint64_t version = 0;
  };
  // What `nexus` is refused, as of the version given with it.
  Conflicts conflicts_of(const ItNexus& nexus) const;

  // RESERVE (SPC-2 section 7.21) and RELEASE (section 7.16), which does nothing unless `nexus` is
  // who reserved. False: the command conflicts.
  bool reserve(const ItNexus& nexus);
  bool release(const ItNexus& nexus);
  // RESERVE does not outlive the nexus, or a reset of the unit (SPC-2 section 5.5.1); persistent
  // reservations do.
  void nexus_lost(const ItNexus& nexus);
  void unit_reset();

  PersistentReservations persistent() const;
  // A change of the persistent reservations: between the two calls nobody reserves. One at a time,
  // which is for the caller to see to. Nothing: a RESERVE is there, and the change conflicts.
  std::optional<PersistentReservations> begin_change();
  // `next`: what they are from now on; nothing: what they were.
  void end_change(std::optional<PersistentReservations> next);

 private:
  void changed() { version_.store(version() + 1, std::memory_order_release); }
  void set_reserved_by(std::optional<ItNexus> nexus);

  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> version_{0};
  std::optional<ItNexus> reserved_by_;  // RESERVE; never while there are registrations
  PersistentReservations persistent_;
  bool changing_ = false;
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
