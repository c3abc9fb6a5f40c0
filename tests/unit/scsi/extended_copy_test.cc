// EXTENDED COPY and RECEIVE COPY RESULTS: three units, and sessions that see some of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/support/copy_list.h"
#include "tests/support/scsi_fixture.h"

namespace openiser::test {
namespace {

using Operation = StoreDesk::Operation;

class ExtendedCopy : public ScsiFixture {
 protected:
  static constexpr std::array<std::uint32_t, 3> kBlockSizes{512, 512, 4096};

  void SetUp() override {
    device = std::make_shared<target::TargetDevice>();
    device->name = kName;
    for (std::uint16_t lun = 0; lun < 3; ++lun) add_unit(lun);
    open();
  }
  void add_unit(std::uint16_t lun, bool read_only = false) {
    desks[lun] = FaultStore::make_desk(std::uint64_t{4} << 20);
    desks[lun]->bytes = data(4 << 20, lun + 1U);
    target::LogicalUnitSettings unit;
    unit.lun = lun;
    unit.block_size = kBlockSizes[lun];
    unit.read_only = read_only;
    unit.serial = "serial-" + std::to_string(lun);
    unit.port_groups = {{1}, {2}};
    device->units[lun] =
        target::make_logical_unit(kName, unit, std::make_unique<FaultStore>(desks[lun]));
  }
  // As VPD page 83 has it; its NAA designator comes second.
  ByteVector designator(std::uint16_t lun, bool t10 = false) {
    const auto page = in(hex("12 01 83 04 00 00"), 1024, lun)->data_in;
    std::size_t at = 4;
    if (!t10) at += 4 + load_u8(&page[at + 3]);
    const auto start = page.begin() + static_cast<std::ptrdiff_t>(at + 4);
    return {start, start + load_u8(&page[at + 3])};
  }
  CopyTargetBytes unit(std::uint16_t lun) {
    return {.designator = designator(lun), .block_length = kBlockSizes[lun]};
  }
  std::vector<CopyTargetBytes> all_units() { return {unit(0), unit(1), unit(2)}; }
  std::unique_ptr<FakeTask> copy_by(const ByteVector& list, std::uint16_t lun = 0) {
    return out(copy_cdb(0x83, static_cast<std::uint32_t>(list.size())), list, lun);
  }
  std::unique_ptr<FakeTask> copy(const CopySegmentBytes& segment) {
    return copy_by(copy_list(all_units(), {segment}));
  }
  ByteVector bytes_of(std::uint16_t lun, std::uint64_t offset, std::size_t size) const {
    const auto start = desks[lun]->bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    return {start, start + static_cast<std::ptrdiff_t>(size)};
  }
  std::string results(std::uint8_t action, std::uint8_t id = 0, std::uint32_t length = 256) {
    const auto task = in(copy_cdb(0x84, length, action, id), 256);
    return task->status == kGood ? to_hex(task->data_in) : sense_text(task->sense);
  }
  void expect_nothing_copied() {
    for (const auto& each : desks) EXPECT_EQ(each->count(Operation::write), 0U);
  }

  std::array<std::shared_ptr<StoreDesk>, 3> desks;
};

TEST_F(ExtendedCopy, CopiesBlocksToAnotherUnit) {
  const auto before = desks[1]->bytes;
  EXPECT_GOOD(copy({.source_lba = 5, .destination_lba = 9, .blocks = 3}));
  EXPECT_EQ(bytes_of(1, 9 * 512, 3 * 512), bytes_of(0, 5 * 512, 3 * 512));
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 9 * 512, desks[1]->bytes.begin()));
  EXPECT_TRUE(
      std::equal(before.begin() + 12 * 512, before.end(), desks[1]->bytes.begin() + 12 * 512));
}

TEST_F(ExtendedCopy, GoesByPiecesAndHoldsFew) {
  side->pool.limit = 1 << 20;
  EXPECT_GOOD(copy({.source_lba = 1, .destination_lba = 2, .blocks = 8190}));
  EXPECT_EQ(bytes_of(1, 1024, 8190 * 512), bytes_of(0, 512, 8190 * 512));
  EXPECT_EQ(side->pool.outstanding, 0U);
  EXPECT_GT(desks[1]->count(Operation::write), 10U);
}

TEST_F(ExtendedCopy, MakesDoWithABlockOfMemory) {
  side->pool.limit = 512;
  EXPECT_GOOD(copy({.blocks = 20}));
  EXPECT_EQ(bytes_of(1, 0, 20 * 512), bytes_of(0, 0, 20 * 512));
}

TEST_F(ExtendedCopy, EverySegmentInOrder) {
  const auto first = bytes_of(0, 0, 512);
  EXPECT_GOOD(copy_by(copy_list(
      all_units(), {{.source = 0, .destination = 1, .destination_lba = 7},
                    {.source = 1, .destination = 0, .source_lba = 7, .destination_lba = 3}})));
  EXPECT_EQ(bytes_of(0, 3 * 512, 512), first);
}

TEST_F(ExtendedCopy, UnitsByT10VendorIdAndByTheCommandsOwn) {
  auto named = unit(1);
  named.designator = designator(1, true);
  named.code_set = 2;
  named.type = 1;
  EXPECT_GOOD(copy_by(copy_list({named}, {{.source = 0xffff, .destination = 0, .blocks = 2}})));
  EXPECT_EQ(bytes_of(1, 0, 1024), bytes_of(0, 0, 1024));
}

TEST_F(ExtendedCopy, OverlapsAreAsIfTheSourceWereReadFirst) {
  for (const auto& [source, destination] :
       {std::pair{10, 11}, {11, 10}, {0, 700}, {700, 0}, {5, 5}, {0, 511}, {512, 0}, {3, 4000}}) {
    const auto expected = bytes_of(0, static_cast<std::uint64_t>(source) * 512, 4000 * 512);
    EXPECT_GOOD(copy({.source = 0,
                      .destination = 0,
                      .source_lba = static_cast<std::uint64_t>(source),
                      .destination_lba = static_cast<std::uint64_t>(destination),
                      .blocks = 4000}));
    EXPECT_TRUE(bytes_of(0, static_cast<std::uint64_t>(destination) * 512, 4000 * 512) == expected)
        << source << " to " << destination;
  }
}

TEST_F(ExtendedCopy, OverlapWhoseRequestsEndInOtherOrders) {
  for (const std::uint64_t shift : {1, 300, 600}) {
    for (const bool up : {false, true}) {
      const std::uint64_t source = up ? 0 : shift;
      const std::uint64_t destination = up ? shift : 0;
      const auto expected = bytes_of(0, source * 512, 4000 * 512);
      desks[0]->hold = true;
      const auto task = copy({.source = 0,
                              .destination = 0,
                              .source_lba = source,
                              .destination_lba = destination,
                              .blocks = 4000});
      while (!task->ended()) {
        ASSERT_FALSE(desks[0]->held.empty());
        desks[0]->release(desks[0]->held.size() - 1);
      }
      EXPECT_GOOD(task);
      EXPECT_TRUE(bytes_of(0, destination * 512, 4000 * 512) == expected);
    }
  }
}

TEST_F(ExtendedCopy, BlocksAreCountedAtTheSourceOrWithDcAtTheDestination) {
  EXPECT_GOOD(copy({.source = 0, .destination = 2, .destination_lba = 1, .blocks = 16}));
  EXPECT_EQ(bytes_of(2, 4096, 16 * 512), bytes_of(0, 0, 16 * 512));
  EXPECT_GOOD(copy({.source = 0, .destination = 2, .destination_lba = 9, .blocks = 2, .flags = 2}));
  EXPECT_EQ(bytes_of(2, 9 * 4096, 8192), bytes_of(0, 0, 8192));
  EXPECT_GOOD(copy({.source = 2, .destination = 1, .source_lba = 3, .blocks = 1}));
  EXPECT_EQ(bytes_of(1, 0, 4096), bytes_of(2, 3 * 4096, 4096));
  // CAT is about what is left over, and there is nothing.
  EXPECT_GOOD(copy({.source = 2, .destination = 1, .blocks = 8, .flags = 3}));
}

TEST_F(ExtendedCopy, PartsOfBlocksAreInexact) {
  for (const std::uint8_t cat : {0, 1}) {
    EXPECT_SENSE(copy({.source = 0, .destination = 2, .blocks = 9, .flags = cat}), "a/26/0a");
    EXPECT_SENSE(copy({.source = 2,
                       .destination = 0,
                       .blocks = 1,
                       .flags = static_cast<std::uint8_t>(2 | cat)}),
                 "a/26/0a");
  }
  expect_nothing_copied();
}

TEST_F(ExtendedCopy, NothingToCopyIsGood) {
  EXPECT_GOOD(copy({.blocks = 0}));
  EXPECT_GOOD(copy({.source_lba = 8192, .destination_lba = 8192, .blocks = 0}));
  EXPECT_GOOD(copy_by(copy_list(all_units(), {})));
  EXPECT_GOOD(copy_by(copy_list({}, {})));
  EXPECT_GOOD(none(copy_cdb(0x83, 0)));
  expect_nothing_copied();
}

TEST_F(ExtendedCopy, RangesPastEitherEnd) {
  EXPECT_SENSE(copy({.source_lba = 8191, .blocks = 2}), "a/00/00");
  EXPECT_SENSE(copy({.destination_lba = 8191, .blocks = 2}), "a/00/00");
  EXPECT_SENSE(copy({.source_lba = 8193, .blocks = 0}), "a/00/00");
  EXPECT_SENSE(copy({.source_lba = UINT64_MAX, .blocks = 2}), "a/00/00");
  EXPECT_SENSE(copy({.destination_lba = UINT64_MAX, .blocks = 1}), "a/00/00");
  EXPECT_GOOD(copy({.source_lba = 8191, .destination_lba = 8191, .blocks = 1}));
}

TEST_F(ExtendedCopy, DescriptorsThatNameNobody) {
  auto stranger = unit(1);
  stranger.designator[5] ^= std::byte{1};
  auto flags = unit(1);  // LU ID TYPE is ignored, NUL obsolete
  flags.flags = 0xe0;
  auto tape = unit(1);
  tape.flags = 0x01;
  auto larger = unit(1);
  larger.block_length = 4096;
  auto port = unit(1);
  port.type = 0x13;
  const auto to = [&](const CopyTargetBytes& target) {
    return copy_by(copy_list({unit(0), target}, {{}}));
  };
  EXPECT_SENSE(to(stranger), "a/0d/02");
  EXPECT_SENSE(to(port), "a/0d/02");
  EXPECT_GOOD(to(flags));
  EXPECT_SENSE(to(tape), "a/0d/03");
  EXPECT_SENSE(to(larger), "a/26/00");
  EXPECT_SENSE(copy({.destination = 3}), "a/08/04");
  EXPECT_SENSE(copy({.source = 0xfffe}), "a/08/04");
  EXPECT_GOOD(copy_by(copy_list({unit(0), unit(1), stranger}, {{}})));
}

// CVE-2020-28374: a unit that the session does not see is not there for its copies either.
TEST_F(ExtendedCopy, OnlyUnitsThatTheSessionSees) {
  const std::array targets{unit(0), unit(1), unit(2)};
  const auto everything = device;
  const auto sees = [&](std::uint16_t lun) {
    auto part = std::make_shared<target::TargetDevice>();
    part->name = kName;
    part->nexuses = everything->nexuses;
    part->units[0] = everything->units[lun];
    return part;
  };
  for (const std::uint16_t own : {0, 1}) {
    device = sees(own);
    open();
    const auto try_copy = [&](std::uint16_t from, std::uint16_t to) {
      return copy_by(copy_list({targets[from], targets[to]}, {{.blocks = 4}}));
    };
    const std::uint16_t foreign = own == 0 ? 1 : 0;
    EXPECT_SENSE(try_copy(foreign, own), "a/0d/02");
    EXPECT_SENSE(try_copy(own, foreign), "a/0d/02");
    EXPECT_SENSE(try_copy(foreign, foreign), "a/0d/02");
    EXPECT_SENSE(try_copy(2, own), "a/0d/02");
    EXPECT_GOOD(try_copy(own, own));
    EXPECT_EQ(desks[foreign]->seen.size(), 0U);
    desks[own]->seen.clear();
  }
}

TEST_F(ExtendedCopy, WriteProtectedUnits) {
  side.reset();
  add_unit(1, true);
  device->read_only.insert(2);
  open();
  EXPECT_SENSE(copy({.source = 0, .destination = 1}), "a/0d/01");
  EXPECT_SENSE(copy({.source = 0, .destination = 2, .blocks = 8}), "a/0d/01");
  expect_nothing_copied();
  EXPECT_GOOD(copy({.source = 1, .destination = 0}));
  EXPECT_SENSE(copy_by(copy_list({unit(0)}, {{.source = 0, .destination = 0xffff}}), 1), "a/0d/01");
}

TEST_F(ExtendedCopy, SoftwareWriteProtection) {
  // MODE SELECT(6) of the control page with SWP.
  const auto swp = hex("00 00 00 00 0a 0a 00 10 08 40 00 00 ff ff 00 00");
  EXPECT_GOOD(out(hex("15 10 00 00 10 00"), swp, 1));
  EXPECT_SENSE(copy({.source = 0, .destination = 1}), "a/0d/01");
  EXPECT_GOOD(copy({.source = 1, .destination = 0}));
}

TEST_F(ExtendedCopy, ReservationsOfBothUnitsHold) {
  SessionSide other(device, target::StoreEngine::Kind::threads, "iqn.2026-01.test:other,i,0x1");
  const auto on_other = [&](const ByteVector& cdb, std::uint16_t lun) {
    auto task = other.task(cdb, lun);
    task->execute();
    return task->status;
  };
  const auto reserve = hex("16 00 00 00 00 00");
  on_other(reserve, 1);
  EXPECT_EQ(on_other(reserve, 1), kGood);
  EXPECT_SENSE(copy({.source = 0, .destination = 1}), "a/0d/01");
  EXPECT_SENSE(copy({.source = 1, .destination = 0}), "a/0d/01");
  expect_nothing_copied();
  EXPECT_EQ(on_other(hex("17 00 00 00 00 00"), 1), kGood);
  EXPECT_GOOD(copy({.source = 0, .destination = 1}));
}

TEST_F(ExtendedCopy, UnitsOutOfReachByTheirAccessState) {
  const std::vector<target::PortGroupSettings> standby{{1, target::AccessState::standby, false}};
  target::change_port_groups(*device->units[1], standby);
  EXPECT_SENSE(copy({.source = 0, .destination = 1}), "a/0d/02");
  EXPECT_SENSE(copy({.source = 1, .destination = 0}), "a/0d/02");
  expect_nothing_copied();
}

TEST_F(ExtendedCopy, StoreThatFailsIsNamedWithItsSegmentAndWhatIsLeft) {
  unsigned writes = 0;
  desks[1]->fault = [&](const target::StoreRequest& request) {
    return request.operation == Operation::write && ++writes == 4 ? EIO : 0;
  };
  const auto list = copy_list(all_units(), {{.blocks = 1}, {.blocks = 4096}});
  const auto task = copy_by(list);
  EXPECT_SENSE(task, "a/0d/01");
  EXPECT_EQ(load_u8(&task->sense[0]), 0xf0) << "VALID";
  EXPECT_EQ(load_be32(&task->sense[3]), 4096U - 2 * 512) << "two pieces of 512 blocks are done";
  EXPECT_EQ(load_be32(&task->sense[8]), 1U) << "the segment";
}

TEST_F(ExtendedCopy, ReadThatFailsAtOnce) {
  desks[0]->fail(Operation::read, EIO);
  const auto task = copy({.blocks = 4});
  EXPECT_SENSE(task, "a/0d/01");
  EXPECT_EQ(load_u8(&task->sense[0]), 0x70) << "nothing was written";
  EXPECT_EQ(side->pool.outstanding, 0U);
}

TEST_F(ExtendedCopy, AbortAtEveryStep) {
  for (std::size_t steps = 0; steps < 30; ++steps) {
    desks[0]->hold = desks[1]->hold = true;
    const auto task = copy({.blocks = 4096});
    const auto step = [&] {
      auto& desk_with_work = desks[desks[1]->held.empty() ? 0 : 1];
      if (!desk_with_work->held.empty()) desk_with_work->release();
    };
    for (std::size_t i = 0; i < steps && !task->ended(); ++i) step();
    if (!task->ended()) {
      task->abort();
      while (!task->ended()) step();
      EXPECT_TRUE(task->released);
    }
    EXPECT_EQ(side->pool.outstanding, 0U);
    EXPECT_TRUE(desks[0]->held.empty() && desks[1]->held.empty());
  }
}

TEST_F(ExtendedCopy, ListsCutAtEveryByte) {
  const auto whole = copy_list(all_units(), {{.blocks = 1}, {.blocks = 1}});
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_SENSE(copy_by(cut), "5/1a/00");
    EXPECT_SENSE(out(copy_cdb(0x83, static_cast<std::uint32_t>(whole.size())), cut), "5/1a/00");
  }
  for (std::uint32_t segments = 1; segments < 56; ++segments) {
    auto cut = whole;
    store_be32(&cut[8], segments);
    if (segments != 28) EXPECT_SENSE(copy_by(cut), "5/1a/00");
  }
  for (std::uint16_t targets = 1; targets < 96; ++targets) {
    auto cut = whole;
    store_be16(&cut[2], targets);
    store_be32(&cut[8], 0);
    if (targets % 32 != 0) EXPECT_SENSE(copy_by(cut), "5/1a/00");
  }
  expect_nothing_copied();
}

TEST_F(ExtendedCopy, ListsThatAreWrong) {
  const std::vector<CopyTargetBytes> good = all_units();
  auto target = good;
  target[1].descriptor_type = 0xe0;
  EXPECT_SENSE(copy_by(copy_list(target, {{}})), "5/26/07#48");
  target = good;
  target[1].designator.resize(21);
  EXPECT_SENSE(copy_by(copy_list(target, {{}})), "5/26/00#55");
  for (const std::uint8_t type : {0x00, 0x01, 0x03, 0xbe}) {
    EXPECT_SENSE(copy_by(copy_list(good, {{.type = type}})), "5/26/09#112");
  }
  EXPECT_SENSE(copy_by(copy_list(good, {{.length = 23}})), "5/26/00#114");
  auto inlined = copy_list(good, {{}});
  store_be32(&inlined[12], 4);
  EXPECT_SENSE(copy_by(inlined), "5/26/0b#12");
  EXPECT_SENSE(copy_by(copy_list(good, {{}}, 0, 1)), "5/26/00#1");
  EXPECT_SENSE(copy_by(copy_list(good, {{}}, 1, 3)), "5/26/00#0");
  expect_nothing_copied();
}

TEST_F(ExtendedCopy, Limits) {
  const std::vector<CopyTargetBytes> targets(8, unit(1));
  const std::vector<CopySegmentBytes> segments(64, {.source = 7, .destination = 0});
  EXPECT_GOOD(copy_by(copy_list(targets, segments)));
  auto many_targets = targets;
  many_targets.push_back(unit(1));
  EXPECT_SENSE(copy_by(copy_list(many_targets, {{}})), "5/26/06#2");
  auto many_segments = segments;
  many_segments.push_back({});
  EXPECT_SENSE(copy_by(copy_list({unit(1)}, many_segments)), "5/26/08#8");
  EXPECT_SENSE(copy_by(copy_list(many_targets, many_segments)), "5/1a/00");
  EXPECT_SENSE(out(copy_cdb(0x83, UINT32_MAX), data(4096)), "5/1a/00");
}

TEST_F(ExtendedCopy, StatusOfACopyUnderWayAndOver) {
  EXPECT_EQ(results(0x00, 5), "5/24/00@2");
  desks[1]->hold = true;
  const auto task = copy_by(copy_list(all_units(), {{.blocks = 1}, {.blocks = 2}}, 5, 0));
  EXPECT_EQ(results(0x00, 5), "000000080000000000000000");
  desks[1]->release();
  EXPECT_EQ(results(0x00, 5), "000000080000010000000200");
  EXPECT_SENSE(copy_by(copy_list(all_units(), {{}}, 5, 0)), "5/00/16");
  EXPECT_EQ(results(0x00, 6), "5/24/00@2");
  desks[1]->hold = false;
  desks[1]->release_all();
  EXPECT_GOOD(task);
  EXPECT_EQ(results(0x00, 5), "000000080100020000000600");
  EXPECT_EQ(results(0x04, 5), "00000000") << "nothing has failed";
  EXPECT_GOOD(copy_by(copy_list(all_units(), {{}}, 5, 0)));
}

TEST_F(ExtendedCopy, FailureDetailsAreGivenOnce) {
  desks[0]->fail(Operation::read, EIO);
  const auto task = copy_by(copy_list(all_units(), {{}}, 9, 0));
  EXPECT_SENSE(task, "a/0d/01");
  EXPECT_EQ(results(0x00, 9), "000000080200000000000000");
  EXPECT_EQ(results(0x04, 9, 4), "0000004a") << "cut, so it stays";
  EXPECT_EQ(results(0x04, 9),
            "0000004a" + std::string(104, '0') + "02000012" + to_hex(task->sense));
  EXPECT_EQ(results(0x04, 9), "5/24/00@2");
}

TEST_F(ExtendedCopy, CopiesThatLeaveNoRecord) {
  EXPECT_GOOD(copy_by(copy_list(all_units(), {{}}, 7, 2)));
  EXPECT_EQ(results(0x00, 7), "5/24/00@2") << "not to be held";
  EXPECT_GOOD(copy_by(copy_list(all_units(), {{}}, 0, 3)));
  EXPECT_EQ(results(0x00, 0), "5/24/00@2") << "no identifier";
  desks[1]->hold = true;
  const auto task = copy_by(copy_list(all_units(), {{}}, 8, 0));
  task->abort();
  desks[1]->hold = false;
  desks[1]->release_all();
  EXPECT_TRUE(task->released);
  EXPECT_EQ(results(0x00, 8), "5/24/00@2") << "aborted";
}

TEST_F(ExtendedCopy, ResetOfItsUnitEndsACopyAndOfAnotherDoesNot) {
  SessionSide other(device, target::StoreEngine::Kind::threads, "iqn.2026-01.test:other,i,0x1");
  const auto done = std::make_shared<int>(0);
  const auto reset = [&](std::uint16_t lun) {
    other.nexus->manage(iscsi::TaskManagementFunction::logical_unit_reset, target::encode_lun(lun),
                        [done](iscsi::TaskManagementAnswer) { ++*done; });
    side->loop.post([&] { side->loop.stop(); });
    side->loop.run();
  };
  desks[1]->hold = true;
  const auto first = copy({.blocks = 1});
  reset(2);
  desks[1]->release_all();
  EXPECT_GOOD(first);
  EXPECT_SENSE(none(ByteVector(6), 2), "6/29/03");
  const auto second = copy({.blocks = 1});
  reset(0);
  EXPECT_FALSE(second->ended()) << "a write is with the store";
  desks[1]->release_all();
  EXPECT_EQ(second->status, kTaskAborted);
  other.run_until([&] { return *done == 2; });
  EXPECT_EQ(side->pool.outstanding, 0U);
}

TEST_F(ExtendedCopy, OperatingParameters) {
  EXPECT_EQ(results(0x03),
            "0000002a"
            "01000000"
            "00080040"
            "00000800"
            "0ffff000"
            "00000000"
            "00000000"
            "00000000"
            "000000ff"
            "ff090000"
            "00000002"
            "02e4");
  for (std::uint32_t length = 0; length < 50; ++length) {
    EXPECT_EQ(in(copy_cdb(0x84, length, 3), 256)->transfer_length, std::min(length, 46U));
  }
}

TEST_F(ExtendedCopy, ReceiveDataAndOtherActionsAreNotThere) {
  for (const std::uint8_t action : {0x01, 0x02, 0x05, 0x06, 0x1f}) {
    EXPECT_EQ(results(action), "5/24/00@1.4");
  }
  EXPECT_SENSE(none(copy_cdb(0x83, 0, 0x01)), "5/24/00@1.4");
}

TEST_F(ExtendedCopy, ThirdPartyCopyPage) {
  const auto page = in(hex("12 01 8f 04 00 00"), 1024, 2)->data_in;
  EXPECT_EQ(to_hex(page),
            "008f0064"
            "0001000c"
            "0883010084030003"
            "04000000"
            "0004001c"
            "00000000"
            "00080040"
            "00000800"
            "00000000000000000000000000000000"
            "00080004"
            "0202e400"
            "000c0004"
            "0002ffff"
            "80010020"
            "000000ff"
            "000000ff"
            "0ffff000"
            "0c" +
                std::string(38, '0'));
}

}  // namespace
}  // namespace openiser::test
