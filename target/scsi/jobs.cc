#include "target/scsi/jobs.h"

#include <algorithm>

namespace openiser::target {
namespace {

class FlushJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    if (command.work().position++ != 0) return Step::done;
    slot.operation = StoreRequest::Operation::flush;
    slot.offset = 0;
    slot.length = 0;
    return Step::submit;
  }
};
constexpr FlushJob kFlush;

class ZeroJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    if (work.position == work.length) return Step::done;
    slot.operation =
        work.discard ? StoreRequest::Operation::discard : StoreRequest::Operation::write_zeroes;
    slot.force_unit_access = work.force_unit_access;
    slot.offset = work.offset;
    slot.length = work.length;
    work.position = work.length;
    return Step::submit;
  }
};
constexpr ZeroJob kZero;

// The pieces of write data go to the store as they came.
class WriteJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    if (work.position == work.length) return Step::done;
    slot.operation = StoreRequest::Operation::write;
    slot.force_unit_access = work.force_unit_access;
    slot.offset = work.offset;
    slot.length = work.length;
    slot.pieces = work.pieces;
    work.position = work.length;
    return Step::submit;
  }
};
constexpr WriteJob kWrite;

}  // namespace

const Job& flush_job() {
  return kFlush;
}

const Job& zero_job() {
  return kZero;
}

const Job& write_job() {
  return kWrite;
}

bool take_range(Command& command, std::uint64_t limit) {
  const Cdb cdb = command.cdb();
  const LogicalUnit& unit = *command.unit();
  const bool has_protection_field = cdb_length_of_group(cdb.opcode()) != 6;
  if (has_protection_field && (cdb.u8(1) & 0xe0) != 0) {
    command.fail(invalid_cdb(1, 7));
    return false;
  }
  const BlockRange range = decode_block_range(cdb);
  if (!unit.contains(range)) {
    const std::uint16_t position = has_protection_field ? 2 : 1;
    command.fail(lba_out_of_range({.byte = position}));
    return false;
  }
  Work& work = command.work();
  work.force_unit_access = unit.writes_through();
  work.offset = range.lba * unit.block_size();
  work.length = work.transfer_length = std::uint64_t{range.blocks} * unit.block_size();
  if (limit != 0 && work.length > limit) {
    command.fail(invalid_cdb(transfer_length_position(cdb.opcode())));
    return false;
  }
  return true;
}

void cut_to_whole_blocks(Command& command, std::uint32_t room) {
  Work& work = command.work();
  if (room < work.length) work.length = room - room % command.unit()->block_size();
}

bool data_is_whole(Command& command, std::uint64_t length) {
  std::uint64_t size = 0;
  for (const Buffer& piece : command.data()) size += piece.size();
  if (size >= length) return true;
  command.fail({.condition = Condition::incorrect_amount_of_data});
  return false;
}

std::optional<std::uint64_t> first_difference(const iscsi::DataPieces& data, std::uint64_t at,
                                              Bytes bytes) {
  std::uint64_t compared = 0;
  for (const Buffer& piece : data) {
    if (at >= piece.size()) {
      at -= piece.size();
      continue;
    }
    const Bytes rest = Bytes(piece.bytes()).subspan(at);
    const std::size_t size = std::min<std::size_t>(rest.size(), bytes.size() - compared);
    const Bytes here = bytes.subspan(compared, size);
    if (std::memcmp(here.data(), rest.data(), size) != 0) {
      const auto different = std::ranges::mismatch(here, rest).in1;
      return compared + static_cast<std::uint64_t>(different - here.begin());
    }
    compared += size;
    at = 0;
  }
  if (compared == bytes.size()) return {};
  return compared;
}

Buffer take_piece(Command& command) {
  const Work& work = command.work();
  const std::size_t wanted = std::min<std::uint64_t>(kReadPiece, work.length - work.position);
  return command.take_buffer(wanted, command.unit()->block_size());
}

Job::Step read_piece(Command& command, StoreSlot& slot, Buffer buffer) {
  if (!buffer) return Job::Step::wait_for_memory;
  Work& work = command.work();
  slot.buffer = std::move(buffer);
  slot.operation = StoreRequest::Operation::read;
  slot.offset = work.offset + work.position;
  slot.length = slot.buffer.size();
  slot.piece = slot.buffer.bytes();
  slot.pieces = {&slot.piece, 1};
  work.position += slot.length;
  return Job::Step::submit;
}

Job::Step prepare_comparison(Command& command, StoreSlot& slot) {
  const Work& work = command.work();
  if (work.position == work.length) return Job::Step::done;
  Buffer buffer = take_piece(command);
  // The session's memory may all be write data of commands like this one, which end only when they
  // have compared it: a block of our own lets this one go on.
  if (!buffer && command.is_idle()) buffer = Buffer::allocate(command.unit()->block_size());
  return read_piece(command, slot, std::move(buffer));
}

Job::Step prepare_space_question(Command& command, StoreSlot& slot) {
  Work& work = command.work();
  if (work.position++ != 0) return Job::Step::done;
  slot.operation = StoreRequest::Operation::query_space;
  slot.offset = slot.length = 0;
  return Job::Step::submit;
}

void gather_pieces(Command& command) {
  Work& work = command.work();
  work.pieces.clear();
  for (const Buffer& piece : command.data()) {
    if (!piece.empty()) work.pieces.push_back(piece.bytes());
  }
}

}  // namespace openiser::target
