// REPORT and SET TARGET PORT GROUPS (SPC-4 sections 6.37 and 6.45).
#include <array>
#include <optional>
#include <vector>

#include "target/scsi/handlers.h"
#include "target/scsi/nexus_state.h"
#include "target/scsi/parameter_list.h"

namespace openiser::target {
namespace {

constexpr std::size_t kHeader = 4;  // of either command's parameter data
constexpr std::size_t kDescriptor = 4;
constexpr std::uint32_t kMaxList = kHeader + kDescriptor * 0xffff;  // a group has a 16-bit tag

// T_SUP, U_SUP, S_SUP, AN_SUP, AO_SUP
constexpr std::uint8_t kSupportedStates = 0x8f;

void append_group(std::vector<std::byte>& list, const PortGroup& group) {
  std::array<std::byte, 12> descriptor{};
  const auto state = static_cast<std::uint8_t>(group.state());
  store_u8(&descriptor[0], static_cast<std::uint8_t>((group.preferred() ? 0x80 : 0) | state));
  store_u8(&descriptor[1], kSupportedStates);
  store_be16(&descriptor[2], group.tag());
  store_u8(&descriptor[5], static_cast<std::uint8_t>(group.changed_by()));
  store_u8(&descriptor[7], 1);               // one target port,
  store_be16(&descriptor[10], group.tag());  // whose relative identifier is the group's
  list.insert(list.end(), descriptor.begin(), descriptor.end());
}

// What may be asked for; not transitioning, which is no state to stay in, nor what is not there.
std::optional<AccessState> requested_state(std::uint8_t code) {
  if (code > static_cast<std::uint8_t>(AccessState::unavailable)) return {};
  return static_cast<AccessState>(code);
}

// Checks all descriptors, or carries all of them out. False: the command has failed.
bool take_descriptors(Command& command, Bytes list, bool carry_out, bool& changed) {
  PortGroups& groups = command.unit()->port_groups();
  for (std::size_t at = kHeader; at < list.size(); at += kDescriptor) {
    const auto position = static_cast<std::uint16_t>(at);
    const auto state = requested_state(load_u8(&list[at]) & 0x0f);
    PortGroup* group = groups.find(load_be16(&list[at + 2]));
    if (!state || !group || !group->served()) {
      command.fail(invalid_parameter(state ? position + 2 : position));
      return false;
    }
    if (carry_out && group->change(*state, PortGroup::ChangedBy::command)) changed = true;
  }
  return true;
}

void groups_received(Command& command) {
  const auto list = parameter_list(command, command.cdb().be32(6));
  if (!list) return;
  bool changed = false;
  if (!take_descriptors(command, *list, false, changed)) return;
  take_descriptors(command, *list, true, changed);
  if (changed) command.unit()->raise_on_others(command.nexus(), Condition::access_state_changed);
  command.good(command.work().transfer_length);
}

}  // namespace

// PARAMETER DATA FORMAT: 0 with a header of the length alone, 1 with an extended one, whose
// IMPLICIT TRANSITION TIME is not specified.
void report_target_port_groups(Command& command) {
  const Cdb cdb = command.cdb();
  const unsigned format = cdb.u8(1) >> 5;
  if (format > 1) return command.fail(invalid_cdb(1, 7));
  std::vector<std::byte> list(format == 1 ? 8 : kHeader);
  if (format == 1) store_u8(&list[4], 0x10);
  for (const PortGroup& group : command.unit()->port_groups().all()) {
    if (group.served()) append_group(list, group);
  }
  store_be32(&list[0], static_cast<std::uint32_t>(list.size() - kHeader));
  command.answer(list, cdb.be32(6));
}

// For the addressed unit alone. No length changes nothing.
void set_target_port_groups(Command& command) {
  const std::uint32_t length = command.cdb().be32(6);
  if (length == 0) return command.good();
  if (length < kHeader || length % kDescriptor != 0 || length > kMaxList) {
    return command.fail(invalid_cdb(6));
  }
  receive_parameter_list(command, length, groups_received);
}

}  // namespace openiser::target
