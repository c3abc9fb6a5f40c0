// Jobs that more than one file uses, and what the block commands share.
#pragma once

#include <cstdint>

#include "target/scsi/command.h"

namespace openiser::target {

// One flush, then GOOD.
const Job& flush_job();

// Writes zeros over the work's range, or deallocates it where `discard` is set: one request.
const Job& zero_job();

// The checks that all commands on a range of blocks share: protection information is refused, the
// range lies within the unit, and it is not longer than `limit` bytes (0: no limit). On success the
// work has the range's offset, length and transfer length; else the command has failed.
bool take_range(Command& command, std::uint64_t limit);

// Sets the length of the work to the whole blocks that the expected data transfer length has room
// for.
void cut_to_whole_blocks(Command& command, std::uint32_t room);

// After receive(): whether the data is as long as `length`; else the command has failed.
bool data_is_whole(Command& command, std::uint64_t length);

// Fills work().pieces with the write data.
void gather_pieces(Command& command);

}  // namespace openiser::target
