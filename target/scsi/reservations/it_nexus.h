// Who holds registrations and reservations.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace openiser::target {

// An I_T nexus by the names of its ports: the same after a new login, and after a restart.
struct ItNexus {
  std::string initiator_port{};            // "iqn...,i,0x<ISID>" (RFC 7143 section 4.4.1)
  std::uint16_t relative_target_port = 1;  // the portal group tag

  friend auto operator<=>(const ItNexus&, const ItNexus&) = default;
};

}  // namespace openiser::target
