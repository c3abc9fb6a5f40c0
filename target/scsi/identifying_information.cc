// REPORT and SET IDENTIFYING INFORMATION (SPC-4 sections 6.32 and 6.43).
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "target/scsi/handlers.h"
#include "target/scsi/nexus_state.h"
#include "target/scsi/parameter_list.h"

namespace openiser::target {
namespace {

using Information = UnitNotes::Information;

constexpr std::uint8_t kSupportedTypes = 0x7f;
constexpr std::size_t kHeader = 4;

struct TypeRow {
  Information type;
  std::uint16_t max_length;
};
constexpr std::array kTypes{
    TypeRow{Information::identifier, UnitNotes::kMaxIdentifier},
    TypeRow{Information::text, UnitNotes::kMaxText},
};

// INFORMATION TYPE, of either command.
std::uint8_t type_field(const Cdb& cdb) {
  return cdb.u8(10) >> 1;
}

const TypeRow* find_type(std::uint8_t code) {
  const auto* row = std::ranges::find(kTypes, static_cast<Information>(code), &TypeRow::type);
  return row == kTypes.end() ? nullptr : row;
}

std::vector<std::byte> supported_types() {
  std::vector<std::byte> list(kTypes.size() * 4);
  std::size_t at = 0;
  for (const TypeRow& row : kTypes) {
    store_u8(&list[at], static_cast<std::uint8_t>(static_cast<unsigned>(row.type) << 1));
    store_be16(&list[at + 2], row.max_length);
    at += 4;
  }
  return list;
}

// SPC-4 section 5.12: a text is NUL-terminated.
bool is_text(Bytes value) {
  return value.empty() || value.back() == std::byte{0};
}

void information_received(Command& command) {
  const Cdb cdb = command.cdb();
  const auto list = parameter_list(command, cdb.be32(6));
  if (!list) return;
  const Information type = find_type(type_field(cdb))->type;
  if (type == Information::text && !is_text(*list)) {
    return command.fail(invalid_parameter(static_cast<std::uint16_t>(list->size() - 1)));
  }
  LogicalUnit& unit = *command.unit();
  if (unit.notes().set_information(type, *list)) {
    unit.raise_on_others(command.nexus(), Condition::device_identifier_changed);
  }
  command.good(command.work().transfer_length);
}

}  // namespace

void report_identifying_information(Command& command) {
  const Cdb cdb = command.cdb();
  const std::uint8_t code = type_field(cdb);
  const TypeRow* row = find_type(code);
  if (!row && code != kSupportedTypes) return command.fail(invalid_cdb(10, 7));
  const std::vector<std::byte> value =
      row ? command.unit()->notes().information(row->type) : supported_types();
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
