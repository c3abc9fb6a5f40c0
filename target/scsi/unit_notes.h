// What initiators write down at a logical unit: identifying information and the clock
// (SPC-4 sections 5.12 and 5.13).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/bytes.h"

namespace openiser::target {

// Any thread. What it holds is gone with the unit.
class UnitNotes {
 public:
  // Values of INFORMATION TYPE.
  enum class Information : std::uint8_t { identifier = 0x00, text = 0x02 };
  static constexpr std::size_t kMaxIdentifier = 512;
  static constexpr std::size_t kMaxText = 256;

  std::vector<std::byte> information(Information type) const;
  // False if that is what it was already.
  bool set_information(Information type, Bytes value);

  // Milliseconds since 1970, UTC, modulo 2^48.
  std::uint64_t clock() const;
  void set_clock(std::uint64_t milliseconds);
  // It runs from what set_clock() said, and no longer as the machine's does.
  bool clock_was_set() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::byte> identifier_;
  std::vector<std::byte> text_;
  bool clock_was_set_ = false;
  std::uint64_t clock_offset_ = 0;  // to the machine's clock, modulo 2^48
};

}  // namespace openiser::target
