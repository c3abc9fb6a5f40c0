// Which LUNs a nexus sees: forms of addressing, 16384 of them, views, and changes while it is
// there.
#include <gtest/gtest.h>

#include "target/scsi/nexus_state.h"
#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using iscsi::TaskManagementAnswer;
using iscsi::TaskManagementFunction;

const ByteVector kTestUnitReady = hex("00 00 00 00 00 00");
const ByteVector kInquiry = hex("12 00 00 00 60 00");
const ByteVector kModeSense = hex("1a 08 08 00 ff 00");
constexpr const char* kName = "iqn.2026-01.test:disk";

ByteVector report_luns(std::uint32_t allocation = 1 << 20, std::uint8_t select = 0) {
  ByteVector cdb = hex("a0 00 00 00 00 00 00 00 00 00 00 00");
  store_u8(&cdb[2], select);
  store_be32(&cdb[6], allocation);
  return cdb;
}

iscsi::Lun lun_of(const char* digits) {
  iscsi::Lun lun{};
  const auto bytes = hex(digits);
  std::copy(bytes.begin(), bytes.end(), lun.begin());
  return lun;
}

// A target of disks 0 to 3, each on a store of its own, and sessions with whatever they see of it.
class Luns : public ::testing::Test {
 protected:
  using Device = target::TargetDevice;
  using Sees = std::map<std::uint16_t, std::uint16_t>;  // LUN to disk

  void SetUp() override {
    for (std::uint16_t disk = 0; disk < desks.size(); ++disk) {
      desks[disk] = FaultStore::make_desk(64 * 512);
      target::LogicalUnitSettings settings;
      settings.lun = disk;
      units.push_back(
          target::make_logical_unit(kName, settings, std::make_unique<FaultStore>(desks[disk])));
    }
  }

  std::shared_ptr<Device> device(const Sees& sees, std::set<std::uint16_t> read_only = {}) const {
    auto made = std::make_shared<Device>();
    made->name = kName;
    made->nexuses = nexuses;
    made->read_only = std::move(read_only);
    for (const auto& [lun, disk] : sees) made->units[lun] = units[disk];
    return made;
  }
  std::unique_ptr<SessionSide> session(std::shared_ptr<Device> device) const {
    return std::make_unique<SessionSide>(std::move(device));
  }
  static std::unique_ptr<FakeTask> run(SessionSide& on, const ByteVector& cdb,
                                       const iscsi::Lun& lun, std::uint32_t expected = 0) {
    auto task = on.task(cdb);
    task->lun = lun;
    task->read = expected != 0;
    task->expected_data_transfer_length = expected;
    task->execute();
    return task;
  }
  static std::unique_ptr<FakeTask> run(SessionSide& on, const ByteVector& cdb, std::uint16_t lun,
                                       std::uint32_t expected = 0) {
    return run(on, cdb, target::encode_lun(lun), expected);
  }
  static std::unique_ptr<FakeTask> write(SessionSide& on, std::uint16_t lun, std::byte fill) {
    auto task = on.task(cdb10(0x2a, 0, 1), lun);
    task->write = true;
    task->data_out = ByteVector(512, fill);
    task->expected_data_transfer_length = 512;
    task->execute();
    return task;
  }
  // Status in words; takes a pending unit attention along.
  static std::string ready(SessionSide& on, std::uint16_t lun) {
    const auto task = run(on, kTestUnitReady, lun);
    return task->status == kGood ? "good" : sense_text(task->sense);
  }
  static std::string listed(SessionSide& on, std::uint32_t room = 1 << 20) {
    return to_hex(run(on, report_luns(), 0, room)->data_in).substr(16);
  }
  // What has been posted.
  static void settle(std::initializer_list<SessionSide*> sides) {
    for (int i = 0; i < 3; ++i) {
      for (SessionSide* each : sides) {
        each->loop.post([each] { each->loop.stop(); });
        each->loop.run();
      }
    }
  }
  void change(SessionSide& on, const std::shared_ptr<Device>& to) const {
    target::change_devices(*nexuses, [to](const std::string&) { return to; });
    settle({&on});
  }

  std::array<std::shared_ptr<StoreDesk>, 4> desks;
  std::vector<std::shared_ptr<target::LogicalUnit>> units;
  std::shared_ptr<target::NexusList> nexuses = target::make_nexus_list();
};

// SAM-5 section 4.7.7
TEST_F(Luns, EachFormThatCanNameAUnitDoes) {
  const auto side = session(device({{5, 1}, {300, 2}}));
  EXPECT_EQ(ready(*side, 5), "6/29/00");
  EXPECT_EQ(ready(*side, 300), "6/29/00");
  for (const char* form : {"0005", "4005", "d2000005", "412c", "d200012c"}) {
    EXPECT_GOOD(run(*side, kTestUnitReady, lun_of(form)));
  }
}

TEST_F(Luns, OtherFormsNameNone) {
  const auto side = session(device({{5, 1}}));
  for (const char* form : {"0105", "8005", "c105", "d1000005", "d2010005", "ffff",
                           "0005000100000000", "4005000000000001"}) {
    EXPECT_SENSE(run(*side, kTestUnitReady, lun_of(form)), "5/25/00");
    EXPECT_EQ(to_hex(run(*side, kInquiry, lun_of(form), 96)->data_in).substr(0, 2), "7f") << form;
  }
}

// SPC-4 section 8 asks for no well known unit: REPORT LUNS is answered at LUN 0, there or not.
TEST_F(Luns, ThereIsNoWellKnownUnit) {
  const auto side = session(device({{5, 1}}));
  const iscsi::Lun well_known = lun_of("c101");
  EXPECT_SENSE(run(*side, kTestUnitReady, well_known), "5/25/00");
  EXPECT_EQ(to_hex(run(*side, kInquiry, well_known, 96)->data_in).substr(0, 2), "7f");
  EXPECT_EQ(to_hex(run(*side, report_luns(64, 1), 0, 64)->data_in), "0000000000000000");
  EXPECT_EQ(to_hex(run(*side, report_luns(64, 2), 0, 64)->data_in),
            "00000008000000000005000000000000");
}

TEST_F(Luns, AllThatCanBeNumbered) {
  constexpr std::uint16_t kLast = 16383;
  auto all = std::make_shared<Device>();
  all->name = kName;
  for (std::uint16_t lun = 0; lun <= kLast; ++lun) {
    target::LogicalUnitSettings settings;
    settings.lun = lun;
    all->units[lun] = target::make_logical_unit(kName, settings, target::make_null_store(4096));
  }
  const auto side = session(all);
  const auto& nexus = static_cast<const target::Nexus&>(*side->nexus);
  EXPECT_EQ(nexus.units_kept(), 0U) << "a session costs what it uses";
  const auto list = run(*side, report_luns(), 0, 1 << 20)->data_in;
  ASSERT_EQ(list.size(), 8U + 8U * (kLast + 1));
  EXPECT_EQ(load_be32(list.data()), list.size() - 8);
  for (std::uint32_t lun = 0; lun <= kLast; ++lun) {
    const std::uint64_t first = lun < 256 ? lun : 0x4000 | lun;
    ASSERT_EQ(load_be64(&list[8 + 8 * lun]), first << 48) << lun;
  }
  EXPECT_EQ(nexus.units_kept(), 1U) << "LUN 0, which was asked";
  for (const std::uint16_t lun : {std::uint16_t{255}, std::uint16_t{256}, kLast}) {
    EXPECT_EQ(ready(*side, lun), "6/29/00");
    EXPECT_EQ(ready(*side, lun), "good");
  }
  EXPECT_EQ(nexus.units_kept(), 4U);
  // Of which a reset of the target raises something, and for the others the power on is left.
  std::optional<TaskManagementAnswer> answer;
  side->nexus->manage(TaskManagementFunction::target_warm_reset, {},
                      [&](TaskManagementAnswer given) { answer = given; });
  settle({side.get()});
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_EQ(nexus.units_kept(), 4U);
  EXPECT_EQ(ready(*side, kLast), "6/29/03");
  EXPECT_EQ(ready(*side, 77), "6/29/00");
  EXPECT_EQ(ready(*side, 77), "good");
}

// --- views ---

TEST_F(Luns, AViewIsAllThereIs) {
  const auto side = session(device({{0, 3}, {9, 1}}));
  EXPECT_EQ(listed(*side), "00000000000000000009000000000000");
  EXPECT_EQ(ready(*side, 0), "6/29/00");
  EXPECT_GOOD(write(*side, 0, std::byte{0x5a}));
  EXPECT_EQ(desks[3]->bytes[0], std::byte{0x5a});
  EXPECT_EQ(desks[0]->bytes[0], std::byte{0});
  for (const std::uint16_t lun : {1, 3}) EXPECT_EQ(ready(*side, lun), "5/25/00") << lun;
}

TEST_F(Luns, ADiskIsTheSameByWhateverNumber) {
  const auto one = session(device({{0, 3}})), other = session(device({{3, 3}}));
  const ByteVector names = hex("12 01 83 00 ff 00");
  const auto name = run(*one, names, 0, 255)->data_in;
  EXPECT_GT(name.size(), 40U);
  EXPECT_EQ(name, run(*other, names, 3, 255)->data_in);
}

TEST_F(Luns, ReadOnlyInOneView) {
  const auto reader = session(device({{0, 2}, {1, 1}}, {0})), writer = session(device({{7, 2}}));
  EXPECT_EQ(ready(*reader, 0), "6/29/00");
  EXPECT_EQ(ready(*reader, 1), "6/29/00");
  EXPECT_EQ(ready(*writer, 7), "6/29/00");
  EXPECT_SENSE(write(*reader, 0, std::byte{1}), "7/27/00");
  EXPECT_EQ(load_u8(&run(*reader, kModeSense, 0, 255)->data_in[2]) & 0x80, 0x80) << "WP";
  EXPECT_GOOD(write(*reader, 1, std::byte{1}));
  EXPECT_GOOD(write(*writer, 7, std::byte{2}));
  EXPECT_EQ(load_u8(&run(*writer, kModeSense, 7, 255)->data_in[2]) & 0x80, 0);
  EXPECT_EQ(run(*reader, cdb10(0x28, 0, 1), 0, 512)->data_in, ByteVector(512, std::byte{2}));
}

// What one does to a disk shows where another has it under another number.
TEST_F(Luns, AResetReachesTheDiskInOtherViews) {
  const auto one = session(device({{0, 2}, {2, 0}})), other = session(device({{5, 2}, {0, 0}}));
  for (const std::uint16_t lun : {0, 2}) ready(*one, lun);
  for (const std::uint16_t lun : {0, 5}) ready(*other, lun);
  desks[2]->hold = true;
  auto task = other->task(cdb10(0x28, 0, 1), 5);
  task->read = true;
  task->expected_data_transfer_length = 512;
  task->execute();
  std::optional<TaskManagementAnswer> answer;
  one->nexus->manage(TaskManagementFunction::logical_unit_reset, target::encode_lun(0),
                     [&](TaskManagementAnswer given) { answer = given; });
  settle({other.get(), one.get()});
  desks[2]->release_all();
  settle({other.get(), one.get()});
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_EQ(task->status, kTaskAborted);
  EXPECT_EQ(ready(*other, 5), "6/29/03");
  EXPECT_EQ(ready(*other, 0), "good");
  EXPECT_EQ(ready(*one, 0), "6/29/03");
  EXPECT_EQ(ready(*one, 2), "good");
}

// --- changes ---

TEST_F(Luns, AnAddedLunIsToldAndTakesCommands) {
  const auto side = session(device({{0, 0}, {1, 1}}));
  ready(*side, 0), ready(*side, 1);
  change(*side, device({{0, 0}, {1, 1}, {2, 2}}));
  EXPECT_EQ(ready(*side, 0), "6/3f/0e");
  EXPECT_EQ(ready(*side, 0), "good");
  EXPECT_EQ(listed(*side), "000000000000000000010000000000000002000000000000");
  EXPECT_EQ(ready(*side, 1), "good") << "who has seen the list knows (SPC-4 section 6.33)";
  EXPECT_EQ(ready(*side, 2), "6/29/00");
  EXPECT_EQ(ready(*side, 2), "good");
}

TEST_F(Luns, InquiryAndRequestSenseOnAChange) {
  const auto side = session(device({{0, 0}}));
  ready(*side, 0);
  change(*side, device({{0, 0}, {1, 1}}));
  EXPECT_GOOD(run(*side, kInquiry, 0, 96));
  const auto sense = run(*side, hex("03 00 00 00 ff 00"), 0, 255);
  EXPECT_EQ(sense_text(sense->data_in), "6/3f/0e");
  EXPECT_EQ(ready(*side, 0), "good");
}

TEST_F(Luns, ARemovedLunFinishesWhatItHas) {
  const auto side = session(device({{0, 0}, {1, 1}}));
  ready(*side, 0), ready(*side, 1);
  desks[1]->hold = true;
  std::vector<std::unique_ptr<FakeTask>> tasks;
  for (const auto attribute : {iscsi::TaskAttribute::simple, iscsi::TaskAttribute::ordered}) {
    auto task = side->task(cdb10(0x28, 0, 1), 1);
    task->read = true;
    task->expected_data_transfer_length = 512;
    task->attribute = attribute;
    tasks.push_back(std::move(task));
    tasks.back()->execute();
  }
  change(*side, device({{0, 0}}));
  std::weak_ptr<target::LogicalUnit> removed = units[1];
  units[1].reset();
  EXPECT_EQ(ready(*side, 1), "5/25/00");
  EXPECT_EQ(to_hex(run(*side, kInquiry, 1, 96)->data_in).substr(0, 2), "7f");
  EXPECT_EQ(ready(*side, 0), "6/3f/0e");
  EXPECT_FALSE(tasks[0]->ended());
  desks[1]->hold = false;
  desks[1]->release_all();
  EXPECT_EQ(tasks[0]->status, kGood);
  EXPECT_EQ(tasks[1]->status, kGood) << "it waited for the first";
  EXPECT_EQ(tasks[1]->data_in.size(), 512U);
  EXPECT_FALSE(removed.expired());
  settle({side.get()});
  EXPECT_TRUE(removed.expired()) << "nothing holds the store any longer";
  EXPECT_EQ(ready(*side, 1), "5/25/00");
}

TEST_F(Luns, ARemovedLunsTasksCanBeAborted) {
  const auto side = session(device({{1, 1}}));
  ready(*side, 1);
  desks[1]->hold = true;
  auto task = side->task(cdb10(0x28, 0, 1), 1);
  task->read = true;
  task->expected_data_transfer_length = 512;
  task->execute();
  change(*side, device({}));
  task->abort();
  desks[1]->release_all();
  EXPECT_TRUE(task->released);
  settle({side.get()});
  EXPECT_EQ(static_cast<const target::Nexus&>(*side->nexus).units_kept(), 0U);
}

// Who still sees a unit may reset it: that waits for tasks of those that do not see it any more,
// and leaves alone what they see at its number now.
TEST_F(Luns, ALunResetReachesTasksOfARemovedLun) {
  target::LogicalUnitSettings same_number;
  same_number.lun = 1;
  const auto other_desk = FaultStore::make_desk(64 * 512);
  const auto other_unit =
      target::make_logical_unit(kName, same_number, std::make_unique<FaultStore>(other_desk));
  const auto side = session(device({{1, 1}}));
  const auto resetting = session(device({{1, 1}}));
  ready(*side, 1), ready(*resetting, 1);
  desks[1]->hold = other_desk->hold = true;
  const auto old_write = write(*side, 1, std::byte{1});
  const auto with_other = device({});
  with_other->units[1] = other_unit;
  target::change_devices(*nexuses, [&](const std::string&) { return with_other; });
  settle({side.get()});
  ready(*side, 1);
  const auto new_write = write(*side, 1, std::byte{2});
  ASSERT_EQ(other_desk->held.size(), 1U);

  // The other session has not heard of the change.
  std::optional<TaskManagementAnswer> answer;
  resetting->nexus->manage(TaskManagementFunction::logical_unit_reset, target::encode_lun(1),
                           [&](TaskManagementAnswer given) { answer = given; });
  settle({side.get(), resetting.get()});
  EXPECT_FALSE(answer.has_value()) << "the store still has the write";
  EXPECT_FALSE(old_write->ended());
  desks[1]->release_all();
  settle({side.get(), resetting.get()});
  EXPECT_EQ(old_write->status, kTaskAborted);
  EXPECT_EQ(answer, TaskManagementAnswer::complete);
  EXPECT_FALSE(new_write->ended());
  other_desk->release_all();
  EXPECT_EQ(new_write->status, kGood) << "it was for another unit";
}

TEST_F(Luns, SanitizeWaitsForTasksOfARemovedLun) {
  const auto side = session(device({{1, 1}}));
  const auto sanitizing = session(device({{1, 1}}));
  ready(*side, 1), ready(*sanitizing, 1);
  desks[1]->hold = true;
  const auto old_write = write(*side, 1, std::byte{1});
  target::change_devices(*nexuses, [&](const std::string&) { return device({}); });
  settle({side.get()});
  auto sanitize = sanitizing->task(cdb10(0x48, 0, 0, 0x02), 1);  // block erase
  sanitize->execute();
  settle({side.get(), sanitizing.get()});
  EXPECT_FALSE(old_write->ended());
  ASSERT_EQ(desks[1]->seen.size(), 1U) << "the work has not begun";
  desks[1]->hold = false;
  desks[1]->release_all();
  EXPECT_EQ(sense_text(old_write->sense).substr(0, 7), "2/04/1b");
  sanitizing->run_until([&] { return sanitize->ended(); });
  EXPECT_GOOD(sanitize);
  EXPECT_EQ(desks[1]->bytes[0], std::byte{0});
}

TEST_F(Luns, ADiskOfAnotherNumberKeepsItsState) {
  const auto side = session(device({{0, 2}}));
  ready(*side, 0);
  change(*side, device({{4, 2}}));
  EXPECT_EQ(ready(*side, 0), "5/25/00");
  EXPECT_EQ(ready(*side, 4), "6/3f/0e") << "no power on: the disk is known";
  EXPECT_EQ(ready(*side, 4), "good");
}

TEST_F(Luns, AnotherDiskInItsPlaceIsANewOne) {
  const auto side = session(device({{0, 2}}));
  ready(*side, 0);
  change(*side, device({{0, 3}}));
  EXPECT_EQ(ready(*side, 0), "6/29/00");
  EXPECT_GOOD(write(*side, 0, std::byte{9}));
  EXPECT_EQ(desks[3]->bytes[0], std::byte{9});
}

TEST_F(Luns, NoChangeTellsNobody) {
  const auto side = session(device({{0, 0}, {1, 1}}));
  ready(*side, 0);
  change(*side, device({{0, 0}, {1, 1}}));
  EXPECT_EQ(ready(*side, 0), "good");
}

TEST_F(Luns, WritesMayBeTakenAwayAndGivenBack) {
  const auto side = session(device({{0, 0}}));
  ready(*side, 0);
  change(*side, device({{0, 0}}, {0}));
  EXPECT_SENSE(write(*side, 0, std::byte{1}), "7/27/00");
  change(*side, device({{0, 0}}));
  EXPECT_GOOD(write(*side, 0, std::byte{1}));
}

TEST_F(Luns, SessionsAreAskedByTheirInitiator) {
  const auto side = session(device({{0, 0}}));
  ready(*side, 0);
  std::vector<std::string> asked;
  target::change_devices(*nexuses, [&](const std::string& initiator) {
    asked.push_back(initiator);
    return nullptr;
  });
  settle({side.get()});
  EXPECT_EQ(asked, std::vector<std::string>{"iqn.2026-01.test:i"});
  EXPECT_EQ(ready(*side, 0), "good");
}

TEST_F(Luns, AGrownFileIsTold) {
  const auto side = session(device({{6, 2}}));
  ready(*side, 6);
  desks[2]->properties.size = 128 * 512;
  target::check_capacity(*units[2]);
  settle({side.get()});
  EXPECT_EQ(ready(*side, 6), "6/2a/09");
  EXPECT_EQ(load_be32(run(*side, cdb10(0x25, 0, 0), 6, 8)->data_in.data()), 127U);
}

}  // namespace
}  // namespace openiser::test
