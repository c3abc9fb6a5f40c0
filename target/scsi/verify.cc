// VERIFY and WRITE AND VERIFY (SBC-3 sections 5.29 and following, 5.39 and following).
#include <algorithm>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"

namespace openiser::target {
namespace {

constexpr unsigned kBytchkMedium = 0;  // the medium can be read
constexpr unsigned kBytchkAll = 1;     // it holds the data
constexpr unsigned kBytchkOne = 3;     // every block of it holds the one block of data

unsigned bytchk(const Command& command) {
  return command.cdb().u8(1) >> 1 & 3;
}

bool matches_each_block(const iscsi::DataPieces& data, Bytes bytes, std::size_t block) {
  for (; !bytes.empty(); bytes = bytes.subspan(block)) {
    if (first_difference(data, 0, bytes.first(block))) return false;
  }
  return true;
}

class VerifyJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    return prepare_comparison(command, slot);
  }
  void consume(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    const std::uint64_t at = work.consumed;
    work.consumed += slot.length;
    const unsigned how = bytchk(command);
    const bool same = how == kBytchkMedium ||
                      (how == kBytchkAll && !first_difference(command.data(), at, slot.piece)) ||
                      (how == kBytchkOne && matches_each_block(command.data(), slot.piece,
                                                               command.unit()->block_size()));
    if (!same) command.fail({.condition = Condition::miscompare});
  }
};
constexpr VerifyJob kVerify;

// The data goes to the medium before it is read back.
class WriteThenVerifyJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    return write_job().prepare(command, slot);
  }
  void finish(Command& command) const override {
    command.work().position = 0;
    command.run(kVerify);
  }
};
constexpr WriteThenVerifyJob kWriteThenVerify;

void write_and_verify_received(Command& command) {
  if (!data_is_whole(command, command.work().length)) return;
  gather_pieces(command);
  command.run(kWriteThenVerify);
}

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

void write_and_verify(Command& command) {
  if (bytchk(command) > kBytchkAll) return command.fail(invalid_cdb(1, 2));
  if (!take_range(command, kMaxTransfer)) return;
  Work& work = command.work();
  work.force_unit_access = true;
  cut_to_whole_blocks(command, command.data_out_size());
  command.receive(static_cast<std::uint32_t>(work.length), write_and_verify_received);
}

}  // namespace openiser::target
