// Jobs that more than one file uses, and what the block commands share.
#pragma once

#include <cstdint>
#include <optional>

#include "target/scsi/command.h"

namespace openiser::target {

// One flush, then GOOD.
const Job& flush_job();

// Writes zeros over the work's range, or deallocates it where `discard` is set: one request.
const Job& zero_job();

// Writes the work's pieces to its range: one request.
const Job& write_job();

// The checks that all commands on a range of blocks share: protection information is refused, the
// range lies within the unit, and it is not longer than `limit` bytes (0: no limit). On success the
// work has the range's offset, length and transfer length; else the command has failed.
bool take_range(Command& command, std::uint64_t limit);

// Sets the length of the work to the whole blocks that the expected data transfer length has room
// for.
void cut_to_whole_blocks(Command& command, std::uint32_t room);

// After receive(): whether the data is as long as `length`; else the command has failed.
bool data_is_whole(Command& command, std::uint64_t length);

// Where `bytes` first differ from what the write data holds from `at` on; none if they do not.
std::optional<std::uint64_t> first_difference(const iscsi::DataPieces& data, std::uint64_t at,
                                              Bytes bytes);

// How much of a range is read at a time.
inline constexpr std::size_t kReadPiece = std::size_t{256} << 10;

// Memory for the next piece of the work's range, in whole blocks; empty when there is none now.
Buffer take_piece(Command& command);
// The next piece of the work's range, to be read into `buffer`; waits for memory if that is empty.
Job::Step read_piece(Command& command, StoreSlot& slot, Buffer buffer);

// The next piece of the work's range, to be read and compared.
Job::Step prepare_comparison(Command& command, StoreSlot& slot);

// A job's one request, for the store's space.
Job::Step prepare_space_question(Command& command, StoreSlot& slot);

// Fills work().pieces with the write data.
void gather_pieces(Command& command);

}  // namespace openiser::target
