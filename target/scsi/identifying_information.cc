// REPORT and SET IDENTIFYING INFORMATION (SPC-4 sections 6.32 and 6.43).
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "target/scsi/handlers.h"
#include "target/scsi/kept_state.h"
#include "target/scsi/nexus_state.h"
#include "target/scsi/parameter_list.h"

namespace openiser::target {
namespace {

constexpr std::uint8_t kSupportedTypes = 0x7f;
constexpr std::size_t kHeader = 4;

struct TypeRow {
  std::uint8_t code;
  std::uint16_t max_length;
  std::vector<std::byte> IdentifyingInformation::*value;
  bool null_terminated;  // SPC-4 section 5.12
};
constexpr std::array kTypes{
    TypeRow{0x00, IdentifyingInformation::kMaxIdentifier, &IdentifyingInformation::identifier,
            false},
    TypeRow{0x02, IdentifyingInformation::kMaxText, &IdentifyingInformation::text, true},
};

// INFORMATION TYPE, of either command.
std::uint8_t type_field(const Cdb& cdb) {
  return cdb.u8(10) >> 1;
}

const TypeRow* find_type(std::uint8_t code) {
  const auto* row = std::ranges::find(kTypes, code, &TypeRow::code);
  return row == kTypes.end() ? nullptr : row;
}

std::vector<std::byte> supported_types() {
  std::vector<std::byte> list(kTypes.size() * 4);
  std::size_t at = 0;
  for (const TypeRow& row : kTypes) {
    store_u8(&list[at], static_cast<std::uint8_t>(row.code << 1));
    store_be16(&list[at + 2], row.max_length);
    at += 4;
  }
  return list;
}

void come_into_force(Command& command, IdentifyingInformation next) {
  LogicalUnit& unit = *command.unit();
  unit.notes().set_information(std::move(next));
  unit.raise_on_others(command.nexus(), Condition::device_identifier_changed);
  command.good(command.work().transfer_length);
}

// What is kept is on stable storage before it is reported.
void keep_first(Command& command, IdentifyingInformation next) {
  const KeptState kept = command.unit()->kept_state(kInformationKind, kInformationVersion);
  auto content = encode_information(next);
  save_first(command, kept, std::move(content),
             [&command, next = std::move(next)](ErrorCode error) {
               if (!error) return come_into_force(command, next);
               command.fail({.condition = Condition::internal_target_failure});
             });
}

// The command has its data, and no other of its kind is under way on this unit.
void change_information(Command& command) {
  const Cdb cdb = command.cdb();
  const auto list = parameter_list(command, cdb.be32(6));
  if (!list) return;
  const TypeRow& row = *find_type(type_field(cdb));
  if (row.null_terminated && !list->empty() && list->back() != std::byte{0}) {
    return command.fail(invalid_parameter(list->size() - 1));
  }
  const IdentifyingInformation before = command.unit()->notes().information();
  IdentifyingInformation next = before;
  next.*row.value = *list;
  if (next == before) return command.good(command.work().transfer_length);
  if (command.unit()->settings().state) return keep_first(command, std::move(next));
  come_into_force(command, std::move(next));
}

void information_received(Command& command) {
  command.wait_for_gate(command.unit()->information_gate(), change_information);
}

}  // namespace

void report_identifying_information(Command& command) {
  const Cdb cdb = command.cdb();
  const std::uint8_t code = type_field(cdb);
  const TypeRow* row = find_type(code);
  if (!row && code != kSupportedTypes) return command.fail(invalid_cdb(10, 7));
  const std::vector<std::byte> value =
      row ? command.unit()->notes().information().*row->value : supported_types();
  std::vector<std::byte> data(kHeader);
  store_be16(&data[2], static_cast<std::uint16_t>(value.size()));
  data.insert(data.end(), value.begin(), value.end());
  command.answer(data, cdb.be32(6));
}

// A length of 0 removes what is there.
void set_identifying_information(Command& command) {
  const Cdb cdb = command.cdb();
  const TypeRow* row = find_type(type_field(cdb));
  if (!row) return command.fail(invalid_cdb(10, 7));
  if (cdb.be32(6) > row->max_length) return command.fail(invalid_cdb(6));
  receive_parameter_list(command, cdb.be32(6), information_received);
}

}  // namespace openiser::target
