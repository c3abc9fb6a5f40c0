// REPORT LUNS, TEST UNIT READY, REQUEST SENSE, START STOP UNIT, READ CAPACITY, MODE SENSE.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = StoreDesk::Operation;

class Inventory : public ScsiFixture {
 protected:
  void add(std::uint16_t lun) {
    target::LogicalUnitSettings other;
    other.lun = lun;
    device->units[lun] = target::make_logical_unit(kName, other, target::make_null_store(1 << 20));
  }
  static ByteVector report_luns(std::uint8_t select, std::uint32_t allocation = 1024) {
    ByteVector bytes(12);
    store_u8(&bytes[0], 0xa0);
    store_u8(&bytes[2], select);
    store_be32(&bytes[6], allocation);
    return bytes;
  }
};

TEST_F(Inventory, ReportLuns) {
  set_up();
  add(1);
  add(255);
  add(256);
  open();
  const std::string all =
      "0000002000000000"
      "0000000000000000"
      "0001000000000000"
      "00ff000000000000"
      "4100000000000000";
  EXPECT_EQ(to_hex(in(report_luns(0), 1024)->data_in), all);
  EXPECT_EQ(to_hex(in(report_luns(2), 1024)->data_in), all);
}

TEST_F(Inventory, ReportLunsOfWellKnownUnitsIsEmpty) {
  set_up();
  EXPECT_EQ(to_hex(in(report_luns(1), 1024)->data_in), "0000000000000000");
}

TEST_F(Inventory, ReportLunsWithAnotherSelection) {
  set_up();
  for (const std::uint8_t select : {0x03, 0x10, 0x11, 0x12, 0xff}) {
    EXPECT_SENSE(in(report_luns(select), 1024), "5/24/00@2");
  }
}

TEST_F(Inventory, ReportLunsToALunThatIsNotThere) {
  settings.lun = 7;
  set_up();
  EXPECT_EQ(to_hex(in(report_luns(0), 1024, 0)->data_in),
            "0000000800000000"
            "0007000000000000");
}

TEST_F(Inventory, ReportLunsIsCutAtEveryByteButSaysTheWholeLength) {
  set_up();
  add(1);
  open();
  for (std::uint32_t length = 0; length <= 30; ++length) {
    const auto task = in(report_luns(0, length), 1024);
    EXPECT_GOOD(task);
    EXPECT_EQ(task->data_in.size(), std::min(length, 24U));
    if (length < 4) continue;
    EXPECT_EQ(load_be32(task->data_in.data()), 16U);
  }
}

TEST_F(Inventory, TestUnitReady) {
  set_up();
  const auto task = none(hex("00 00 00 00 00 00"));
  EXPECT_GOOD(task);
  EXPECT_TRUE(task->sense.empty());
}

TEST_F(Inventory, RequestSenseWithNothingToSay) {
  set_up();
  EXPECT_EQ(to_hex(in(hex("03 00 00 00 ff 00"), 255)->data_in),
            "700000000000000a00000000000000000000");
  EXPECT_EQ(to_hex(in(hex("03 01 00 00 ff 00"), 255)->data_in), "7200000000000000");
}

TEST_F(Inventory, RequestSenseIsCut) {
  set_up();
  for (std::uint8_t length = 0; length <= 20; ++length) {
    auto cdb = hex("03 00 00 00 00 00");
    store_u8(&cdb[4], length);
    EXPECT_EQ(in(cdb, 255)->data_in.size(), std::min<std::size_t>(length, 18));
  }
}

TEST_F(Inventory, RequestSenseToALunThatIsNotThere) {
  set_up();
  const auto task = in(hex("03 00 00 00 ff 00"), 255, 9);
  EXPECT_GOOD(task);
  EXPECT_EQ(sense_text(task->data_in), "5/25/00");
}

TEST_F(Inventory, StopFlushes) {
  set_up();
  EXPECT_GOOD(none(hex("1b 00 00 00 00 00")));
  EXPECT_EQ(desk->count(Operation::flush), 1U);
  EXPECT_GOOD(none(hex("00 00 00 00 00 00")));
}

TEST_F(Inventory, StopWithoutFlush) {
  set_up();
  EXPECT_GOOD(none(hex("1b 00 00 00 04 00")));
  EXPECT_EQ(desk->count(Operation::flush), 0U);
}

TEST_F(Inventory, StartDoesNothing) {
  set_up();
  EXPECT_GOOD(none(hex("1b 01 00 00 01 00")));
  EXPECT_TRUE(desk->seen.empty());
}

TEST_F(Inventory, PowerConditionsAndEjectAreRefused) {
  set_up();
  EXPECT_SENSE(none(hex("1b 00 00 00 30 00")), "5/24/00@4.7");
  EXPECT_SENSE(none(hex("1b 00 00 00 02 00")), "5/24/00@4.1");
  EXPECT_SENSE(none(hex("1b 00 00 00 03 00")), "5/24/00@4.1");
}

TEST_F(Inventory, ReadCapacity10) {
  set_up();
  EXPECT_EQ(to_hex(in(cdb10(0x25, 0, 0), 8)->data_in),
            "000003ff"
            "00000200");
  set_up(4096, 100);
  EXPECT_EQ(to_hex(in(cdb10(0x25, 0, 0), 8)->data_in),
            "00000063"
            "00001000");
}

TEST_F(Inventory, ReadCapacity10OfALargeUnit) {
  device = std::make_shared<target::TargetDevice>();
  for (const auto& [lun, blocks] :
       {std::pair{0, 0xffffffffULL}, {1, 0x100000000ULL}, {2, 1ULL << 40}}) {
    settings.lun = static_cast<std::uint16_t>(lun);
    device->units[settings.lun] =
        target::make_logical_unit(kName, settings, target::make_null_store(blocks * 512));
  }
  open();
  EXPECT_EQ(to_hex(in(cdb10(0x25, 0, 0), 8, 0)->data_in),
            "fffffffe"
            "00000200");
  EXPECT_EQ(to_hex(in(cdb10(0x25, 0, 0), 8, 1)->data_in),
            "ffffffff"
            "00000200");
  EXPECT_EQ(to_hex(in(cdb10(0x25, 0, 0), 8, 2)->data_in),
            "ffffffff"
            "00000200");
}

TEST_F(Inventory, ReadCapacityWithAnLba) {
  set_up();
  EXPECT_SENSE(in(cdb10(0x25, 1, 0), 8), "5/24/00@2");
  EXPECT_SENSE(in(cdb16(0x9e, 1, 32, 0x10), 32), "5/24/00@2");
  auto pmi = cdb10(0x25, 1, 0);
  store_u8(&pmi[8], 1);
  EXPECT_GOOD(in(pmi, 8));
}

TEST_F(Inventory, ReadCapacity16) {
  set_up();
  EXPECT_EQ(to_hex(in(cdb16(0x9e, 0, 255, 0x10), 255)->data_in),
            "00000000000003ff"
            "00000200"
            "00"
            "03"
            "c000"
            "00000000000000000000000000000000");
}

TEST_F(Inventory, ReadCapacity16OfLargeBlocksWithoutDiscard) {
  set_up(4096, 100, true, false);
  EXPECT_EQ(to_hex(in(cdb16(0x9e, 0, 255, 0x10), 255)->data_in),
            "0000000000000063"
            "00001000"
            "00"
            "00"
            "0000"
            "00000000000000000000000000000000");
}

TEST_F(Inventory, ReadCapacity16IsCut) {
  set_up();
  for (std::uint32_t length = 0; length <= 34; ++length) {
    const auto task = in(cdb16(0x9e, 0, length, 0x10), 255);
    EXPECT_EQ(task->data_in.size(), std::min(length, 32U));
    EXPECT_EQ(task->transfer_length, std::min(length, 32U));
  }
}

// --- MODE SENSE ---

const std::string kCaching =
    "0812"
    "04" +
    std::string(34, '0');
const std::string kControl =
    "0a0a"
    "00100040"
    "0000ffff0000";
const std::string kExceptions = "1c0a" + std::string(20, '0');

TEST_F(Inventory, ModeSense6AllPages) {
  set_up();
  EXPECT_EQ(to_hex(in(hex("1a 00 3f 00 ff 00"), 255)->data_in),
            "37001008"
            "00000400"
            "00000200" +
                kCaching + kControl + kExceptions);
}

TEST_F(Inventory, ModeSense6WithoutBlockDescriptor) {
  set_up();
  EXPECT_EQ(to_hex(in(hex("1a 08 3f 00 ff 00"), 255)->data_in),
            "2f001000" + kCaching + kControl + kExceptions);
}

TEST_F(Inventory, ModeSense10AllPages) {
  set_up();
  EXPECT_EQ(to_hex(in(hex("5a 00 3f 00 00 00 00 00 ff 00"), 255)->data_in),
            "003a001000000008"
            "00000400"
            "00000200" +
                kCaching + kControl + kExceptions);
}

TEST_F(Inventory, ModeSense10LongBlockDescriptor) {
  set_up();
  EXPECT_EQ(to_hex(in(hex("5a 10 1c 00 00 00 00 00 ff 00"), 255)->data_in),
            "0022001001000010"
            "0000000000000400"
            "00000000"
            "00000200" +
                kExceptions);
}

TEST_F(Inventory, ModeSenseSinglePages) {
  set_up();
  EXPECT_EQ(to_hex(in(hex("1a 08 08 00 ff 00"), 255)->data_in), "17001000" + kCaching);
  EXPECT_EQ(to_hex(in(hex("1a 08 0a 00 ff 00"), 255)->data_in), "0f001000" + kControl);
  EXPECT_EQ(to_hex(in(hex("1a 08 1c 00 ff 00"), 255)->data_in), "0f001000" + kExceptions);
}

TEST_F(Inventory, ModeSenseDefaultsAreCurrent) {
  set_up();
  EXPECT_EQ(in(hex("1a 08 bf 00 ff 00"), 255)->data_in, in(hex("1a 08 3f 00 ff 00"), 255)->data_in);
}

TEST_F(Inventory, ModeSenseSavedPagesAreNotThere) {
  set_up();
  EXPECT_SENSE(in(hex("1a 08 ff 00 ff 00"), 255), "5/39/00");
}

TEST_F(Inventory, ModeSenseUnknownPages) {
  set_up();
  EXPECT_SENSE(in(hex("1a 08 01 00 ff 00"), 255), "5/24/00@2.5");
  EXPECT_SENSE(in(hex("5a 08 00 00 00 00 00 00 ff 00"), 255), "5/24/00@2.5");
  EXPECT_SENSE(in(hex("1a 08 0a 01 ff 00"), 255), "5/24/00@3");
}

TEST_F(Inventory, ModeSenseAllSubpages) {
  set_up();
  EXPECT_EQ(in(hex("1a 08 3f ff ff 00"), 255)->data_in, in(hex("1a 08 3f 00 ff 00"), 255)->data_in);
}

TEST_F(Inventory, ModeSenseWriteProtected) {
  settings.read_only = true;
  set_up();
  EXPECT_EQ(to_hex(in(hex("1a 08 1c 00 ff 00"), 255)->data_in), "0f009000" + kExceptions);
  EXPECT_EQ(to_hex(in(hex("5a 08 1c 00 00 00 00 00 ff 00"), 255)->data_in),
            "0012009000000000" + kExceptions);
}

TEST_F(Inventory, ModeSenseWithoutVolatileCache) {
  set_up(512, 1024, false);
  EXPECT_EQ(to_hex(in(hex("1a 08 08 00 ff 00"), 255)->data_in),
            "17001000"
            "0812" +
                std::string(36, '0'));
}

TEST_F(Inventory, ModeSenseIsCutAtEveryByte) {
  set_up();
  const auto whole = in(hex("1a 00 3f 00 ff 00"), 255)->data_in;
  for (std::uint8_t length = 0; length < 60; ++length) {
    auto cdb = hex("1a 00 3f 00 00 00");
    store_u8(&cdb[4], length);
    const auto task = in(cdb, 255);
    EXPECT_EQ(task->data_in.size(), std::min<std::size_t>(length, whole.size()));
    EXPECT_TRUE(std::equal(task->data_in.begin(), task->data_in.end(), whole.begin()));
  }
}

TEST_F(Inventory, SettingsThatMakeNoUnit) {
  const auto make = [](std::uint32_t block_size, std::uint64_t size, std::uint16_t lun = 0) {
    target::LogicalUnitSettings wrong;
    wrong.block_size = block_size;
    wrong.lun = lun;
    return target::make_logical_unit(kName, wrong, target::make_null_store(size));
  };
  EXPECT_THROW(make(0, 4096), std::invalid_argument);
  EXPECT_THROW(make(520, 4096), std::invalid_argument);
  EXPECT_THROW(make(8192, 65536), std::invalid_argument);
  EXPECT_THROW(make(4096, 4095), std::invalid_argument);
  EXPECT_THROW(make(512, 4096, 16384), std::invalid_argument);
  EXPECT_NO_THROW(make(4096, 4096, 16383));
}

}  // namespace
}  // namespace openiser::test
