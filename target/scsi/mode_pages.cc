#include "target/scsi/mode_pages.h"

#include <algorithm>
#include <array>
#include <bit>

namespace openiser::target {
namespace {

constexpr std::size_t kPageHeader = 2;

// A field that MODE SELECT can change.
struct Field {
  std::uint8_t page;
  std::uint8_t byte;
  std::uint8_t mask;
  std::uint32_t flag;  // as wide as the mask
};
constexpr std::array kFields{
    Field{0x08, 2, 0x04, unit_flag::write_cache},
    Field{0x0a, 2, 0x04, unit_flag::descriptor_sense},
    Field{0x0a, 4, 0x08, unit_flag::software_write_protect},
    Field{0x0a, 5, 0x40, unit_flag::task_aborted_status},
    Field{0x1c, 2, 0x08, unit_flag::exceptions_off},
    Field{0x1c, 2, 0x04, unit_flag::exceptions_test},
    Field{0x1c, 3, 0x0f, unit_flag::exceptions_method},
};

std::uint8_t from_flags(const Field& field, std::uint32_t flags) {
  const std::uint32_t value = (flags & field.flag) >> std::countr_zero(field.flag);
  return static_cast<std::uint8_t>(value << std::countr_zero(field.mask));
}

std::uint32_t to_flags(const Field& field, std::uint8_t byte) {
  const auto value =
      static_cast<std::uint32_t>((byte & field.mask) >> std::countr_zero(field.mask));
  return value << std::countr_zero(field.flag);
}

void caching_page(MutableBytes, const LogicalUnit&) {}

// SPC-4 section 7.5.8
void control_page(MutableBytes page, const LogicalUnit&) {
  store_u8(&page[3], 0x10);      // unrestricted reordering
  store_be16(&page[8], 0xffff);  // busy timeout: without limit
}

void informational_exceptions_page(MutableBytes, const LogicalUnit&) {}

constexpr std::array kPages{
    ModePage{0x08, 20, caching_page},                   // SBC-3 section 6.4.5
    ModePage{0x0a, 12, control_page},                   // SPC-4 section 7.5.8
    ModePage{0x1c, 12, informational_exceptions_page},  // SPC-4 section 7.5.11
};

bool is_field_of(const Field& field, const ModePage& page, const LogicalUnit& unit) {
  return field.page == page.code && (field.flag & unit.changeable_flags()) != 0;
}

// What this device server can do of what the fields could say: methods (MRIE) none, unit attention
// and on request; a test and no exceptions contradict each other (SPC-4 section 7.5.11).
std::optional<FieldPointer> find_contradiction(std::uint32_t flags, const ModePage& page) {
  if (page.code != 0x1c) return {};
  constexpr std::uint32_t kBoth = unit_flag::exceptions_off | unit_flag::exceptions_test;
  if ((flags & kBoth) == kBoth) return FieldPointer{.in_cdb = false, .byte = 2, .bit = 3};
  const std::uint32_t method = flags & unit_flag::exceptions_method;
  if (method != 0 && method != exceptions_by_attention && method != exceptions_on_request) {
    return FieldPointer{.in_cdb = false, .byte = 3, .bit = 3};
  }
  return {};
}

}  // namespace

std::span<const ModePage> mode_pages() {
  return kPages;
}

void write_mode_page(MutableBytes out, const ModePage& page, PageControl control,
                     const LogicalUnit& unit) {
  std::ranges::fill(out, std::byte{0});
  if (control != PageControl::changeable) page.fill(out, unit);
  store_u8(&out[0], page.code);
  store_u8(&out[1], static_cast<std::uint8_t>(page.size - kPageHeader));
  const std::uint32_t flags =
      control == PageControl::defaults ? unit.default_flags() : unit.flags();
  for (const Field& field : kFields) {
    if (field.page != page.code) continue;
    const bool can_change = is_field_of(field, page, unit);
    const std::uint8_t bits = control != PageControl::changeable ? from_flags(field, flags)
                              : can_change                       ? field.mask
                                                                 : std::uint8_t{0};
    out[field.byte] |= std::byte{bits};
  }
}

std::optional<FieldPointer> read_mode_page(Bytes given, const ModePage& page,
                                           const LogicalUnit& unit, ModeChange& change) {
  std::array<std::byte, kMaxModePage> now;
  std::array<std::byte, kMaxModePage> changeable;
  write_mode_page(MutableBytes(now).first(page.size), page, PageControl::current, unit);
  write_mode_page(MutableBytes(changeable).first(page.size), page, PageControl::changeable, unit);
  for (std::size_t i = kPageHeader; i < page.size; ++i) {
    const auto wrong = static_cast<std::uint8_t>((given[i] ^ now[i]) & ~changeable[i]);
    if (wrong == 0) continue;
    return FieldPointer{.in_cdb = false,
                        .byte = static_cast<std::uint16_t>(i),
                        .bit = static_cast<std::uint8_t>(std::bit_width(wrong) - 1)};
  }
  ModeChange asked = change;
  for (const Field& field : kFields) {
    if (!is_field_of(field, page, unit)) continue;
    asked.mask |= field.flag;
    asked.flags = (asked.flags & ~field.flag) | to_flags(field, load_u8(&given[field.byte]));
  }
  if (const auto place = find_contradiction(asked.flags, page)) return place;
  change = asked;
  return {};
}

}  // namespace openiser::target
