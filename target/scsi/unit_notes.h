// What initiators write down at a logical unit: identifying information and the clock
// (SPC-4 sections 5.12 and 5.13).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace openiser::target {

struct IdentifyingInformation {
  static constexpr std::size_t kMaxIdentifier = 512;
  static constexpr std::size_t kMaxText = 256;

  std::vector<std::byte> identifier;
  std::vector<std::byte> text;
  bool operator==(const IdentifyingInformation&) const = default;
};

// Identifying information as kept state (kept_state.h): the identifier and the text, each behind
// its length in two bytes. Nothing at all if there is neither.
inline constexpr const char* kInformationKind = "identifying-information";
inline constexpr std::uint32_t kInformationVersion = 1;
std::vector<std::byte> encode_information(const IdentifyingInformation& information);
// None if it is not what encode_information() gives.
std::optional<IdentifyingInformation> decode_information(Bytes content);

// Any thread. What it holds is gone with the unit.
class UnitNotes {
 public:
  explicit UnitNotes(IdentifyingInformation kept) : information_(std::move(kept)) {}

  IdentifyingInformation information() const;
  void set_information(IdentifyingInformation next);

  // Milliseconds since 1970, UTC, modulo 2^48.
  std::uint64_t clock() const;
  void set_clock(std::uint64_t milliseconds);
  // It runs from what set_clock() said, and no longer as the machine's does.
  bool clock_was_set() const;

 private:
  mutable std::mutex mutex_;
  IdentifyingInformation information_;
  bool clock_was_set_ = false;
  std::uint64_t clock_offset_ = 0;  // to the machine's clock, modulo 2^48
};

}  // namespace openiser::target
