#include "target/scsi/unit_notes.h"

#include <algorithm>
#include <chrono>

namespace openiser::target {
namespace {

constexpr std::uint64_t kClockMask = (std::uint64_t{1} << 48) - 1;

std::uint64_t machine_clock() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count());
}

}  // namespace

std::vector<std::byte> UnitNotes::information(Information type) const {
  const std::lock_guard lock(mutex_);
  return type == Information::text ? text_ : identifier_;
}

bool UnitNotes::set_information(Information type, Bytes value) {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte>& held = type == Information::text ? text_ : identifier_;
  if (std::ranges::equal(held, value)) return false;
  held.assign(value.begin(), value.end());
  return true;
}

std::uint64_t UnitNotes::clock() const {
  const std::lock_guard lock(mutex_);
  return (machine_clock() + clock_offset_) & kClockMask;
}

void UnitNotes::set_clock(std::uint64_t milliseconds) {
  const std::lock_guard lock(mutex_);
  clock_was_set_ = true;
  clock_offset_ = (milliseconds - machine_clock()) & kClockMask;
}

bool UnitNotes::clock_was_set() const {
  const std::lock_guard lock(mutex_);
  return clock_was_set_;
}

}  // namespace openiser::target
