// MODE SENSE (SPC-4 sections 6.13, 6.14 and 7.5). Nothing is saved.
#include <algorithm>
#include <array>

#include "target/scsi/command.h"
#include "target/scsi/handlers.h"
#include "target/scsi/mode_pages.h"

namespace openiser::target {
namespace {

constexpr std::uint8_t kAllPages = 0x3f;
constexpr std::uint8_t kAllSubpages = 0xff;

// Which pages are asked for.
struct Wanted {
  std::uint8_t code;
  std::uint8_t subpage;
  bool has(const ModePage& page) const {
    return (code == kAllPages || code == page.code) && (subpage == kAllSubpages || subpage == 0);
  }
};

// SBC-3 sections 6.4.2 and 6.4.3
void write_block_descriptor(ByteWriter& out, bool long_lba, const LogicalUnit& unit) {
  if (long_lba) {
    out.be64(unit.blocks());
    out.be32(0);
  } else {
    out.be32(static_cast<std::uint32_t>(std::min<std::uint64_t>(unit.blocks(), UINT32_MAX)));
  }
  out.be32(unit.block_size());
}

void write_pages(ByteWriter& out, const Wanted& wanted, PageControl control,
                 const LogicalUnit& unit) {
  for (const ModePage& row : mode_pages()) {
    if (!wanted.has(row)) continue;
    std::array<std::byte, kMaxModePage> page;
    const MutableBytes bytes = MutableBytes(page).first(row.size);
    write_mode_page(bytes, row, control, unit);
    out.bytes(bytes);
  }
}

bool has_any(const Wanted& wanted) {
  return std::ranges::any_of(mode_pages(), [&](const auto& row) { return wanted.has(row); });
}

}  // namespace

void mode_sense(Command& command) {
  const Cdb cdb = command.cdb();
  const LogicalUnit& unit = *command.unit();
  const bool six = cdb.opcode() == 0x1a;
  const Wanted wanted{static_cast<std::uint8_t>(cdb.u8(2) & 0x3f), cdb.u8(3)};
  const auto control = static_cast<PageControl>(cdb.u8(2) >> 6);
  if (!has_any({wanted.code, kAllSubpages})) return command.fail(invalid_cdb(2, 5));
  if (!has_any(wanted)) return command.fail(invalid_cdb(3));
  if (control == PageControl::saved) {
    return command.fail({.condition = Condition::saving_not_supported});
  }

  const bool long_lba = !six && cdb.bit(1, 4);
  const bool descriptor = !cdb.bit(1, 3);
  const std::size_t descriptor_size = !descriptor ? 0 : long_lba ? 16 : 8;
  const std::size_t header_size = six ? 4 : 8;
  std::array<std::byte, 256> data{};
  ByteWriter body(MutableBytes(data).subspan(header_size));
  if (descriptor) write_block_descriptor(body, long_lba, unit);
  write_pages(body, wanted, control, unit);

  // WP, and DPOFUA: the two bits are accepted.
  const bool protect =
      command.write_protected() || unit.has_flag(unit_flag::software_write_protect);
  const std::uint8_t device = protect ? 0x90 : 0x10;
  const std::size_t total = header_size + body.size();
  ByteWriter header{MutableBytes(data)};
  if (six) {
    header.u8(static_cast<std::uint8_t>(total - 1));
    header.u8(0);
    header.u8(device);
    header.u8(static_cast<std::uint8_t>(descriptor_size));
  } else {
    header.be16(static_cast<std::uint16_t>(total - 2));
    header.u8(0);
    header.u8(device);
    header.u8(long_lba && descriptor ? 0x01 : 0x00);  // LONGLBA
    header.u8(0);
    header.be16(static_cast<std::uint16_t>(descriptor_size));
  }
  command.answer(Bytes(data).first(total), six ? cdb.u8(4) : cdb.be16(7));
}

}  // namespace openiser::target
