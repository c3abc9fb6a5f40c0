// REPORT and SET TIMESTAMP (SPC-4 sections 6.38 and 6.46).
#include <array>

#include "target/scsi/handlers.h"
#include "target/scsi/nexus_state.h"
#include "target/scsi/parameter_list.h"

namespace openiser::target {
namespace {

constexpr std::size_t kSize = 12;  // of either command's parameter data

// TIMESTAMP ORIGIN
constexpr std::uint8_t kSetByCommand = 2;
constexpr std::uint8_t kSetOtherwise = 3;

void timestamp_received(Command& command) {
  const auto list = parameter_list(command, kSize);
  if (!list) return;
  LogicalUnit& unit = *command.unit();
  const auto high = static_cast<std::uint64_t>(load_be16(&(*list)[4]));
  unit.notes().set_clock(high << 32 | load_be32(&(*list)[6]));
  unit.raise_on_others(command.nexus(), Condition::timestamp_changed);
  command.good(command.work().transfer_length);
}

}  // namespace

void report_timestamp(Command& command) {
  const UnitNotes& notes = command.unit()->notes();
  const std::uint64_t clock = notes.clock();
  std::array<std::byte, kSize> data{};
  store_be16(&data[0], kSize - 2);
  store_u8(&data[2], notes.clock_was_set() ? kSetByCommand : kSetOtherwise);
  store_be16(&data[4], static_cast<std::uint16_t>(clock >> 32));
  store_be32(&data[6], static_cast<std::uint32_t>(clock));
  command.answer(data, command.cdb().be32(6));
}

// Of a longer list, what is known of it.
void set_timestamp(Command& command) {
  const std::uint32_t length = command.cdb().be32(6);
  if (length == 0) return command.good();
  if (length < kSize) return command.fail({.condition = Condition::parameter_list_length_error});
  receive_parameter_list(command, kSize, timestamp_received);
}

}  // namespace openiser::target
