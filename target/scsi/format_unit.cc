// FORMAT UNIT (SBC-3 section 5.5): all blocks are deallocated, where the store can, or zeros. There
// are no defects to manage, no initialization pattern and no protection information.
#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"
#include "target/scsi/medium_commands.h"
#include "target/scsi/parameter_list.h"

namespace openiser::target {
namespace {

bool has_long_list(const Command& command) {
  return command.cdb().bit(1, 5);
}

std::uint32_t list_size(const Command& command) {
  return has_long_list(command) ? 8 : 4;
}

void begin(Command& command, bool immediate) {
  const auto operation = command.unit()->can_discard() ? StoreRequest::Operation::discard
                                                       : StoreRequest::Operation::write_zeroes;
  work_on_medium(command, {.working = Medium::State::formatting,
                           .failed = Medium::State::format_failed,
                           .passes = {{operation, {}}},
                           .immediate = immediate});
}

// The short and the long parameter list header (SBC-3 tables 39 and 40).
void format_list_received(Command& command) {
  const bool is_long = has_long_list(command);
  const auto read = parameter_list(command, list_size(command));
  if (!read) return;
  const Bytes list(*read);
  if ((load_u8(&list[0]) & 0x07) != 0) return command.fail(invalid_parameter(0));  // PROTECTION
  const std::uint8_t options = load_u8(&list[1]);
  if ((options & 0x08) != 0) return command.fail(invalid_parameter(1));  // IP
  if (is_long && load_u8(&list[3]) != 0) return command.fail(invalid_parameter(3));
  const std::uint32_t defects = is_long ? load_be32(&list[4]) : load_be16(&list[2]);
  if (defects != 0) return command.fail(invalid_parameter(is_long ? 4 : 2));
  begin(command, (options & 0x02) != 0);
}

}  // namespace

void format_unit(Command& command) {
  const Cdb cdb = command.cdb();
  if ((cdb.u8(1) & 0xc0) != 0) return command.fail(invalid_cdb(1, 7));  // FMTPINFO
  if (!cdb.bit(1, 4)) return begin(command, false);                     // FMTDATA
  receive_parameter_list(command, list_size(command), format_list_received);
}

}  // namespace openiser::target
