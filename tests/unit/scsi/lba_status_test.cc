// GET LBA STATUS.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = StoreDesk::Operation;

class LbaStatus : public ScsiFixture {
 protected:
  static ByteVector cdb(std::uint64_t lba, std::uint32_t allocation_length) {
    return cdb16(0x9e, lba, allocation_length, 0x12);
  }
  // "LBA+BLOCKS" for mapped blocks, "LBA-BLOCKS" for deallocated ones, one for each descriptor.
  std::string ask(std::uint64_t lba, std::size_t descriptors) {
    const auto length = static_cast<std::uint32_t>(8 + 16 * descriptors);
    const auto task = in(cdb(lba, length), length);
    if (task->status != kGood) return sense_text(task->sense);
    const ByteVector& data = task->data_in;
    if (data.size() < 24 || load_be32(&data[0]) != data.size() - 4 || data.size() % 16 != 8) {
      return "malformed";
    }
    std::string text;
    for (std::size_t at = 8; at < data.size(); at += 16) {
      if (at != 8) text += " ";
      text += std::to_string(load_be64(&data[at])) + (load_u8(&data[at + 12]) == 1 ? "-" : "+") +
              std::to_string(load_be32(&data[at + 8]));
    }
    return text;
  }
};

TEST_F(LbaStatus, DataAndHolesInTurn) {
  set_up();
  desk->holes = {{512 * 8, 512 * 16}, {512 * 1000, 512 * 1024}};
  EXPECT_EQ(ask(0, 9), "0+8 8-8 16+984 1000-24");
  EXPECT_EQ(ask(8, 9), "8-8 16+984 1000-24");
  EXPECT_EQ(ask(12, 9), "12-4 16+984 1000-24");
  EXPECT_EQ(ask(1023, 9), "1023-1");
}

TEST_F(LbaStatus, NoMoreDescriptorsThanThereIsRoomFor) {
  set_up();
  desk->holes = {{512 * 8, 512 * 16}, {512 * 1000, 512 * 1024}};
  EXPECT_EQ(ask(0, 1), "0+8");
  EXPECT_EQ(ask(0, 2), "0+8 8-8");
  EXPECT_EQ(desk->count(Operation::find_extent), 3U) << "nor is more found out";
  desk->holes.clear();
  for (std::uint64_t i = 0; i < 500; ++i) desk->holes.push_back({512 * 2 * i, 512 * (2 * i + 1)});
  const auto task = in(cdb(0, UINT32_MAX), 65536);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in.size(), 8U + 64 * 16);
}

TEST_F(LbaStatus, TheAnswerIsCutToTheAllocationLength) {
  set_up();
  for (const std::uint32_t length : {0U, 1U, 8U, 23U}) {
    const auto task = in(cdb(5, length), 512);
    EXPECT_GOOD(task);
    EXPECT_EQ(task->data_in.size(), length);
    if (length >= 4) {
      EXPECT_EQ(load_be32(&task->data_in[0]), 20U);
    }
  }
}

TEST_F(LbaStatus, ABlockThatIsAHoleInPartIsMapped) {
  set_up(4096, 64);
  desk->holes = {{4096 + 1024, 3 * 4096 + 1024}, {5 * 4096 + 512, 5 * 4096 + 1024}};
  EXPECT_EQ(ask(0, 9), "0+2 2-1 3+1 4+2 6+58");
}

TEST_F(LbaStatus, WithoutDiscardAllIsMapped) {
  set_up(512, 1024, true, false);
  desk->holes = {{0, 512 * 1024}};
  EXPECT_EQ(ask(24, 9), "24+1000");
}

TEST_F(LbaStatus, MoreBlocksThanADescriptorCanSay) {
  device = std::make_shared<target::TargetDevice>();
  device->units[0] =
      target::make_logical_unit(kName, settings, target::make_null_store(512ULL << 33));
  open();
  EXPECT_EQ(ask(0, 9), "0+4294967295 4294967295+4294967295 8589934590+2");
}

TEST_F(LbaStatus, OutOfRange) {
  set_up();
  EXPECT_EQ(ask(1024, 1), "5/21/00@2");
  EXPECT_EQ(ask(UINT64_MAX, 1), "5/21/00@2");
}

TEST_F(LbaStatus, ErrorOfTheStore) {
  set_up();
  desk->fail(Operation::find_extent, EIO);
  EXPECT_EQ(ask(0, 1), "3/11/00");
}

}  // namespace
}  // namespace openiser::test
