// Logical unit numbers in the eight bytes of a PDU (SAM-5 section 4.7), which have more than one
// form for most of them.
#pragma once

#include <cstdint>
#include <optional>

#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi {

// The number a LUN stands for, in any of the forms that can: peripheral device addressing on bus 0,
// flat space, extended flat space. None for other forms (well known logical units, further levels).
std::optional<std::uint32_t> decode_lun(const Lun& lun);
// Peripheral device addressing below 256, flat space to 16383.
Lun encode_lun(std::uint16_t lun);

// Both address the same logical unit, if they address one: whatever form they are in. LUNs that
// stand for no number are the same only byte by byte.
bool same_lun(const Lun& a, const Lun& b);

}  // namespace openiser::iscsi
