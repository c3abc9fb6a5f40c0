// REPORT SUPPORTED OPERATION CODES (SPC-4 section 6.35): the opcode table as data.
#include <array>
#include <vector>

#include "target/scsi/command.h"
#include "target/scsi/handlers.h"

namespace openiser::target {
namespace {

constexpr std::size_t kTimeoutsSize = 12;

bool has_service_action(const OpcodeRow& row) {
  return (row.access & access::has_service_action) != 0;
}

void append(std::vector<std::byte>& list, Bytes bytes) {
  list.insert(list.end(), bytes.begin(), bytes.end());
}

// SPC-4 section 6.35.4, in seconds. A second is ample for a store that is well; a minute, for one
// on a disk that is busy. Work on the whole medium takes as long as that is large: not specified.
void append_timeouts(std::vector<std::byte>& list, const OpcodeRow& row) {
  const bool known = (row.access & access::repairs_medium) == 0;
  std::array<std::byte, kTimeoutsSize> timeouts{};
  store_be16(&timeouts[0], kTimeoutsSize - 2);
  store_be32(&timeouts[4], known ? 1 : 0);   // nominal
  store_be32(&timeouts[8], known ? 60 : 0);  // recommended
  append(list, timeouts);
}

void all_commands(Command& command, bool timeouts, std::uint32_t allocation_length) {
  std::vector<std::byte> list(4);
  for (const OpcodeRow& row : opcode_rows()) {
    if (!command.unit()->provides(row.access)) continue;
    std::array<std::byte, 8> entry{};
    store_u8(&entry[0], row.opcode);
    store_be16(&entry[2], row.service_action);
    store_u8(&entry[5],
             static_cast<std::uint8_t>((timeouts ? 2 : 0) | (has_service_action(row) ? 1 : 0)));
    store_be16(&entry[6], row.cdb_length);
    append(list, entry);
    if (timeouts) append_timeouts(list, row);
  }
  store_be32(list.data(), static_cast<std::uint32_t>(list.size() - 4));
  command.answer(list, allocation_length);
}

void one_command(Command& command, const OpcodeRow* row, bool timeouts,
                 std::uint32_t allocation_length) {
  constexpr std::uint8_t kNotSupported = 1;
  constexpr std::uint8_t kAsInStandard = 3;
  std::vector<std::byte> data(4);
  if (!row || !command.unit()->provides(row->access)) {
    store_u8(&data[1], kNotSupported);
    return command.answer(data, allocation_length);
  }
  store_u8(&data[1], static_cast<std::uint8_t>(kAsInStandard | (timeouts ? 0x80 : 0)));
  store_be16(&data[2], row->cdb_length);
  append(data, std::as_bytes(std::span(row->usage).first(row->cdb_length)));
  if (timeouts) append_timeouts(data, *row);
  command.answer(data, allocation_length);
}

}  // namespace

// REPORTING OPTIONS: 0 all, 1 an opcode that has no service actions, 2 one that has, 3 either.
void report_supported_operation_codes(Command& command) {
  const Cdb cdb = command.cdb();
  const bool timeouts = cdb.bit(2, 7);
  const unsigned option = cdb.u8(2) & 7;
  const std::uint32_t allocation_length = cdb.be32(6);
  if (option == 0) return all_commands(command, timeouts, allocation_length);
  if (option > 3) return command.fail(invalid_cdb(2, 2));

  const std::uint16_t action = cdb.be16(4);
  const bool has_actions = opcode_has_service_actions(cdb.u8(3));
  if (option == 1 && has_actions) return command.fail(invalid_cdb(2, 2));
  const bool opcode_is_known = has_actions || find_opcode(cdb.u8(3), 0).row != nullptr;
  if (option == 2 && opcode_is_known && !has_actions) return command.fail(invalid_cdb(2, 2));
  // Where there is no service action field, option 3 wants zero.
  const bool fits = has_actions ? action <= 0x1f : option == 1 || action == 0;
  const OpcodeRow* row =
      fits ? find_opcode(cdb.u8(3), static_cast<std::uint8_t>(action)).row : nullptr;
  one_command(command, row, timeouts, allocation_length);
}

}  // namespace openiser::target
