// INQUIRY (SPC-4 section 6.6): the standard data, and the choice of a vital product data page.
#include <algorithm>
#include <array>

#include "target/scsi/handlers.h"
#include "target/scsi/nexus_state.h"
#include "target/scsi/vpd.h"

namespace openiser::target {
namespace {

constexpr std::size_t kStandardLength = 96;
// SAM-5, SPC-4, SBC-3, iSCSI, no version claimed (SPC-4 table 142).
constexpr std::array<std::uint16_t, 4> kVersions{0x00a0, 0x0460, 0x04c0, 0x0960};

void standard_inquiry(Command& command) {
  static const LogicalUnitSettings kNobody;
  const LogicalUnit* unit = command.unit();
  const LogicalUnitSettings& settings = unit ? unit->settings() : kNobody;
  std::array<std::byte, kStandardLength> data;
  ByteWriter out(data);
  out.u8(peripheral_of(command));
  out.u8(0x00);  // not removable
  out.u8(0x06);  // SPC-4
  out.u8(0x12);  // HISUP, response data format 2
  out.u8(kStandardLength - 5);
  out.u8(0x38);  // TPGS: states change by command and by themselves; 3PC
  out.u8(0x00);
  out.u8(0x02);  // CMDQUE
  write_ascii(out, settings.vendor, 8);
  write_ascii(out, settings.product, 16);
  write_ascii(out, settings.revision, 4);
  out.zeros(58 - out.size());
  for (const std::uint16_t version : kVersions) out.be16(version);
  out.zeros(kStandardLength - out.size());
  command.answer(data, command.cdb().be16(3));
}

}  // namespace

std::uint8_t peripheral_of(const Command& command) {
  if (!command.unit()) return 0x7f;
  return access_state(command) == AccessState::unavailable ? 0x20 : 0x00;
}

void write_ascii(ByteWriter& out, std::string_view text, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    out.u8(c >= 0x20 && c <= 0x7e ? static_cast<std::uint8_t>(c) : '?');
  }
}

void inquiry(Command& command) {
  const Cdb cdb = command.cdb();
  if (cdb.bit(1, 1)) return command.fail(invalid_cdb(1, 1));  // CMDDT, obsolete
  if (cdb.bit(1, 0)) return vital_product_data(command);
  if (cdb.u8(2) != 0) return command.fail(invalid_cdb(2));
  standard_inquiry(command);
}

}  // namespace openiser::target
