// RECEIVE COPY RESULTS (SPC-4 sections 6.21 to 6.24, of LID1), and what VPD page 8F tells
// beforehand (SPC-4 section 7.8.17). No data is held, so that RECEIVE COPY DATA is not there.
#include <array>
#include <bit>
#include <vector>

#include "target/scsi/copy/copy_list.h"
#include "target/scsi/handlers.h"
#include "target/scsi/nexus_state.h"
#include "target/scsi/vpd.h"

namespace openiser::target {
namespace {

constexpr std::uint8_t kMaxConcurrentCopies = 255;  // of one nexus; identifiers run out

std::uint8_t data_granularity(const LogicalUnit& unit) {
  return static_cast<std::uint8_t>(std::countr_zero(unit.block_size()));
}

// The record that the CDB asks for; null: the command has failed.
const CopyRecord* find_record(Command& command) {
  const CopyRecord* record = command.nexus().copies().find(command.cdb().u8(2));
  if (!record) command.fail(invalid_cdb(2));
  return record;
}

std::uint32_t allocation_length(const Command& command) {
  return command.cdb().be32(10);
}

void begin_descriptor(ByteWriter& out, std::uint16_t type, std::uint16_t length) {
  out.be16(type);
  out.be16(length);
}

}  // namespace

void copy_status(Command& command) {
  const CopyRecord* record = find_record(command);
  if (!record) return;
  const bool in_kibibytes = record->bytes > UINT32_MAX;
  std::array<std::byte, 12> data{};
  store_be32(&data[0], 8);
  store_u8(&data[4], static_cast<std::uint8_t>(record->status));
  store_be16(&data[5], record->segments);
  store_u8(&data[7], in_kibibytes ? 1 : 0);
  store_be32(&data[8],
             static_cast<std::uint32_t>(in_kibibytes ? record->bytes >> 10 : record->bytes));
  command.answer(data, allocation_length(command));
}

// The details go when they have been fetched whole, or with an allocation length of 0.
void copy_failed_segment_details(Command& command) {
  constexpr std::size_t kHeader = 60;
  const CopyRecord* record = find_record(command);
  if (!record) return;
  std::vector<std::byte> data(4);
  if (record->status == CopyRecord::Status::failed) {
    const Bytes sense = record->sense.bytes();
    data.resize(kHeader);
    store_u8(&data[56], static_cast<std::uint8_t>(ScsiStatus::check_condition));
    store_be16(&data[58], static_cast<std::uint16_t>(sense.size()));
    data.insert(data.end(), sense.begin(), sense.end());
    store_be32(&data[0], static_cast<std::uint32_t>(data.size() - 4));
    const std::uint32_t room = allocation_length(command);
    if (room == 0 || room >= data.size()) command.nexus().copies().forget(command.cdb().u8(2));
  }
  command.answer(data, allocation_length(command));
}

void copy_operating_parameters(Command& command) {
  constexpr std::array kTypes{kBlockToBlock, kIdentificationDescriptor};
  constexpr std::size_t kHeader = 44;
  std::array<std::byte, kHeader + kTypes.size()> data{};
  store_be32(&data[0], data.size() - 4);
  store_u8(&data[4], 0x01);  // SNLID: no list identifier is fine
  store_be16(&data[8], kMaxCopyTargets);
  store_be16(&data[10], kMaxCopySegments);
  store_be32(&data[12], kMaxCopyDescriptors);
  store_be32(&data[16], kMaxCopySegmentLength);
  store_be16(&data[34], kMaxConcurrentCopies);
  store_u8(&data[36], kMaxConcurrentCopies);
  store_u8(&data[37], data_granularity(*command.unit()));
  store_u8(&data[43], kTypes.size());
  for (std::size_t i = 0; i < kTypes.size(); ++i) store_u8(&data[kHeader + i], kTypes[i]);
  command.answer(data, allocation_length(command));
}

void third_party_copy_page(ByteWriter& out, const Command& command) {
  begin_descriptor(out, 0x0001, 12);  // supported commands
  constexpr std::array<std::uint8_t, 8> kCommands{0x83, 1, 0x00, 0x84, 3, 0x00, 0x03, 0x04};
  out.u8(kCommands.size());
  for (const std::uint8_t byte : kCommands) out.u8(byte);
  out.zeros(3);
  begin_descriptor(out, 0x0004, 28);  // parameter data
  out.zeros(4);
  out.be16(kMaxCopyTargets);
  out.be16(kMaxCopySegments);
  out.be32(kMaxCopyDescriptors);
  out.zeros(16);                     // no inline data
  begin_descriptor(out, 0x0008, 4);  // supported descriptors
  out.u8(2);
  out.u8(kBlockToBlock);
  out.u8(kIdentificationDescriptor);
  out.u8(0);
  begin_descriptor(out, 0x000c, 4);  // supported descriptor indices without a descriptor
  out.be16(2);
  out.be16(kThisUnit);
  begin_descriptor(out, 0x8001, 32);  // general copy operations
  out.be32(kMaxConcurrentCopies);
  out.be32(kMaxConcurrentCopies);
  out.be32(kMaxCopySegmentLength);
  out.u8(data_granularity(*command.unit()));
  out.zeros(19);
}

}  // namespace openiser::target
