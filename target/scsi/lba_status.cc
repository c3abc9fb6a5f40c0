// GET LBA STATUS (SBC-3 section 5.6): which blocks are mapped and which deallocated.
#include <algorithm>
#include <cstdint>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"

namespace openiser::target {
namespace {

constexpr std::size_t kHeader = 8;
constexpr std::size_t kDescriptor = 16;
constexpr std::size_t kMaxDescriptors = 64;
constexpr std::uint8_t kMapped = 0;
constexpr std::uint8_t kDeallocated = 1;

// The answer grows in the scratch buffer; what is left to describe is offset and length of the
// work.
void describe(Work& work, std::uint32_t block, std::uint64_t blocks, std::uint8_t status) {
  std::byte* at = work.scratch.data() + kHeader + work.consumed++ * kDescriptor;
  store_be64(at, work.offset / block);
  store_be32(at + 8, static_cast<std::uint32_t>(blocks));
  store_u8(at + 12, status);
  work.offset += blocks * block;
  work.length -= blocks * block;
}

void answer(Command& command, std::uint32_t allocation_length) {
  const std::size_t size = kHeader + command.work().consumed * kDescriptor;
  store_be32(command.work().scratch.data(), static_cast<std::uint32_t>(size - 4));
  command.answer(Bytes(command.work().scratch.bytes()).first(size), allocation_length);
}

// Asks the store for one stretch at a time, since only its answer tells where the next one starts.
class LbaStatusJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    if (work.position != 0) return Step::done;
    work.position = 1;
    slot.operation = StoreRequest::Operation::find_extent;
    slot.offset = work.offset;
    slot.length = std::min(work.length, std::uint64_t{UINT32_MAX} * command.unit()->block_size());
    return Step::submit;
  }
  // A block that is only in part a hole is mapped.
  void consume(Command& command, StoreSlot& slot) const override {
    const std::uint32_t block = command.unit()->block_size();
    const std::uint64_t whole = slot.length / block;
    if (slot.is_hole && whole != 0) return describe(command.work(), block, whole, kDeallocated);
    const std::uint64_t blocks = (slot.length + block - 1) / block;
    describe(command.work(), block, blocks, kMapped);
  }
  void finish(Command& command) const override {
    Work& work = command.work();
    const bool is_full = kHeader + (work.consumed + 1) * kDescriptor > work.scratch.size();
    if (work.length == 0 || is_full) return answer(command, command.cdb().be32(10));
    work.position = 0;
    command.run(*this);
  }
};
constexpr LbaStatusJob kLbaStatus;

}  // namespace

void get_lba_status(Command& command) {
  const LogicalUnit& unit = *command.unit();
  const std::uint64_t lba = command.cdb().be64(2);
  if (lba >= unit.blocks()) {
    return command.fail(lba_out_of_range({.byte = 2}));
  }
  const std::size_t room = std::max<std::size_t>(command.cdb().be32(10), kHeader) - kHeader;
  const std::size_t descriptors = std::clamp(room / kDescriptor, std::size_t{1}, kMaxDescriptors);
  Work& work = command.work();
  work.offset = lba * unit.block_size();
  work.length = (unit.blocks() - lba) * unit.block_size();
  work.scratch = Buffer::allocate(kHeader + descriptors * kDescriptor);
  std::ranges::fill(work.scratch.bytes(), std::byte{0});
  if (unit.can_discard()) return command.run(kLbaStatus);
  const std::uint64_t blocks = std::min<std::uint64_t>(unit.blocks() - lba, UINT32_MAX);
  describe(work, unit.block_size(), blocks, kMapped);  // all of it is, without provisioning
  answer(command, command.cdb().be32(10));
}

}  // namespace openiser::target
