#include "target/scsi/reservations/unit_reservations.h"

namespace openiser::target {

UnitReservations::Conflicts UnitReservations::conflicts_of(const ItNexus& nexus) const {
  using enum ConflictsWith;
  const std::lock_guard lock(mutex_);
  Conflicts conflicts{persistent_.conflicts_of(nexus), version()};
  if (!reserved_by_) return conflicts;
  conflicts.set.add(reserve_of_anyone);
  if (*reserved_by_ != nexus) {
    conflicts.set.add(ConflictsWith::reserve).add(exclusive_access).add(any_reservation);
  }
  return conflicts;
}

void UnitReservations::set_reserved_by(std::optional<ItNexus> nexus) {
  if (reserved_by_ == nexus) return;
  reserved_by_ = std::move(nexus);
  changed();
}

bool UnitReservations::reserve(const ItNexus& nexus) {
  const std::lock_guard lock(mutex_);
  if (!persistent_.registrations.empty()) return persistent_.passes_reserve_and_release(nexus);
  if (changing_) return false;
  if (reserved_by_) return *reserved_by_ == nexus;
  set_reserved_by(nexus);
  return true;
}

bool UnitReservations::release(const ItNexus& nexus) {
  const std::lock_guard lock(mutex_);
  if (!persistent_.registrations.empty()) return persistent_.passes_reserve_and_release(nexus);
  if (reserved_by_ == nexus) set_reserved_by({});
  return true;
}

void UnitReservations::nexus_lost(const ItNexus& nexus) {
  const std::lock_guard lock(mutex_);
  if (reserved_by_ == nexus) set_reserved_by({});
}

void UnitReservations::unit_reset() {
  const std::lock_guard lock(mutex_);
  set_reserved_by({});
}

PersistentReservations UnitReservations::persistent() const {
  const std::lock_guard lock(mutex_);
  return persistent_;
}

std::optional<PersistentReservations> UnitReservations::begin_change() {
  const std::lock_guard lock(mutex_);
  if (reserved_by_) return {};
  changing_ = true;
  return persistent_;
}

void UnitReservations::end_change(std::optional<PersistentReservations> next) {
  const std::lock_guard lock(mutex_);
  changing_ = false;
  if (!next) return;
  persistent_ = std::move(*next);
  changed();
}

}  // namespace openiser::target
