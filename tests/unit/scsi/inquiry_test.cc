// INQUIRY and its pages, byte by byte.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

class Inquiry : public ScsiFixture {
 protected:
  static ByteVector cdb(std::uint8_t evpd, std::uint8_t page, std::uint16_t allocation = 1024) {
    ByteVector bytes = hex("12 00 00 00 00 00");
    store_u8(&bytes[1], evpd);
    store_u8(&bytes[2], page);
    store_be16(&bytes[3], allocation);
    return bytes;
  }
  ByteVector page(std::uint8_t code, std::uint16_t lun = 0) {
    const auto task = in(cdb(1, code), 1024, lun);
    EXPECT_GOOD_RESULT(task);
    EXPECT_EQ(task->transfer_length, task->data_in.size());
    return task->data_in;
  }
  static void EXPECT_GOOD_RESULT(const std::unique_ptr<FakeTask>& task) {
    EXPECT_EQ(task->status, kGood) << sense_text(task->sense);
  }
};

TEST_F(Inquiry, StandardData) {
  settings.vendor = "ACME";
  settings.product = "Spinning Rust";
  settings.revision = "42";
  set_up();
  const auto task = in(cdb(0, 0), 1024);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 96U);
  EXPECT_EQ(to_hex(task->data_in),
            to_hex(hex("00 00 06 12 5b 38 00 02") + exact(as_bytes("ACME    ")) +
                   exact(as_bytes("Spinning Rust   ")) + exact(as_bytes("42  ")) + ByteVector(22) +
                   hex("00a0 0460 04c0 0960") + ByteVector(30)));
}

TEST_F(Inquiry, TextIsCutAndCleaned) {
  settings.vendor = "much too long";
  settings.product = "tab\there";
  set_up();
  const auto task = in(cdb(0, 0), 1024);
  EXPECT_EQ(as_text(Bytes(task->data_in).subspan(8, 8)), "much too");
  EXPECT_EQ(as_text(Bytes(task->data_in).subspan(16, 16)), "tab?here        ");
}

TEST_F(Inquiry, AllocationLengthCutsAtEveryByte) {
  set_up();
  const auto whole = in(cdb(0, 0), 1024)->data_in;
  for (std::uint16_t length = 0; length <= 100; ++length) {
    const auto task = in(cdb(0, 0, length), 1024);
    EXPECT_GOOD(task);
    const std::size_t size = std::min<std::size_t>(length, 96);
    EXPECT_EQ(task->transfer_length, size);
    EXPECT_TRUE(std::equal(task->data_in.begin(), task->data_in.end(), whole.begin(),
                           whole.begin() + static_cast<std::ptrdiff_t>(size)));
  }
}

TEST_F(Inquiry, ExpectedLengthCutsWhatIsSentButNotWhatWasToBe) {
  set_up();
  const auto task = in(cdb(0, 0, 96), 36);
  EXPECT_GOOD(task);
  EXPECT_EQ(task->data_in.size(), 36U);
  EXPECT_EQ(task->transfer_length, 96U);
}

TEST_F(Inquiry, PageCodeWithoutEvpd) {
  set_up();
  EXPECT_SENSE(in(cdb(0, 0x80), 255), "5/24/00@2");
}

TEST_F(Inquiry, ObsoleteCommandData) {
  set_up();
  EXPECT_SENSE(in(cdb(2, 0), 255), "5/24/00@1.1");
}

TEST_F(Inquiry, LunThatIsNotThere) {
  set_up();
  const auto task = in(cdb(0, 0), 1024, 5);
  EXPECT_GOOD(task);
  ASSERT_EQ(task->data_in.size(), 96U);
  EXPECT_EQ(load_u8(&task->data_in[0]), 0x7f);
}

TEST_F(Inquiry, PagesOfALunThatIsNotThere) {
  set_up();
  EXPECT_EQ(to_hex(page(0x00, 5)),
            "7f000001"
            "00");
  EXPECT_SENSE(in(cdb(1, 0x83), 255, 5), "5/24/00@2");
}

TEST_F(Inquiry, SupportedPagesAscend) {
  set_up();
  EXPECT_EQ(to_hex(page(0x00)),
            "00000008"
            "008083868fb0b1b2");
}

TEST_F(Inquiry, EveryListedPageIsThereAndNoOther) {
  set_up();
  const auto list = page(0x00);
  for (int code = 0; code < 256; ++code) {
    const auto task = in(cdb(1, static_cast<std::uint8_t>(code)), 1024);
    const bool listed =
        std::find(list.begin() + 4, list.end(), static_cast<std::byte>(code)) != list.end();
    if (!listed) {
      EXPECT_SENSE(task, "5/24/00@2");
      continue;
    }
    EXPECT_GOOD(task);
    ASSERT_GE(task->data_in.size(), 4U);
    EXPECT_EQ(load_u8(&task->data_in[1]), code);
    EXPECT_EQ(load_be16(&task->data_in[2]), task->data_in.size() - 4);
  }
}

TEST_F(Inquiry, PagesAreCutAtEveryByte) {
  set_up();
  const auto whole = page(0x83);
  for (std::size_t length = 0; length <= whole.size() + 2; ++length) {
    const auto task = in(cdb(1, 0x83, static_cast<std::uint16_t>(length)), 1024);
    EXPECT_EQ(task->data_in.size(), std::min(length, whole.size()));
    EXPECT_EQ(task->transfer_length, std::min(length, whole.size()));
  }
}

TEST_F(Inquiry, UnitSerialNumber) {
  settings.serial = "S-0815";
  set_up();
  EXPECT_EQ(to_hex(page(0x80)), "00800006" + to_hex(as_bytes("S-0815")));
}

TEST_F(Inquiry, SerialNumberOfItsOwnIsStable) {
  set_up();
  const auto first = page(0x80);
  EXPECT_EQ(first.size(), 20U);
  set_up();
  EXPECT_EQ(page(0x80), first);
}

TEST_F(Inquiry, UnitsOfOneTargetDiffer) {
  set_up();
  target::LogicalUnitSettings other = settings;
  other.lun = 300;
  device->units[300] = target::make_logical_unit(kName, other, target::make_null_store(1 << 20));
  open();
  EXPECT_NE(page(0x80, 0), page(0x80, 300));
  EXPECT_NE(page(0x83, 0), page(0x83, 300));
}

TEST_F(Inquiry, VeryLongSerialNumberIsCut) {
  settings.serial = std::string(300, 'x');
  set_up();
  EXPECT_EQ(page(0x80).size(), 4U + 64U);
}

TEST_F(Inquiry, DeviceIdentification) {
  settings.serial = "S1";
  set_up();
  const auto all = page(0x83);
  const auto designators = Bytes(all).subspan(4);
  std::vector<std::string> found;
  for (std::size_t at = 0; at + 4 <= designators.size();) {
    const std::size_t length = load_u8(&designators[at + 3]);
    ASSERT_LE(at + 4 + length, designators.size());
    found.push_back(to_hex(designators.subspan(at, 4 + length)));
    at += 4 + length;
  }
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found[0], "0201000a" + to_hex(as_bytes("openiserS1")));
  EXPECT_EQ(found[1].substr(0, 8), "01030010");
  EXPECT_EQ(found[1].substr(8, 7), "6026f69") << "NAA 6, locally administered company";
  EXPECT_EQ(found[2], "5194000400000001");
  EXPECT_EQ(found[3], "5195000400000001");
  // Names are NUL-terminated and padded to four.
  EXPECT_EQ(found[4], "53980020" + to_hex(as_bytes("iqn.2026-01.test:disk,t,0x0001")) + "0000");
  EXPECT_EQ(found[5], "53a80018" + to_hex(as_bytes("iqn.2026-01.test:disk")) + "000000");
}

TEST_F(Inquiry, ExtendedInquiryTellsOfTheCache) {
  set_up();
  EXPECT_EQ(to_hex(page(0x86)),
            "0086003c"
            "000701" +
                std::string(57 * 2, '0'));
  set_up(512, 1024, false);
  EXPECT_EQ(to_hex(page(0x86)),
            "0086003c"
            "000700" +
                std::string(57 * 2, '0'));
}

TEST_F(Inquiry, BlockLimits) {
  set_up();
  EXPECT_EQ(to_hex(page(0xb0)),
            "00b0003c"
            "01ff0008"
            "00008000"
            "00000800"
            "00000000"
            "00100000"
            "00000100"
            "00000008"
            "80000000"
            "000000000000ffff"
            "00000800" +
                std::string(32, '0'));
}

TEST_F(Inquiry, BlockLimitsOfLargeBlocks) {
  set_up(4096, 64);
  EXPECT_EQ(to_hex(page(0xb0)),
            "00b0003c"
            "01ff0001"
            "00001000"
            "00000100"
            "00000000"
            "00100000"
            "00000100"
            "00000001"
            "80000000"
            "000000000000ffff"
            "00000100" +
                std::string(32, '0'));
}

TEST_F(Inquiry, BlockLimitsWithoutDiscard) {
  set_up(512, 1024, true, false);
  EXPECT_EQ(to_hex(page(0xb0)),
            "00b0003c"
            "01ff0008"
            "00008000"
            "00000800"
            "00000000"
            "00000000"
            "00000000"
            "00000000"
            "00000000"
            "000000000000ffff"
            "00000800" +
                std::string(32, '0'));
}

TEST_F(Inquiry, BlockDeviceCharacteristics) {
  set_up();
  EXPECT_EQ(to_hex(page(0xb1)),
            "00b1003c"
            "00010040" +
                std::string(56 * 2, '0'));
  set_up(512, 1024, true, false);
  EXPECT_EQ(to_hex(page(0xb1)),
            "00b1003c"
            "00010000" +
                std::string(56 * 2, '0'));
}

TEST_F(Inquiry, PhysicalBlocksAreAsConfigured) {
  settings.physical_block_size = 512;
  set_up();
  EXPECT_EQ(to_hex(page(0xb0)).substr(8, 8), "01ff0001");
  EXPECT_EQ(to_hex(page(0xb0)).substr(56, 8), "00000001") << "unmap granularity";
  EXPECT_EQ(load_u8(&in(cdb16(0x9e, 0, 32, 0x10), 32)->data_in[13]), 0);
  settings.physical_block_size = 1 << 20;
  set_up();
  EXPECT_EQ(to_hex(page(0xb0)).substr(8, 8), "01ff0800");
  EXPECT_EQ(load_u8(&in(cdb16(0x9e, 0, 32, 0x10), 32)->data_in[13]), 11);
}

TEST_F(Inquiry, PhysicalBlocksThatAreNone) {
  for (const std::uint32_t size : {0U, 256U, 768U, 1U << 21}) {
    settings.physical_block_size = size;
    EXPECT_THROW(set_up(), std::invalid_argument);
  }
  settings.physical_block_size = 4096;
}

TEST_F(Inquiry, LogicalBlockProvisioning) {
  set_up();
  EXPECT_EQ(to_hex(page(0xb2)),
            "00b20004"
            "00e40200");
  set_up(512, 1024, true, false);
  EXPECT_EQ(to_hex(page(0xb2)),
            "00b20004"
            "00000000");
}

}  // namespace
}  // namespace openiser::test
