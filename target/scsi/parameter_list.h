// Parameter lists: write data that says what to do, rather than what to keep.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "target/scsi/command.h"

namespace openiser::target {

// Fetches what the CDB says is a list of `length` bytes, then calls `then`, which asks for it with
// parameter_list() and the same length.
void receive_parameter_list(Command& command, std::uint32_t length, Handler then);

// The list, of exactly `length` bytes; none if the initiator had fewer: then the command has
// failed.
std::optional<std::vector<std::byte>> parameter_list(Command& command, std::uint32_t length);

}  // namespace openiser::target
