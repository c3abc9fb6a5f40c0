// The parameter list of PERSISTENT RESERVE OUT (SPC-4 sections 6.16.3 and 6.16.4).
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "target/scsi/reservations/persistent.h"

namespace openiser::target {

// What the list is read against.
struct ReserveOutContext {
  ItNexus from{};
  ReserveOutAction action = ReserveOutAction::register_key;
  std::uint8_t type = 0;
  bool can_survive_power_loss = false;
  std::span<const std::uint16_t> target_ports{};  // relative target port identifiers there are
  std::span<const ItNexus> known{};               // nexuses that are logged in or registered
};

// The command, or what is wrong with it. `list` is as long as PARAMETER LIST LENGTH says, or as
// what came.
std::variant<ReserveOut, Sense> read_parameter_list(Bytes list, const ReserveOutContext& context);

}  // namespace openiser::target
