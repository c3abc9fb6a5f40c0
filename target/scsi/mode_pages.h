// Mode pages (SPC-4 section 7.5, SBC-3 section 6.4): what each holds, which of its fields can be
// changed, and where in the unit's flags those live.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "target/scsi/sense.h"
#include "target/scsi/unit.h"

namespace openiser::target {

inline constexpr std::size_t kMaxModePage = 64;

// Bits 7 and 6 of the PAGE CODE byte of MODE SENSE.
enum class PageControl : std::uint8_t { current, changeable, defaults, saved };

// In page_0 format: there are no subpages.
struct ModePage {
  std::uint8_t code;
  std::uint8_t size;  // with its header
  // The values that cannot be changed; the rest is zero.
  void (*fill)(MutableBytes page, const LogicalUnit& unit);
};

// Ascending by code, as MODE SENSE gives them.
std::span<const ModePage> mode_pages();

// `out` is as large as the page. Not for PageControl::saved: nothing is saved.
void write_mode_page(MutableBytes out, const ModePage& page, PageControl control,
                     const LogicalUnit& unit);

// New values for those of the unit's flags that `mask` has.
struct ModeChange {
  std::uint32_t mask = 0;
  std::uint32_t flags = 0;
};

// Adds to `change` what the whole page `given` asks for. If that is more than can be changed: where
// in the page, and nothing is added.
std::optional<FieldPointer> read_mode_page(Bytes given, const ModePage& page,
                                           const LogicalUnit& unit, ModeChange& change);

}  // namespace openiser::target
