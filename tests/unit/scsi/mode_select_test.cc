// MODE SELECT: what can be changed, what comes of it, and every way to get it wrong.
#include <gtest/gtest.h>

#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using iscsi::TaskManagementFunction;
using Operation = target::StoreRequest::Operation;

const ByteVector kTestUnitReady = hex("00 00 00 00 00 00");

// The pages as they are at first.
const std::string kHeader = "00000000";
const std::string kCaching =
    "0812"
    "04" +
    std::string(34, '0');
const std::string kControl =
    "0a0a"
    "00100040"
    "0000ffff0000";
const std::string kExceptions = "1c0a" + std::string(20, '0');
// With one field changed.
const std::string kWriteThrough = "0812" + std::string(36, '0');
const std::string kSwp =
    "0a0a"
    "00100840"
    "0000ffff0000";
const std::string kDescriptorSense =
    "0a0a"
    "04100040"
    "0000ffff0000";
const std::string kNoTas =
    "0a0a"
    "00100000"
    "0000ffff0000";

class ModeSelect : public ScsiFixture {
 protected:
  std::unique_ptr<FakeTask> select(const std::string& list, std::uint8_t flags = 0x10) {
    const ByteVector data = hex(list);
    auto cdb = hex("15 00 00 00 00 00");
    store_u8(&cdb[1], flags);
    store_u8(&cdb[4], static_cast<std::uint8_t>(data.size()));
    return out(cdb, data);
  }
  std::unique_ptr<FakeTask> select10(const std::string& list) {
    const ByteVector data = hex(list);
    return out(cdb10(0x55, 0, static_cast<std::uint16_t>(data.size()), 0x10), data);
  }
  // A page as it is now.
  std::string page(std::uint8_t code, std::uint8_t control = 0) {
    auto cdb = hex("1a 08 00 00 ff 00");
    store_u8(&cdb[2], static_cast<std::uint8_t>(control << 6 | code));
    return to_hex(in(cdb, 255)->data_in).substr(8);
  }
  void two_sessions() {
    set_up();
    other = std::make_unique<SessionSide>(device);
    EXPECT_EQ(on_other(kTestUnitReady), "6/29/00");
  }
  void TearDown() override {
    other.reset();
    ScsiFixture::TearDown();
  }
  std::string on_other(const ByteVector& cdb) {
    auto task = other->task(cdb);
    task->execute();
    return task->status == kGood ? "good" : sense_text(task->sense);
  }
  // Runs what has been posted to both loops.
  void settle() {
    for (int i = 0; i < 3; ++i) {
      for (SessionSide* each : {side.get(), other.get()}) {
        each->loop.post([each] { each->loop.stop(); });
        each->loop.run();
      }
    }
  }
  void manage(TaskManagementFunction function) {
    side->nexus->manage(function, target::encode_lun(0), [](iscsi::TaskManagementAnswer) {});
  }

  std::unique_ptr<SessionSide> other;
};

// --- what can be changed ---

TEST_F(ModeSelect, ChangeableFields) {
  set_up();
  EXPECT_EQ(page(0x08, 1),
            "0812"
            "04" +
                std::string(34, '0'));
  EXPECT_EQ(page(0x0a, 1),
            "0a0a"
            "04000840"
            "000000000000");
  EXPECT_EQ(page(0x1c, 1),
            "1c0a"
            "0c0f"
            "0000000000000000");
}

TEST_F(ModeSelect, WithoutVolatileCacheItCannotBeTurnedOn) {
  set_up(512, 1024, false);
  EXPECT_EQ(page(0x08, 1), kWriteThrough);
  EXPECT_SENSE(select(kHeader + kCaching), "5/26/00#6.2");
}

TEST_F(ModeSelect, EachFieldIsReadBackAndDefaultsStay) {
  set_up();
  for (const std::string& changed : {kWriteThrough, kSwp, kDescriptorSense, kNoTas,
                                     "1c0a"
                                     "0406" +
                                         std::string(16, '0'),
                                     "1c0a"
                                     "0806" +
                                         std::string(16, '0')}) {
    const auto code = static_cast<std::uint8_t>(hex(changed)[0]);
    const std::string before = page(code);
    const auto task = select(kHeader + changed);
    EXPECT_GOOD(task);
    EXPECT_EQ(task->transfer_length, 4 + changed.size() / 2);
    EXPECT_EQ(page(code), changed);
    EXPECT_EQ(page(code, 2), before);
    EXPECT_GOOD(select(kHeader + before));
  }
}

TEST_F(ModeSelect, TenByteCommandAndSeveralPages) {
  set_up();
  EXPECT_GOOD(select10("0000000000000000" + kWriteThrough + kNoTas + kExceptions));
  EXPECT_EQ(page(0x3f), kWriteThrough + kNoTas + kExceptions);
}

TEST_F(ModeSelect, WhatModeSenseGaveCanBeGivenBack) {
  set_up();
  const auto six = in(hex("1a 00 3f 00 ff 00"), 255)->data_in;
  EXPECT_GOOD(select(to_hex(six)));
  const auto ten = in(hex("5a 10 3f ff 00 00 00 00 ff 00"), 255)->data_in;
  EXPECT_GOOD(select10(to_hex(ten)));
}

TEST_F(ModeSelect, BlockDescriptors) {
  set_up();
  EXPECT_GOOD(
      select("00000008"
             "00000000"
             "00000200"));
  EXPECT_GOOD(
      select("00000008"
             "ffffffff"
             "00000200"));
  EXPECT_GOOD(
      select("00000008"
             "00000400"
             "00000200" +
             kSwp));
  EXPECT_EQ(page(0x0a), kSwp);
  EXPECT_SENSE(select("00000008"
                      "00000300"
                      "00000200"),
               "5/26/00#4");
  EXPECT_SENSE(select("00000008"
                      "00000400"
                      "00001000"),
               "5/26/00#9");
  EXPECT_SENSE(select("00000010"
                      "00000400"
                      "00000200"
                      "00000400"
                      "00000200"),
               "5/26/00#3");
  EXPECT_GOOD(
      select10("0000000001000010"
               "0000000000000400"
               "00000000"
               "00000200"));
  EXPECT_GOOD(
      select10("0000000001000010"
               "ffffffffffffffff"
               "00000000"
               "00000200"));
  EXPECT_SENSE(select10("0000000001000010"
                        "0000000000000401"
                        "00000000"
                        "00000200"),
               "5/26/00#8");
  EXPECT_SENSE(select10("0000000001000010"
                        "0000000000000400"
                        "00000000"
                        "00000100"),
               "5/26/00#20");
  EXPECT_SENSE(select10("0000000001000008"
                        "00000400"
                        "00000200"),
               "5/26/00#6");
}

// --- what is wrong ---

TEST_F(ModeSelect, CutAtEveryByte) {
  set_up();
  const std::string whole =
      "00000008"
      "00000400"
      "00000200" +
      kSwp;
  for (std::size_t size = 1; size < whole.size() / 2; ++size) {
    const auto task = select(whole.substr(0, 2 * size));
    if (size == 4 + 8) {
      EXPECT_GOOD(task);  // a list without a page
    } else {
      EXPECT_SENSE(task, "5/1a/00");
    }
    EXPECT_EQ(page(0x0a), kControl);
  }
  const std::string ten =
      "0000000001000010"
      "0000000000000400"
      "00000000"
      "00000200" +
      kSwp;
  for (std::size_t size = 1; size < ten.size() / 2; ++size) {
    if (size == 8 + 16) continue;
    EXPECT_SENSE(select10(ten.substr(0, 2 * size)), "5/1a/00");
  }
  EXPECT_EQ(page(0x0a), kControl);
}

TEST_F(ModeSelect, LessDataThanTheCdbSays) {
  set_up();
  EXPECT_SENSE(out(hex("15 10 00 00 10 00"), hex(kHeader + "0a0a0010")), "5/1a/00");
}

TEST_F(ModeSelect, MoreDataThanTheCdbSays) {
  set_up();
  const auto task = out(hex("15 10 00 00 10 00"), hex(kHeader + kSwp + "ffffffff"));
  EXPECT_GOOD(task);
  EXPECT_EQ(task->transfer_length, 16U);
  EXPECT_EQ(page(0x0a), kSwp);
}

TEST_F(ModeSelect, EveryBitThatCannotBeChanged) {
  set_up();
  for (const std::string& now : {kCaching, kControl, kExceptions}) {
    const auto code = static_cast<std::uint8_t>(hex(now)[0]);
    const ByteVector changeable = hex(page(code, 1));
    for (std::size_t byte = 2; byte < changeable.size(); ++byte) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        if ((load_u8(&changeable[byte]) >> bit & 1) != 0) continue;
        ByteVector list = hex(kHeader + now);
        list[4 + byte] ^= std::byte{1} << bit;
        EXPECT_SENSE(select(to_hex(list)),
                     "5/26/00#" + std::to_string(4 + byte) + "." + std::to_string(bit));
      }
    }
  }
}

TEST_F(ModeSelect, AWrongPageUndoesThoseBeforeIt) {
  set_up();
  EXPECT_SENSE(select(kHeader + kSwp +
                      "0812"
                      "05" +
                      std::string(34, '0')),
               "5/26/00#18.0");
  EXPECT_EQ(page(0x0a), kControl);
}

TEST_F(ModeSelect, UnknownPagesAndLengths) {
  set_up();
  EXPECT_SENSE(select(kHeader + "0000"), "5/26/00#4.5");
  EXPECT_SENSE(select(kHeader + "3f00"), "5/26/00#4.5");
  EXPECT_SENSE(select(kHeader + "010a" + std::string(20, '0')), "5/26/00#4.5");
  EXPECT_SENSE(select(kHeader + "4a010006" + std::string(12, '0')), "5/26/00#4.5");
  EXPECT_SENSE(select(kHeader + "4a00000a" + std::string(16, '0')), "5/26/00#4.5");
  EXPECT_SENSE(select(kHeader + "0a0b" + std::string(22, '0')), "5/26/00#5");
  EXPECT_SENSE(select(kHeader + "0a09" + std::string(18, '0')), "5/26/00#5");
  EXPECT_SENSE(select("00ff0000" + kSwp), "5/26/00#1");
  EXPECT_SENSE(select10("0000010000000000" + kSwp), "5/26/00#2");
}

TEST_F(ModeSelect, HeaderFieldsThatAreReservedHere) {
  set_up();
  EXPECT_GOOD(select("17009000" + kCaching));
  EXPECT_GOOD(select(kHeader +
                     "8812"
                     "04" +
                     std::string(34, '0')));  // PS
}

TEST_F(ModeSelect, CdbFields) {
  set_up();
  EXPECT_SENSE(select(kHeader + kSwp, 0x11), "5/24/00@1.0");
  EXPECT_SENSE(select(kHeader + kSwp, 0x00), "5/24/00@1.4");
  EXPECT_EQ(page(0x0a), kControl);
  EXPECT_GOOD(none(hex("15 10 00 00 00 00")));
  EXPECT_GOOD(none(hex("55 10 00 00 00 00 00 00 00 00")));
  EXPECT_SENSE(none(hex("15 11 00 00 00 00")), "5/24/00@1.0");
}

TEST_F(ModeSelect, ExceptionFieldsThatContradict) {
  set_up();
  EXPECT_SENSE(select(kHeader +
                      "1c0a"
                      "0c02" +
                      std::string(16, '0')),
               "5/26/00#6.3");
  for (unsigned method = 0; method < 16; ++method) {
    ByteVector list = hex(kHeader + kExceptions);
    store_u8(&list[7], static_cast<std::uint8_t>(method));
    if (method == 0 || method == 2 || method == 6) {
      EXPECT_GOOD(select(to_hex(list)));
    } else {
      EXPECT_SENSE(select(to_hex(list)), "5/26/00#7.3");
    }
  }
}

// --- what comes of it ---

TEST_F(ModeSelect, WriteThroughFlushesThenForcesEveryWrite) {
  set_up();
  EXPECT_GOOD(select(kHeader + kWriteThrough));
  EXPECT_EQ(desk->count(Operation::flush), 1U);
  desk->seen.clear();
  EXPECT_GOOD(out(cdb10(0x2a, 0, 1), data(512)));
  EXPECT_GOOD(out(cdb10(0x41, 8, 8), data(512)));
  EXPECT_GOOD(out(cdb10(0x41, 8, 8), ByteVector(512)));
  EXPECT_GOOD(
      out(cdb10(0x42, 0, 24), hex("0016 0010 00000000 0000000000000010 00000008 00000000")));
  auto both = stored(0, 1);
  both.insert(both.end(), 512, std::byte{1});
  auto compare = cdb16(0x89, 0, 0);
  store_u8(&compare[13], 1);
  EXPECT_GOOD(out(compare, both));
  std::size_t changes = 0;
  for (const auto& request : desk->seen) {
    if (request.operation == Operation::read) continue;
    EXPECT_TRUE(request.force_unit_access);
    ++changes;
  }
  EXPECT_EQ(changes, 5U);
  EXPECT_GOOD(select(kHeader + kCaching));
  desk->seen.clear();
  EXPECT_GOOD(out(cdb10(0x2a, 0, 1), data(512)));
  EXPECT_FALSE(desk->seen.at(0).force_unit_access);
}

TEST_F(ModeSelect, AFlushThatFailsIsTold) {
  set_up();
  desk->fail(Operation::flush, EIO);
  EXPECT_SENSE(select(kHeader + kWriteThrough), "3/0c/00");
}

TEST_F(ModeSelect, SoftwareWriteProtection) {
  set_up();
  EXPECT_GOOD(select(kHeader + kSwp));
  EXPECT_EQ(desk->count(Operation::flush), 1U);
  EXPECT_SENSE(out(cdb10(0x2a, 0, 1), data(512)), "7/27/02");
  EXPECT_SENSE(out(cdb10(0x41, 0, 1), data(512)), "7/27/02");
  EXPECT_SENSE(out(cdb10(0x42, 0, 8), hex("0006000000000000")), "7/27/02");
  EXPECT_GOOD(in(cdb10(0x28, 0, 1), 512));
  EXPECT_EQ(to_hex(in(hex("1a 08 0a 00 ff 00"), 255)->data_in), "0f009000" + kSwp);
  EXPECT_GOOD(select(kHeader + kControl));
  EXPECT_GOOD(out(cdb10(0x2a, 0, 1), data(512)));
}

TEST_F(ModeSelect, ReadOnlyUnitsStayWhatTheyAre) {
  settings.read_only = true;
  set_up();
  EXPECT_GOOD(select(kHeader + kSwp));
  EXPECT_SENSE(out(cdb10(0x2a, 0, 1), data(512)), "7/27/00");
}

TEST_F(ModeSelect, DescriptorFormatSense) {
  set_up();
  EXPECT_GOOD(select(kHeader + kDescriptorSense));
  EXPECT_EQ(to_hex(in(cdb10(0x28, 1024, 1), 512)->sense),
            "72052100"
            "00000008"
            "02060000c0000200");
  EXPECT_EQ(to_hex(none(hex("02 00 00 00 00 00"))->sense), "7205200000000000");
  // REQUEST SENSE says by itself which it wants.
  EXPECT_EQ(to_hex(in(hex("03 00 00 00 12 00"), 18)->data_in).substr(0, 4), "7000");
  EXPECT_GOOD(select(kHeader + kControl));
  EXPECT_EQ(to_hex(none(hex("02 00 00 00 00 00"))->sense).substr(0, 6), "700005");
}

TEST_F(ModeSelect, OthersAreToldOfChangesOnly) {
  two_sessions();
  EXPECT_GOOD(select(kHeader + kControl));
  settle();
  EXPECT_EQ(on_other(kTestUnitReady), "good");
  EXPECT_GOOD(select(kHeader + kSwp));
  settle();
  EXPECT_EQ(on_other(kTestUnitReady), "6/2a/01");
  EXPECT_EQ(on_other(kTestUnitReady), "good");
  EXPECT_EQ(on_other(cdb10(0x2a, 0, 1)), "7/27/02");
  EXPECT_GOOD(none(kTestUnitReady));
}

TEST_F(ModeSelect, ResetTakesChangesBack) {
  two_sessions();
  EXPECT_GOOD(select(kHeader + kWriteThrough + kSwp));
  manage(TaskManagementFunction::logical_unit_reset);
  settle();
  EXPECT_EQ(on_other(kTestUnitReady), "6/29/03");
  EXPECT_EQ(on_other(kTestUnitReady), "6/2a/01");
  EXPECT_SENSE(none(kTestUnitReady), "6/29/03");
  EXPECT_EQ(page(0x3f), kCaching + kControl + kExceptions);
}

TEST_F(ModeSelect, WithoutTasAClearedTaskIsSilent) {
  two_sessions();
  desk->hold = true;
  const auto held = other->task(cdb10(0x28, 0, 1));
  held->read = held->may_be_dropped = true;
  held->expected_data_transfer_length = 512;
  held->execute();
  EXPECT_GOOD(select(kHeader + kNoTas));
  manage(TaskManagementFunction::clear_task_set);
  settle();
  desk->release_all();
  settle();
  EXPECT_TRUE(held->released);
  EXPECT_FALSE(held->status.has_value());
  EXPECT_EQ(on_other(kTestUnitReady), "6/2f/00");
  EXPECT_EQ(on_other(kTestUnitReady), "6/2a/01");
  EXPECT_EQ(on_other(kTestUnitReady), "good");
}

TEST_F(ModeSelect, ExceptionTestByAttention) {
  two_sessions();
  EXPECT_GOOD(select(kHeader +
                     "1c0a"
                     "0402" +
                     std::string(16, '0')));
  settle();
  EXPECT_SENSE(none(kTestUnitReady), "6/5d/ff");
  EXPECT_EQ(on_other(kTestUnitReady), "6/2a/01");
  EXPECT_EQ(on_other(kTestUnitReady), "6/5d/ff");
  EXPECT_EQ(on_other(kTestUnitReady), "good");
}

TEST_F(ModeSelect, ExceptionTestOnRequest) {
  set_up();
  EXPECT_GOOD(select(kHeader +
                     "1c0a"
                     "0406" +
                     std::string(16, '0')));
  EXPECT_GOOD(none(kTestUnitReady));
  const auto sense = in(hex("03 00 00 00 12 00"), 18);
  EXPECT_EQ(sense_text(sense->data_in), "0/5d/ff");
  EXPECT_GOOD(select(kHeader + kExceptions));
  EXPECT_EQ(sense_text(in(hex("03 00 00 00 12 00"), 18)->data_in), "0/00/00");
}

}  // namespace
}  // namespace openiser::test
