// PERSISTENT RESERVE IN (SPC-4 section 6.15).
#include <vector>

#include "target/scsi/handlers.h"
#include "target/scsi/nexus_state.h"
#include "target/scsi/reservations/transport_id.h"

namespace openiser::target {
namespace {

using List = std::vector<std::byte>;

// Appends `size` zeros, to be filled in.
MutableBytes grow(List& list, std::size_t size) {
  list.resize(list.size() + size);
  return MutableBytes(list).last(size);
}

// PRGENERATION and ADDITIONAL LENGTH.
List header_of(const PersistentReservations& state) {
  List list;
  store_be32(grow(list, 8).data(), state.generation);
  return list;
}

void answer_list(Command& command, List& list) {
  constexpr std::size_t kHeader = 8;
  store_be32(&list[4], static_cast<std::uint32_t>(list.size() - kHeader));
  command.answer(list, command.cdb().be16(7));
}

// SCOPE 0, the logical unit, and TYPE.
std::uint8_t scope_and_type(const PersistentReservations& state) {
  return state.type ? static_cast<std::uint8_t>(*state.type) : 0;
}

// The full status descriptor of a nexus (SPC-4 table 213).
void append_full_status(List& list, const PersistentReservations& state, const Registration& each) {
  const auto id = encode_transport_id(each.nexus.initiator_port);
  const MutableBytes descriptor = grow(list, 24);
  store_be64(&descriptor[0], each.key);
  if (state.is_holder(each.nexus)) {
    store_u8(&descriptor[12], 0x01);  // R_HOLDER
    store_u8(&descriptor[13], scope_and_type(state));
  }
  store_be16(&descriptor[18], each.nexus.relative_target_port);
  store_be32(&descriptor[20], static_cast<std::uint32_t>(id.size()));
  list.insert(list.end(), id.begin(), id.end());
}

}  // namespace

// SPC-4 section 6.15.2
void read_keys(Command& command) {
  const PersistentReservations state = command.unit()->reservations().persistent();
  List list = header_of(state);
  for (const Registration& each : state.registrations) store_be64(grow(list, 8).data(), each.key);
  answer_list(command, list);
}

// SPC-4 section 6.15.3. A reservation of all registrants has no one key.
void read_reservation(Command& command) {
  const PersistentReservations state = command.unit()->reservations().persistent();
  List list = header_of(state);
  if (state.type) {
    const MutableBytes descriptor = grow(list, 16);
    if (!state.all_registrants()) store_be64(&descriptor[0], state.find(state.holder)->key);
    store_u8(&descriptor[13], scope_and_type(state));
  }
  answer_list(command, list);
}

// SPC-4 section 6.15.4
void report_capabilities(Command& command) {
  constexpr std::uint8_t kCrh = 0x10, kSipC = 0x08, kAtpC = 0x04, kPtplC = 0x01;
  constexpr std::uint8_t kTmv = 0x80, kPtplA = 0x01;
  // TEST UNIT READY passes, MODE SENSE and the like pass write exclusive.
  constexpr std::uint8_t kAllowCommands = 3 << 4;
  constexpr std::uint16_t kAllTypes = 0xea01;
  const bool can_survive = command.unit()->settings().state != nullptr;
  const bool survives = command.unit()->reservations().persistent().survive_power_loss;
  std::array<std::byte, 8> data{};
  store_be16(&data[0], data.size());
  store_u8(&data[2], kCrh | kSipC | kAtpC | (can_survive ? kPtplC : 0));
  store_u8(&data[3], kTmv | kAllowCommands | (survives ? kPtplA : 0));
  store_be16(&data[4], kAllTypes);
  command.answer(data, command.cdb().be16(7));
}

// SPC-4 section 6.15.5
void read_full_status(Command& command) {
  const PersistentReservations state = command.unit()->reservations().persistent();
  List list = header_of(state);
  for (const Registration& each : state.registrations) append_full_status(list, state, each);
  answer_list(command, list);
}

}  // namespace openiser::target
