// RESERVE and RELEASE (SPC-2 sections 7.16, 7.17, 7.21 and 7.22): of the whole unit, for the nexus
// that asks. What SPC-2 has beyond that is obsolete and refused. While there are registrations both
// conflict, but for those who share in a persistent reservation (SPC-4 section 5.12.3).
#include "target/scsi/handlers.h"
#include "target/scsi/nexus_state.h"

namespace openiser::target {
namespace {

// False: the command has failed.
bool is_whole_unit(Command& command) {
  const Cdb cdb = command.cdb();
  const bool ten = cdb.opcode() == 0x56 || cdb.opcode() == 0x57;
  constexpr std::uint8_t kThirdParty = 4, kLongId = 1, kExtent = 0;
  for (const std::uint8_t bit : {kThirdParty, kLongId, kExtent}) {
    if (!cdb.bit(1, bit) || (bit == kLongId && !ten)) continue;
    command.fail(invalid_cdb(1, bit));
    return false;
  }
  return true;
}

}  // namespace

void reserve_unit(Command& command) {
  if (!is_whole_unit(command)) return;
  if (!command.unit()->reservations().reserve(command.nexus().i_t_nexus())) {
    return command.refuse_for_reservation();
  }
  command.good();
}

void release_unit(Command& command) {
  if (!is_whole_unit(command)) return;
  if (!command.unit()->reservations().release(command.nexus().i_t_nexus())) {
    return command.refuse_for_reservation();
  }
  command.good();
}

}  // namespace openiser::target
