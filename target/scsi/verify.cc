// VERIFY (SBC-3 section 5.29 and following).
#include <algorithm>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"

namespace openiser::target {
namespace {

constexpr std::size_t kVerifyPiece = std::size_t{256} << 10;
constexpr unsigned kBytchkMedium = 0;  // the medium can be read
constexpr unsigned kBytchkAll = 1;     // it holds the data
constexpr unsigned kBytchkOne = 3;     // every block of it holds the one block of data

unsigned bytchk(const Command& command) {
  return command.cdb().u8(1) >> 1 & 3;
}

// Whether `bytes` are what the write data holds from `at` on.
bool matches(const iscsi::DataPieces& data, std::uint64_t at, Bytes bytes) {
  for (const Buffer& piece : data) {
    if (bytes.empty()) return true;
    if (at >= piece.size()) {
      at -= piece.size();
      continue;
    }
    const Bytes rest = Bytes(piece.bytes()).subspan(at);
    const std::size_t size = std::min(rest.size(), bytes.size());
    if (std::memcmp(rest.data(), bytes.data(), size) != 0) return false;
    bytes = bytes.subspan(size);
    at = 0;
  }
  return bytes.empty();
}

bool matches_each_block(const iscsi::DataPieces& data, Bytes bytes, std::size_t block) {
  for (; !bytes.empty(); bytes = bytes.subspan(block)) {
    if (!matches(data, 0, bytes.first(block))) return false;
  }
  return true;
}

class VerifyJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    if (work.position == work.length) return Step::done;
    const std::size_t wanted = std::min<std::uint64_t>(kVerifyPiece, work.length - work.position);
    slot.buffer = command.take_buffer(wanted, command.unit()->block_size());
    // The session's memory may all be write data of commands like this one, which end only when
    // they have compared it: a block of our own lets this one go on.
    const std::uint32_t block = command.unit()->block_size();
    if (!slot.buffer && command.is_idle()) slot.buffer = Buffer::allocate(block);
    if (!slot.buffer) return Step::wait_for_memory;
    slot.operation = StoreRequest::Operation::read;
    slot.offset = work.offset + work.position;
    slot.length = slot.buffer.size();
    slot.piece = slot.buffer.bytes();
    slot.pieces = {&slot.piece, 1};
    work.position += slot.length;
    return Step::submit;
  }
  void consume(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    const std::uint64_t at = work.consumed;
    work.consumed += slot.length;
    const unsigned how = bytchk(command);
    const bool same =
        how == kBytchkMedium || (how == kBytchkAll && matches(command.data(), at, slot.piece)) ||
        (how == kBytchkOne &&
         matches_each_block(command.data(), slot.piece, command.unit()->block_size()));
    if (!same) command.fail({.condition = Condition::miscompare});
  }
};
constexpr VerifyJob kVerify;

void verify_received(Command& command) {
  const bool one = bytchk(command) == kBytchkOne;
  const std::uint64_t needed = one ? command.unit()->block_size() : command.work().length;
  if (data_is_whole(command, needed)) command.run(kVerify);
}

}  // namespace

void verify(Command& command) {
  const unsigned how = bytchk(command);
  if (how == 2) return command.fail(invalid_cdb(1, 2));
  // Without data to compare any length will do, piece by piece.
  if (!take_range(command, how == kBytchkAll ? kMaxTransfer : 0)) return;
  Work& work = command.work();
  const std::uint32_t block = command.unit()->block_size();
  if (how == kBytchkMedium) {
    work.transfer_length = 0;
    return command.run(kVerify);
  }
  if (how == kBytchkOne) {
    if (work.length == 0) return command.good();
    work.transfer_length = block;
    return command.receive(block, verify_received);
  }
  cut_to_whole_blocks(command, command.data_out_size());
  command.receive(static_cast<std::uint32_t>(work.length), verify_received);
}

}  // namespace openiser::target
