// READ DEFECT DATA (SBC-3 sections 5.17 and 5.18): the lists there are, which are empty, whatever
// the format of their descriptors.
#include <array>

#include "target/scsi/command.h"
#include "target/scsi/handlers.h"

namespace openiser::target {

void read_defect_data(Command& command) {
  const Cdb cdb = command.cdb();
  const bool ten = cdb.opcode() == 0x37;
  const std::uint16_t at = ten ? 2 : 1;
  const std::uint8_t asked = cdb.u8(at) & 0x1f;  // PLIST, GLIST, DEFECT LIST FORMAT
  constexpr std::uint8_t kVendorSpecific = 6;    // and 7 is reserved
  if ((asked & 7) >= kVendorSpecific) return command.fail(invalid_cdb(at, 2));
  std::array<std::byte, 8> header{};
  store_u8(&header[1], asked);
  const std::size_t size = ten ? 4 : 8;
  command.answer(Bytes(header).first(size), ten ? cdb.be16(7) : cdb.be32(6));
}

}  // namespace openiser::target
