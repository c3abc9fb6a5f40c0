// EXTENDED COPY(LID1) (SPC-4 sections 5.17 and 6.4): the copy manager. A segment after the other is
// copied by pieces, up to four of which are being read or written. It reaches nothing but units of
// the nexus that sent the command, with the rights of that nexus.
#include <algorithm>
#include <array>
#include <utility>

#include "target/scsi/copy/copy_operation.h"
#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"
#include "target/scsi/nexus_state.h"
#include "target/scsi/parameter_list.h"
#include "target/scsi/vpd.h"

namespace openiser::target {
namespace {

// SPC-4 section 5.17.7.4: the segment's number is in the command-specific information, and what is
// left of it, in blocks of the destination, in the information once something was written.
Sense segment_failure(Command& command, Condition condition) {
  CopyOperation& copy = *command.work().copy;
  Sense sense{.condition = condition, .command_specific = static_cast<std::uint32_t>(copy.number)};
  if (const auto* segment = copy.segment.get(); segment && segment->written != 0) {
    sense.information = (segment->length - segment->written) / segment->destination->block_size();
  }
  if (copy.record) {
    copy.record->status = CopyRecord::Status::failed;
    copy.record->sense = EncodedSense(sense, SenseFormat::fixed);
  }
  return sense;
}

void fail_segment(Command& command, Condition condition) {
  command.fail(segment_failure(command, condition));
}

// SPC-4 section 7.8.6: designators of the unit itself, as VPD page 83 has them.
bool names(const CopyTarget& target, const LogicalUnit& unit) {
  constexpr std::uint8_t kBinary = 1, kAscii = 2, kT10 = 1, kNaa = 3;
  if (target.association != 0) return false;
  if (target.designator_type == kNaa && target.code_set == kBinary) {
    return std::ranges::equal(target.id(), unit.identifier());
  }
  return target.designator_type == kT10 && target.code_set == kAscii &&
         std::ranges::equal(target.id(), t10_designator(unit));
}

// What a segment copies from or to.
struct Found {
  std::shared_ptr<LogicalUnit> unit;
  Condition condition = Condition::no_sense;  // why there is none
};

bool is_active(const Command& command, LogicalUnit& unit) {
  const PortGroup* group = unit.port_groups().find(command.nexus().identity().relative_target_port);
  return !group || group->state() == AccessState::active_optimized ||
         group->state() == AccessState::active_non_optimized;
}

bool has_usable_medium(const LogicalUnit& unit) {
  return unit.medium().state() == Medium::State::usable;
}

bool is_reserved(const Command& command, const LogicalUnit& unit, ConflictsWith kind) {
  return unit.reservations().conflicts_of(command.nexus().i_t_nexus()).set.contains(kind);
}

// Looks among the units that the nexus sees, and no others (CVE-2020-28374). `writes`: what is
// found is to be written to.
Found find_unit(const Command& command, const CopyTarget& target, bool writes) {
  const TargetDevice& device = command.nexus().device();
  for (const auto& [lun, unit] : device.units) {
    if (!names(target, *unit)) continue;
    if (target.device_type != 0) return {nullptr, Condition::incorrect_copy_target_type};
    if (target.block_length != unit->block_size()) {
      return {nullptr, Condition::copy_parameter_invalid};
    }
    if (writes && device.read_only.contains(lun)) {
      return {nullptr, Condition::third_party_device_failure};
    }
    return {unit};
  }
  return {nullptr, Condition::copy_target_not_reachable};
}

Found find_target(Command& command, std::uint16_t index, bool writes) {
  const CopyList& list = command.work().copy->list;
  if (index == kThisUnit) {
    if (writes && command.unit_state()->read_only) {
      return {nullptr, Condition::third_party_device_failure};
    }
    return {command.unit_state()->unit};
  }
  if (index >= list.targets.size()) {
    return {nullptr, Condition::unreachable_copy_target};
  }
  return find_unit(command, list.targets[index], writes);
}

// With what holds for any command to the unit.
Found find_usable(Command& command, std::uint16_t index, bool writes) {
  Found found = find_target(command, index, writes);
  if (!found.unit) return found;
  if (!is_active(command, *found.unit) || !has_usable_medium(*found.unit)) {
    return {nullptr, Condition::copy_target_not_reachable};
  }
  if (writes && found.unit->unwritable()) {
    return {nullptr, Condition::third_party_device_failure};
  }
  const auto conflict = writes ? ConflictsWith::any_reservation : ConflictsWith::exclusive_access;
  if (is_reserved(command, *found.unit, conflict)) {
    return {nullptr, Condition::third_party_device_failure};
  }
  return found;
}

bool lies_within(const LogicalUnit& unit, std::uint64_t lba, std::uint64_t length) {
  const std::uint64_t blocks = length / unit.block_size();
  return lba <= unit.blocks() && blocks <= unit.blocks() - lba;
}

// Where the segment lies in both units, or why it cannot be copied.
Condition locate(const CopySegment& from, CopyOperation::Segment& to) {
  const LogicalUnit& source = *to.source;
  const LogicalUnit& destination = *to.destination;
  const LogicalUnit& counted = from.counts_destination_blocks ? destination : source;
  const LogicalUnit& other = from.counts_destination_blocks ? source : destination;
  to.length = std::uint64_t{from.blocks} * counted.block_size();
  if (to.length % other.block_size() != 0) return Condition::unexpected_inexact_segment;
  if (!lies_within(source, from.source_lba, to.length) ||
      !lies_within(destination, from.destination_lba, to.length)) {
    return Condition::copy_aborted;  // as SPC-4 has no code for what the unit would say
  }
  to.source_offset = from.source_lba * source.block_size();
  to.destination_offset = from.destination_lba * destination.block_size();
  to.backwards = to.source == to.destination && to.destination_offset > to.source_offset;
  return Condition::no_sense;
}

// False: the command has failed.
bool begin_segment(Command& command) {
  CopyOperation& copy = *command.work().copy;
  const CopySegment& from = copy.list.segments[copy.number];
  const Found source = find_usable(command, from.source, false);
  const Found destination = find_usable(command, from.destination, true);
  auto segment = std::make_unique<CopyOperation::Segment>();
  segment->source = source.unit;
  segment->destination = destination.unit;
  Condition condition = source.unit ? destination.condition : source.condition;
  if (condition == Condition::no_sense) condition = locate(from, *segment);
  if (condition != Condition::no_sense) {
    fail_segment(command, condition);
    return false;
  }
  copy.segment = std::move(segment);
  return true;
}

void end_segment(CopyOperation& copy) {
  copy.segment.reset();
  ++copy.number;
  if (copy.record) copy.record->segments = static_cast<std::uint16_t>(copy.number);
}

// Reads of a segment run ahead of its writes. That is safe where source and destination overlap,
// as a write only touches what was read before or together with it.
class CopyJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    CopyOperation& copy = *command.work().copy;
    for (;;) {
      if (!copy.segment) {
        if (copy.number == copy.list.segments.size()) return Step::done;
        if (!begin_segment(command)) return Step::done;
      }
      CopyOperation::Segment& segment = *copy.segment;
      // Work on all of a medium waits for the tasks of its own unit alone: it is looked at again.
      if (!has_usable_medium(*segment.source) || !has_usable_medium(*segment.destination)) {
        fail_segment(command, Condition::copy_target_not_reachable);
        return Step::done;
      }
      if (!segment.to_write.empty()) return write_piece(segment, slot);
      if (segment.asked_for != segment.length) return read_piece(command, segment, slot);
      if (segment.written != segment.length) return Step::wait;
      end_segment(copy);
    }
  }

  void consume(Command& command, StoreSlot& slot) const override {
    CopyOperation& copy = *command.work().copy;
    CopyOperation::Segment& segment = *copy.segment;
    if (slot.operation == StoreRequest::Operation::read) {
      const std::uint64_t at = slot.offset - segment.source_offset;
      segment.to_write.push_back({std::move(slot.buffer), at});
      return;
    }
    segment.written += slot.length;
    if (copy.record) copy.record->bytes += slot.length;
  }

  Sense failure(Command& command, const StoreSlot&) const override {
    return segment_failure(command, Condition::third_party_device_failure);
  }

  void finish(Command& command) const override {
    CopyOperation& copy = *command.work().copy;
    if (copy.record) copy.record->status = CopyRecord::Status::good;
    command.good(command.work().transfer_length);
  }

 private:
  static Step read_piece(Command& command, CopyOperation::Segment& segment, StoreSlot& slot) {
    const std::size_t block =
        std::max(segment.source->block_size(), segment.destination->block_size());
    const std::uint64_t left = segment.length - segment.asked_for;
    Buffer buffer = command.take_buffer(std::min<std::uint64_t>(kReadPiece, left), block);
    if (!buffer) return Step::wait_for_memory;
    slot.unit = segment.source.get();
    slot.operation = StoreRequest::Operation::read;
    slot.length = buffer.size();
    slot.offset =
        segment.source_offset + (segment.backwards ? left - slot.length : segment.asked_for);
    segment.asked_for += slot.length;
    return submit_with(slot, std::move(buffer));
  }

  static Step write_piece(CopyOperation::Segment& segment, StoreSlot& slot) {
    CopyOperation::Piece piece = std::move(segment.to_write.front());
    segment.to_write.pop_front();
    slot.unit = segment.destination.get();
    slot.operation = StoreRequest::Operation::write;
    slot.length = piece.buffer.size();
    slot.offset = segment.destination_offset + piece.at;
    slot.force_unit_access = segment.destination->writes_through();
    return submit_with(slot, std::move(piece.buffer));
  }

  static Step submit_with(StoreSlot& slot, Buffer buffer) {
    slot.buffer = std::move(buffer);
    slot.piece = slot.buffer.bytes();
    slot.pieces = {&slot.piece, 1};
    return Step::submit;
  }
};
constexpr CopyJob kCopy;

void copy_list_received(Command& command) {
  const auto bytes = parameter_list(command, command.cdb().be32(10));
  if (!bytes) return;
  CopyList list;
  if (const auto fault = read_copy_list(*bytes, list)) return command.fail(*fault);
  CopyRecords& records = command.nexus().copies();
  auto copy = std::make_shared<CopyOperation>(std::move(list), records);
  if (copy->list.usage != CopyList::Usage::no_identifier) {
    copy->record = records.begin(copy->list.identifier);
    if (!copy->record) return command.fail({.condition = Condition::operation_in_progress});
  }
  command.work().copy = std::move(copy);
  command.run(kCopy);
}

}  // namespace

void extended_copy(Command& command) {
  const std::uint32_t length = command.cdb().be32(10);
  if (length == 0) return command.good();
  if (length < kCopyListHeader || length > kCopyListHeader + kMaxCopyDescriptors) {
    return command.fail({.condition = Condition::parameter_list_length_error});
  }
  receive_parameter_list(command, length, copy_list_received);
}

}  // namespace openiser::target
