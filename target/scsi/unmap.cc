// UNMAP (SBC-3 section 5.26). With LBPRZ, unmapped blocks read as zeros.
#include <algorithm>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"

namespace openiser::target {
namespace {

constexpr std::size_t kHeader = 8;
constexpr std::size_t kDescriptor = 16;

class UnmapJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    if (work.position == work.ranges.size()) return Step::done;
    const BlockRange& range = work.ranges[work.position++];
    slot.operation = StoreRequest::Operation::discard;
    slot.force_unit_access = work.force_unit_access;
    slot.offset = range.lba * command.unit()->block_size();
    slot.length = std::uint64_t{range.blocks} * command.unit()->block_size();
    return Step::submit;
  }
};
constexpr UnmapJob kUnmap;

// The descriptors, all of them checked before any is acted on; false: the command has failed.
bool take_descriptors(Command& command, Bytes list) {
  Work& work = command.work();
  const LogicalUnit& unit = *command.unit();
  std::uint64_t total = 0;
  for (std::size_t at = 0; at + kDescriptor <= list.size(); at += kDescriptor) {
    const BlockRange range{load_be64(&list[at]), load_be32(&list[at + 8])};
    total += range.blocks;
    const auto field = static_cast<std::uint16_t>(kHeader + at);
    if (range.blocks == 0 ? range.lba > unit.blocks() : !unit.contains(range)) {
      command.fail(lba_out_of_range({.in_cdb = false, .byte = field}));
      return false;
    }
    if (work.ranges.size() == kMaxUnmapDescriptors || total > kMaxUnmapBlocks) {
      command.fail(invalid_parameter(field));
      return false;
    }
    if (range.blocks != 0) work.ranges.push_back(range);
  }
  return true;
}

void unmap_received(Command& command) {
  const std::uint16_t expected = command.cdb().be16(7);
  std::vector<std::byte> list = command.gather_data();
  if (list.size() > expected) list.resize(expected);
  if (list.size() < kHeader) {
    return command.fail({.condition = Condition::parameter_list_length_error});
  }
  const std::uint16_t descriptors = load_be16(&list[2]);
  if (list.size() - kHeader < descriptors) {
    return command.fail({.condition = Condition::parameter_list_length_error});
  }
  if (take_descriptors(command, Bytes(list).subspan(kHeader, descriptors))) command.run(kUnmap);
}

}  // namespace

void unmap(Command& command) {
  const Cdb cdb = command.cdb();
  if (cdb.bit(1, 0)) return command.fail(invalid_cdb(1, 0));  // ANCHOR
  const std::uint16_t length = cdb.be16(7);
  if (length == 0) return command.good();
  command.work().transfer_length = length;
  command.work().force_unit_access = command.unit()->writes_through();
  command.receive(length, unmap_received);
}

}  // namespace openiser::target
