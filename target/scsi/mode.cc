// MODE SENSE (SPC-4 sections 6.13, 6.14 and 7.5). There is no MODE SELECT: nothing is changeable
// and nothing is saved.
#include <algorithm>
#include <array>

#include "target/scsi/command.h"
#include "target/scsi/handlers.h"

namespace openiser::target {
namespace {

constexpr std::uint8_t kAllPages = 0x3f;
constexpr std::uint8_t kAllSubpages = 0xff;
enum PageControl : std::uint8_t { current = 0, changeable = 1, defaults = 2, saved = 3 };

// SBC-3 section 6.4.6
void caching_page(MutableBytes page, const LogicalUnit& unit) {
  if (unit.volatile_cache()) store_u8(&page[2], 0x04);  // WCE
}

// SPC-4 section 7.5.8
void control_page(MutableBytes page, const LogicalUnit&) {
  store_u8(&page[3], 0x10);      // unrestricted reordering
  store_u8(&page[5], 0x40);      // TAS: tasks aborted by another nexus end with TASK ABORTED
  store_be16(&page[8], 0xffff);  // busy timeout: without limit
}

void informational_exceptions_page(MutableBytes, const LogicalUnit&) {}

struct ModePage {
  std::uint8_t code;
  std::uint8_t size;  // with its header
  void (*fill)(MutableBytes, const LogicalUnit&);
};
constexpr std::array kPages{
    ModePage{0x08, 20, caching_page},
    ModePage{0x0a, 12, control_page},
    ModePage{0x1c, 12, informational_exceptions_page},
};

void write_pages(ByteWriter& out, std::uint8_t code, PageControl control, const LogicalUnit& unit) {
  for (const ModePage& row : kPages) {
    if (code != kAllPages && code != row.code) continue;
    std::array<std::byte, 32> page{};
    const MutableBytes bytes = MutableBytes(page).first(row.size);
    store_u8(&page[0], row.code);
    store_u8(&page[1], static_cast<std::uint8_t>(row.size - 2));
    if (control != changeable) row.fill(bytes, unit);
    out.bytes(bytes);
  }
}

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

bool known_page(std::uint8_t code) {
  return code == kAllPages || std::ranges::find(kPages, code, &ModePage::code) != kPages.end();
}

}  // namespace

void mode_sense(Command& command) {
  const Cdb cdb = command.cdb();
  const LogicalUnit& unit = *command.unit();
  const bool six = cdb.opcode() == 0x1a;
  const std::uint8_t code = cdb.u8(2) & 0x3f;
  const std::uint8_t subpage = cdb.u8(3);
  const auto control = static_cast<PageControl>(cdb.u8(2) >> 6);
  if (!known_page(code)) return command.fail(invalid_cdb(2, 5));
  if (subpage != 0 && subpage != kAllSubpages) return command.fail(invalid_cdb(3));
  if (control == saved) return command.fail({.condition = Condition::saving_not_supported});

  const bool long_lba = !six && cdb.bit(1, 4);
  const bool descriptor = !cdb.bit(1, 3);
  const std::size_t descriptor_size = !descriptor ? 0 : long_lba ? 16 : 8;
  const std::size_t header_size = six ? 4 : 8;
  std::array<std::byte, 128> data{};
  ByteWriter body(MutableBytes(data).subspan(header_size));
  if (descriptor) write_block_descriptor(body, long_lba, unit);
  write_pages(body, code, control, unit);

  // WP, and DPOFUA: the two bits are accepted.
  const std::uint8_t device = command.write_protected() ? 0x90 : 0x10;
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
