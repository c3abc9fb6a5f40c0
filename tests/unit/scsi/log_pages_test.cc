// LOG SENSE, LOG SELECT, SEND DIAGNOSTIC, RECEIVE DIAGNOSTIC RESULTS, and the watch over the space
// of thin units.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = target::StoreRequest::Operation;

const ByteVector kTestUnitReady = hex("00 00 00 00 00 00");

class LogPages : public ScsiFixture {
 protected:
  // With a store that tells its space.
  void set_up_thin(std::uint8_t threshold = 0, std::uint64_t blocks = 1024) {
    settings.soft_threshold = threshold;
    desk = FaultStore::make_desk(512 * blocks);
    desk->properties.tells_space = true;
    device = std::make_shared<target::TargetDevice>();
    device->name = kName;
    device->units[0] =
        target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desk));
    open();
  }
  static ByteVector sense_cdb(std::uint8_t page, std::uint8_t subpage = 0, std::uint8_t control = 1,
                              std::uint16_t pointer = 0, std::uint16_t length = 512) {
    auto cdb = cdb10(0x4d, 0, length);
    store_u8(&cdb[2], static_cast<std::uint8_t>(control << 6 | page));
    store_u8(&cdb[3], subpage);
    store_be16(&cdb[5], pointer);
    return cdb;
  }
  std::string page(std::uint8_t code, std::uint8_t subpage = 0) {
    return to_hex(in(sense_cdb(code, subpage), 512)->data_in);
  }
  std::unique_ptr<FakeTask> self_test(std::uint8_t byte1 = 0x04) {
    auto cdb = hex("1d 00 00 00 00 00");
    store_u8(&cdb[1], byte1);
    return none(cdb);
  }
};

TEST_F(LogPages, SupportedPages) {
  set_up();
  EXPECT_EQ(page(0x00),
            "00000005"
            "000203102f");
  EXPECT_EQ(page(0x00, 0xff),
            "40ff000c"
            "000000ff"
            "02000300"
            "10002f00");
  set_up_thin();
  EXPECT_EQ(page(0x00),
            "00000006"
            "0002030c102f");
}

TEST_F(LogPages, WhatIsNotThere) {
  set_up();
  EXPECT_SENSE(in(sense_cdb(0x0d), 512), "5/24/00@2.5");
  EXPECT_SENSE(in(sense_cdb(0x0c), 512), "5/24/00@2.5");
  EXPECT_SENSE(in(sense_cdb(0x02, 1), 512), "5/24/00@3");
  EXPECT_SENSE(in(sense_cdb(0x02, 0xff), 512), "5/24/00@3");
  EXPECT_SENSE(in(sense_cdb(0x00, 1), 512), "5/24/00@3");
  for (const std::uint8_t control : {0, 2, 3}) {
    EXPECT_SENSE(in(sense_cdb(0x02, 0, control), 512), "5/24/00@2.7");
  }
  auto save = sense_cdb(0x02);
  store_u8(&save[1], 1);
  EXPECT_SENSE(in(save, 512), "5/24/00@1.0");
  EXPECT_SENSE(in(sense_cdb(0x02, 0, 1, 7), 512), "5/24/00@5");
}

TEST_F(LogPages, CutAtEveryByte) {
  set_up();
  const auto whole = in(sense_cdb(0x2f), 512)->data_in;
  for (std::uint16_t length = 0; length < 16; ++length) {
    const auto cut = in(sense_cdb(0x2f, 0, 1, 0, length), 512)->data_in;
    EXPECT_EQ(cut, ByteVector(whole.begin(), whole.begin() + std::min<std::ptrdiff_t>(length, 12)));
  }
}

TEST_F(LogPages, ErrorsAreCountedAndReset) {
  set_up();
  desk->fail(Operation::read, EIO);
  EXPECT_SENSE(in(cdb10(0x28, 0, 1), 512), "3/11/00");
  EXPECT_SENSE(in(cdb10(0x28, 0, 1), 512), "3/11/00");
  desk->fail(Operation::write, EIO);
  EXPECT_SENSE(out(cdb10(0x2a, 0, 1), data(512)), "3/0c/00");
  EXPECT_EQ(page(0x03),
            "03000008"
            "00062004"
            "00000002");
  EXPECT_EQ(page(0x02),
            "02000008"
            "00062004"
            "00000001");
  EXPECT_GOOD(none(hex("4c 00 00 00 00 00 00 00 00 00")));
  EXPECT_EQ(page(0x02),
            "02000008"
            "00062004"
            "00000001");
  EXPECT_GOOD(none(hex("4c 02 00 00 00 00 00 00 00 00")));
  EXPECT_EQ(page(0x03),
            "03000008"
            "00062004"
            "00000000");
  EXPECT_EQ(page(0x02),
            "02000008"
            "00062004"
            "00000000");
}

TEST_F(LogPages, LogSelectTakesNoParameters) {
  set_up();
  EXPECT_SENSE(out(hex("4c 00 00 00 00 00 00 00 04 00"), ByteVector(4)), "5/24/00@7");
  EXPECT_SENSE(none(hex("4c 01 00 00 00 00 00 00 00 00")), "5/24/00@1.0");
}

TEST_F(LogPages, ProvisioningCountsMebibytes) {
  set_up_thin();
  desk->space = {.used = (3 << 20) + 1, .available = std::uint64_t{7} << 20};
  EXPECT_EQ(page(0x0c),
            "0c000018"
            "00012308"
            "00000007"
            "02000000"
            "00022308"
            "00000004"
            "01000000");
  EXPECT_EQ(to_hex(in(sense_cdb(0x0c, 0, 1, 2), 512)->data_in),
            "0c00000c"
            "00022308"
            "00000004"
            "01000000");
  desk->space.available = UINT64_MAX;
  EXPECT_EQ(page(0x0c).substr(16, 8), "ffffffff");
  EXPECT_EQ(to_hex(in(hex("12 01 b2 00 ff 00"), 255)->data_in).substr(8, 2), "0b");
  desk->fail(Operation::query_space, EIO);
  EXPECT_SENSE(in(sense_cdb(0x0c), 512), "3/0c/00");
}

TEST_F(LogPages, SelfTestsAreRemembered) {
  set_up();
  EXPECT_GOOD(self_test());
  EXPECT_EQ(desk->count(Operation::read), 2U);
  EXPECT_EQ(desk->seen[1].offset, 1023 * 512U);
  EXPECT_EQ(desk->count(Operation::flush), 1U);
  EXPECT_GOOD(self_test(0xa0));
  desk->fail(Operation::read, EIO);
  EXPECT_SENSE(self_test(0x20), "4/3e/03");
  const std::string results = page(0x10);
  EXPECT_EQ(results.size(), 2 * (4 + 20 * 20U));
  EXPECT_EQ(results.substr(0, 8), "10000190");
  EXPECT_EQ(results.substr(8, 40),
            "00012310"
            "24000000"
            "0000000000000000"
            "03110000");
  EXPECT_EQ(results.substr(48, 40),
            "00022310"
            "a0000000" +
                std::string(24, '0'));
  EXPECT_EQ(results.substr(88, 40), "00032310" + std::string(32, '0'));
}

TEST_F(LogPages, DiagnosticsThatAreNotThere) {
  set_up();
  EXPECT_GOOD(self_test(0x00));
  EXPECT_EQ(desk->seen.size(), 0U);
  for (const std::uint8_t byte1 : {0x24, 0x40, 0x60, 0x80, 0xc0, 0xe0}) {
    EXPECT_SENSE(self_test(byte1), "5/24/00@1.7");
  }
  EXPECT_EQ(to_hex(in(hex("1c 01 00 00 ff 00"), 255)->data_in), "0000000100");
  EXPECT_EQ(to_hex(in(hex("1c 01 00 00 03 00"), 255)->data_in), "000000");
  EXPECT_SENSE(in(hex("1c 01 01 00 ff 00"), 255), "5/24/00@2");
}

TEST_F(LogPages, TheListOfDiagnosticPagesMayBeAskedForByAPage) {
  set_up();
  const auto send = [&](const char* cdb, const char* page) { return out(hex(cdb), hex(page)); };
  EXPECT_GOOD(send("1d 10 00 00 04 00", "00 00 00 00"));
  EXPECT_EQ(to_hex(in(hex("1c 00 00 00 ff 00"), 255)->data_in), "0000000100");
  EXPECT_EQ(desk->seen.size(), 0U);
  EXPECT_SENSE(send("1d 10 00 00 04 00", "00 00 00"), "5/1a/00");
  EXPECT_SENSE(send("1d 10 00 00 03 00", "00 00 00"), "5/1a/00");
  EXPECT_SENSE(send("1d 10 00 00 04 00", "40 00 00 00"), "5/26/00#0");
  EXPECT_SENSE(send("1d 10 00 00 04 00", "00 00 00 01"), "5/26/00#2");
  EXPECT_SENSE(send("1d 00 00 00 04 00", "00 00 00 00"), "5/24/00@1.4");
  EXPECT_SENSE(send("1d 14 00 00 04 00", "00 00 00 00"), "5/24/00@3");
}

TEST_F(LogPages, InformationalExceptions) {
  set_up();
  EXPECT_EQ(page(0x2f),
            "2f000008"
            "00002304"
            "0000ff00");
  EXPECT_GOOD(out(hex("15 10 00 00 10 00"), hex("00000000 1c0a0406 0000000000000000")));
  EXPECT_EQ(page(0x2f),
            "2f000008"
            "00002304"
            "5dffff00");
}

// --- the soft threshold ---

class Threshold : public LogPages {
 protected:
  static constexpr std::uint64_t kBlocks = 16384;  // 8 MiB: a look at each MiB
  void write_mebibyte() {
    EXPECT_GOOD(out(cdb10(0x2a, 0, 2048), data(1 << 20)));
    // What was raised is posted.
    side->loop.post([this] { side->loop.stop(); });
    side->loop.run();
  }
  std::string state() {
    const auto task = none(kTestUnitReady);
    return task->status == kGood ? "good" : sense_text(task->sense);
  }
};

TEST_F(Threshold, IsToldOnceWhenPassed) {
  set_up_thin(50, kBlocks);
  desk->space = {.used = (4 << 20) - 1, .available = 1 << 30};
  write_mebibyte();
  EXPECT_EQ(state(), "good");
  desk->space.used = 4 << 20;
  write_mebibyte();
  EXPECT_EQ(state(), "6/38/07");
  write_mebibyte();
  EXPECT_EQ(state(), "good");
  EXPECT_EQ(page(0x2f),
            "2f000008"
            "00002304"
            "3807ff00");
  desk->space.used = 0;
  write_mebibyte();
  EXPECT_EQ(page(0x2f),
            "2f000008"
            "00002304"
            "0000ff00");
  desk->space.used = 5 << 20;
  write_mebibyte();
  EXPECT_EQ(state(), "6/38/07") << "anew";
}

TEST_F(Threshold, CountsWhatTheFileSystemHasLeft) {
  set_up_thin(50, kBlocks);
  desk->space = {.used = 1 << 20, .available = 1 << 20};
  write_mebibyte();
  EXPECT_EQ(state(), "6/38/07");
}

TEST_F(Threshold, EveryNexusIsTold) {
  set_up_thin(50, kBlocks);
  SessionSide other(device);
  other.task(kTestUnitReady)->execute();
  desk->space = {.used = 8 << 20, .available = 0};
  write_mebibyte();
  other.loop.post([&] { other.loop.stop(); });
  other.loop.run();
  EXPECT_EQ(state(), "6/38/07");
  const auto task = other.task(kTestUnitReady);
  task->execute();
  EXPECT_EQ(sense_text(task->sense), "6/38/07");
}

TEST_F(Threshold, NoRoomLooksAtOnce) {
  set_up_thin(99, kBlocks);
  desk->space = {.used = 6 << 20, .available = 0};
  desk->fail(Operation::write, ENOSPC);
  EXPECT_SENSE(out(cdb10(0x2a, 0, 1), data(512)), "7/27/07");
  side->loop.post([this] { side->loop.stop(); });
  side->loop.run();
  EXPECT_EQ(state(), "6/38/07");
}

TEST_F(Threshold, WithoutOneNobodyAsks) {
  set_up_thin(0, kBlocks);
  write_mebibyte();
  write_mebibyte();
  EXPECT_EQ(desk->count(Operation::query_space), 0U);
}

}  // namespace
}  // namespace openiser::test
