// What the device server can do: one row for each command, looked up by opcode and service action.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "target/scsi/reservations/conflict.h"

namespace openiser::target {

class Command;
// Checks the CDB and then either ends the command or starts its work (command.h).
using Handler = void (*)(Command&);

enum class Direction : std::uint8_t { none, in, out };

// Bits of OpcodeRow::access.
namespace access {
inline constexpr unsigned any_lun = 1;              // answers for LUNs that are not there, too
inline constexpr unsigned passes_attention = 2;     // neither reports nor clears a unit attention
inline constexpr unsigned writes = 4;               // refused by a write-protected unit
inline constexpr unsigned needs_discard = 8;        // there only where the store can discard
inline constexpr unsigned has_service_action = 16;  // in the low five bits of byte 1
// Asymmetric access states that let the command through, besides the active ones
// (SPC-4 section 5.15.2.4).
inline constexpr unsigned in_standby = 32;
inline constexpr unsigned in_unavailable = 64;
inline constexpr unsigned in_transition = 128;
inline constexpr unsigned in_any_state = in_standby | in_unavailable | in_transition;
inline constexpr unsigned repairs_medium = 256;   // there to end a failure of the whole medium
inline constexpr unsigned needs_atomicity = 512;  // there only where writes can be made atomic
}  // namespace access

struct OpcodeRow {
  std::uint8_t opcode;
  std::uint8_t service_action;
  std::string_view name;
  std::uint8_t cdb_length;
  // The CDB usage data of REPORT SUPPORTED OPERATION CODES (SPC-4 section 6.35.3): the opcode, the
  // service action, and elsewhere the bits we look at.
  std::array<std::uint8_t, 16> usage;
  Direction direction;
  unsigned access;
  ConflictsWith conflicts_with;
  Handler handler;
};

std::span<const OpcodeRow> opcode_rows();

struct OpcodeMatch {
  const OpcodeRow* row = nullptr;
  // The opcode is there, but not with this service action.
  bool unknown_service_action = false;
};
bool opcode_has_service_actions(std::uint8_t opcode);
OpcodeMatch find_opcode(std::uint8_t opcode, std::uint8_t service_action);

}  // namespace openiser::target
