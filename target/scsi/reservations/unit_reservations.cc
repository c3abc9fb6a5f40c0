#include "target/scsi/reservations/unit_reservations.h"

namespace openiser::target {

UnitReservations::Conflicts UnitReservations::conflicts_of(const ItNexus& nexus) const {
  using enum ConflictsWith;
  const std::lock_guard lock(mutex_);
  Conflicts conflicts{{}, version()};
  if (!reserved_by_) return conflicts;
  conflicts.set.add(reserve_of_anyone);
  if (*reserved_by_ != nexus) conflicts.set.add(reserve).add(exclusive_access).add(any_reservation);
  return conflicts;
}

bool UnitReservations::reserve(const ItNexus& nexus) {
  const std::lock_guard lock(mutex_);
  if (reserved_by_) return *reserved_by_ == nexus;
  reserved_by_ = nexus;
  changed();
  return true;
}

void UnitReservations::release(const ItNexus& nexus) {
  const std::lock_guard lock(mutex_);
  if (reserved_by_ != nexus) return;
  reserved_by_.reset();
  changed();
}

void UnitReservations::unit_reset() {
  const std::lock_guard lock(mutex_);
  if (!reserved_by_) return;
  reserved_by_.reset();
  changed();
}

}  // namespace openiser::target
