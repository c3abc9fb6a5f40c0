#include "target/scsi/parameter_list.h"

namespace openiser::target {

void receive_parameter_list(Command& command, std::uint32_t length, Handler then) {
  command.work().transfer_length = length;
  command.receive(length, then);
}

std::optional<std::vector<std::byte>> parameter_list(Command& command, std::uint32_t length) {
  std::vector<std::byte> list = command.gather_data();
  if (list.size() < length) {
    command.fail({.condition = Condition::parameter_list_length_error});
    return {};
  }
  list.resize(length);
  return list;
}

}  // namespace openiser::target
