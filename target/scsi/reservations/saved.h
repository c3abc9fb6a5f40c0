// Persistent reservations as kept state (kept_state.h), in lines of text:
//
//   type <code>                                          0: registrations alone
//   registration <key> <holder> <target port> <initiator port>    one for each, in their order
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "target/scsi/reservations/persistent.h"

namespace openiser::target {

inline constexpr const char* kReservationsKind = "reservations";
inline constexpr std::uint32_t kReservationsVersion = 1;

std::vector<std::byte> encode_saved(const PersistentReservations& state);
// None if it is not what encode_saved() gives. PRGENERATION begins at 0 again (SPC-4
// section 6.15.2), and what was saved goes on being saved.
std::optional<PersistentReservations> decode_saved(Bytes content);

}  // namespace openiser::target
