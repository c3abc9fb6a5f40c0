// Vital product data (SPC-4 section 7.8, SBC-3 section 6.5), a part of INQUIRY.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "target/scsi/command.h"

namespace openiser::target {

// INQUIRY with EVPD.
void vital_product_data(Command& command);

// Peripheral qualifier and device type (SPC-4 section 6.6.2): a disk, one that cannot be accessed
// through this port now, or nothing at this LUN.
std::uint8_t peripheral_of(const Command& command);
// The unit's designator of type T10 vendor ID (SPC-4 section 7.8.6.3).
std::vector<std::byte> t10_designator(const LogicalUnit& unit);
// Page 8F (copy/copy_results.cc).
void third_party_copy_page(ByteWriter& out, const Command& command);
// Left-aligned and filled with blanks; what is no graphic character becomes a question mark.
void write_ascii(ByteWriter& out, std::string_view text, std::size_t width);

}  // namespace openiser::target
