// RESERVE and RELEASE (SPC-2), and what every command does about reservations of others.
#include <gtest/gtest.h>

#include "target/scsi/opcode_table.h"
#include "tests/support/nexuses.h"
#include "tests/support/reserve_out.h"

namespace openiser::test {
namespace {

using iscsi::TaskManagementFunction;
using target::ConflictsWith;

const ByteVector kTestUnitReady = hex("00 00 00 00 00 00");
const ByteVector kReserve6 = hex("16 00 00 00 00 00");
const ByteVector kRelease6 = hex("17 00 00 00 00 00");
const ByteVector kReserve10 = hex("56 00 00 00 00 00 00 00 00 00");
const ByteVector kRelease10 = hex("57 00 00 00 00 00 00 00 00 00");

class Reserve : public NexusesFixture {
 protected:
  void manage(unsigned number, TaskManagementFunction function) {
    bool done = false;
    nexuses.at(number)->nexus->manage(function, target::encode_lun(0), [&](auto) { done = true; });
    settle();
    EXPECT_TRUE(done);
  }
  std::string read(unsigned number) { return ask(number, cdb10(0x28, 0, 1), {}, 512); }
  std::string write(unsigned number) { return ask(number, cdb10(0x2a, 0, 1), data(512)); }
};

TEST_F(Reserve, LocksOthersOutUntilRelease) {
  set_up_nexuses(3);
  for (const auto& [take, give] : {std::pair(kReserve6, kRelease6), {kReserve10, kRelease10}}) {
    EXPECT_EQ(ask(0, take), "good");
    EXPECT_EQ(ask(0, take), "good") << "the same again";
    EXPECT_EQ(ask(1, take), "conflict");
    EXPECT_EQ(read(0), "good");
    EXPECT_EQ(write(0), "good");
    for (const unsigned other : {1U, 2U}) {
      EXPECT_EQ(read(other), "conflict");
      EXPECT_EQ(write(other), "conflict");
      EXPECT_EQ(ask(other, kTestUnitReady), "conflict");
      EXPECT_TRUE(task->sense.empty());
      EXPECT_EQ(ask(other, give), "good") << "but without effect";
    }
    EXPECT_EQ(write(1), "conflict");
    EXPECT_EQ(ask(0, give), "good");
    EXPECT_EQ(ask(0, give), "good") << "there is none any more";
    EXPECT_EQ(write(1), "good");
    EXPECT_EQ(ask(1, take), "good");
    EXPECT_EQ(write(0), "conflict");
    EXPECT_EQ(ask(1, give), "good");
  }
}

TEST_F(Reserve, ConflictWritesNothing) {
  set_up_nexuses(2);
  const ByteVector before = stored(0, 1);
  EXPECT_EQ(ask(0, kReserve6), "good");
  EXPECT_EQ(write(1), "conflict");
  EXPECT_EQ(stored(0, 1), before);
  EXPECT_EQ(task->transfer_length, 0U);
}

TEST_F(Reserve, ConflictOfCompareAndWriteWritesNothing) {
  set_up_nexuses(2);
  const ByteVector before = stored(0, 1);
  EXPECT_EQ(ask(0, kReserve6), "good");
  const ByteVector both = joined({before, data(512)});
  EXPECT_EQ(ask(1, cdb16(0x89, 0, 1), both), "conflict");
  EXPECT_EQ(stored(0, 1), before);
  EXPECT_EQ(ask(0, cdb16(0x89, 0, 1), both), "good");
  EXPECT_EQ(stored(0, 1), data(512));
}

TEST_F(Reserve, ResetOfAnotherUnitLeavesItAlone) {
  set_up_nexuses(0);
  target::LogicalUnitSettings second;
  second.lun = 1;
  device->units[1] = target::make_logical_unit(kName, second, target::make_null_store(4096));
  for (const unsigned each : {0U, 1U}) {
    nexuses.emplace_back();
    log_in(each);
  }
  EXPECT_EQ(ask(0, kReserve6), "good");
  bool done = false;
  nexuses[1]->nexus->manage(TaskManagementFunction::logical_unit_reset, target::encode_lun(1),
                            [&](auto) { done = true; });
  settle();
  EXPECT_TRUE(done);
  EXPECT_EQ(write(1), "conflict");
  EXPECT_EQ(write(0), "good");
}

TEST_F(Reserve, ObsoleteFormsAreRefused) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, hex("16 10 00 00 00 00")), "5/24/00@1.4") << "third party";
  EXPECT_EQ(ask(0, hex("16 01 00 00 00 00")), "5/24/00@1.0") << "extent";
  EXPECT_EQ(ask(0, hex("17 10 00 00 00 00")), "5/24/00@1.4");
  EXPECT_EQ(ask(0, hex("17 01 00 00 00 00")), "5/24/00@1.0");
  for (const char* opcode : {"56", "57"}) {
    EXPECT_EQ(ask(0, hex(std::string(opcode) + "10 0000000000000000")), "5/24/00@1.4");
    EXPECT_EQ(ask(0, hex(std::string(opcode) + "01 0000000000000000")), "5/24/00@1.0");
    EXPECT_EQ(ask(0, hex(std::string(opcode) + "02 0000000000000000")), "5/24/00@1.1");
  }
  EXPECT_EQ(write(1), "good") << "none of them reserved";
}

// tgt 97832d8 kept it.
TEST_F(Reserve, EndsWithTheNexus) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, kReserve6), "good");
  EXPECT_EQ(write(1), "conflict");
  nexuses[0].reset();
  EXPECT_EQ(write(1), "good");
}

// libiscsi reserves from another initiator at once when its logout has been answered.
TEST_F(Reserve, EndsWithTheLogoutBeforeTheNexusIsGone) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, kReserve6), "good");
  nexuses[0]->nexus->nexus_lost();
  EXPECT_EQ(ask(1, kReserve6), "good");
  nexuses[0].reset();
  EXPECT_EQ(write(1), "good") << "it is not let go twice";
}

TEST_F(Reserve, EndsWithSessionReinstatement) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, kReserve6), "good");
  log_in(0);
  EXPECT_EQ(write(1), "good");
}

TEST_F(Reserve, StaysWhenAnotherNexusEnds) {
  set_up_nexuses(3);
  EXPECT_EQ(ask(0, kReserve6), "good");
  nexuses[1].reset();
  EXPECT_EQ(write(2), "conflict");
}

TEST_F(Reserve, IsOfOneTargetPortOnly) {
  set_up_nexuses(2);
  nexuses.emplace_back(
      std::make_unique<SessionSide>(device, target::StoreEngine::Kind::threads, port_name(0), 2));
  EXPECT_EQ(ask(2, kTestUnitReady), "6/29/00");
  EXPECT_EQ(ask(0, kReserve6), "good");
  EXPECT_EQ(write(2), "conflict") << "another I_T nexus of the same initiator port";
  nexuses[2].reset();
  EXPECT_EQ(write(1), "conflict");
}

TEST_F(Reserve, EndsWithResets) {
  set_up_nexuses(2);
  for (const auto function :
       {TaskManagementFunction::logical_unit_reset, TaskManagementFunction::target_warm_reset,
        TaskManagementFunction::target_cold_reset}) {
    EXPECT_EQ(ask(0, kReserve6), "good");
    manage(1, function);
    EXPECT_EQ(ask(0, kTestUnitReady), "6/29/03");
    EXPECT_EQ(write(1), "6/29/03");
    EXPECT_EQ(write(1), "good");
  }
}

TEST_F(Reserve, EndsWithNexusResetOfItsHolderOnly) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, kReserve6), "good");
  manage(1, TaskManagementFunction::i_t_nexus_reset);
  EXPECT_EQ(write(1), "6/29/07");
  EXPECT_EQ(write(1), "conflict");
  manage(0, TaskManagementFunction::i_t_nexus_reset);
  EXPECT_EQ(write(1), "good");
}

TEST_F(Reserve, StaysWhenTasksAreCleared) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, kReserve6), "good");
  manage(1, TaskManagementFunction::clear_task_set);
  EXPECT_EQ(write(1), "conflict");
}

// SAM-5 section 5.3.3: resets, then the conflict, then other unit attentions.
TEST_F(Reserve, ComesBetweenUnitAttentions) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, kReserve6), "good");
  desk->properties.size /= 2;
  target::check_capacity(*device->units[0]);
  manage(1, TaskManagementFunction::i_t_nexus_reset);
  EXPECT_EQ(read(1), "6/29/07");
  EXPECT_EQ(read(1), "conflict");
  EXPECT_EQ(read(0), "6/2a/09");
  EXPECT_EQ(ask(0, kRelease6), "good");
  EXPECT_EQ(read(1), "6/2a/09") << "still there";
  EXPECT_EQ(read(1), "good");
}

TEST_F(Reserve, UnknownCommandsAreRefusedFirst) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, kReserve6), "good");
  EXPECT_EQ(ask(1, hex("ff 00 00 00 00 00 00 00 00 00 00 00")), "5/20/00");
  EXPECT_EQ(ask(1, cdb16(0x9e, 0, 0, 0x1f)), "5/24/00@1.4");
}

TEST_F(Reserve, StartingAndStoppingConflict) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, kReserve6), "good");
  EXPECT_EQ(ask(1, hex("1b 00 00 00 01 00")), "conflict");
  EXPECT_EQ(ask(1, hex("1b 00 00 00 00 00")), "conflict");
  EXPECT_EQ(ask(0, hex("1b 00 00 00 00 00")), "good");
}

// SPC-2 table 9: what is not named there conflicts.
TEST_F(Reserve, EveryCommandDoesWhatTheStandardSays) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, kReserve6), "good");
  for (const target::OpcodeRow& row : target::opcode_rows()) {
    if (row.conflicts_with == ConflictsWith::by_handler) continue;
    ByteVector cdb(row.cdb_length);
    store_u8(&cdb[0], row.opcode);
    if (cdb.size() > 1) store_u8(&cdb[1], row.service_action);
    // REPORT IDENTIFYING INFORMATION is its REPORT DEVICE IDENTIFIER. REPORT TARGET PORT GROUPS
    // came with SPC-3, where it does not conflict with anything: paths are looked at in any case.
    const bool allowed =
        row.name == "INQUIRY" || row.name == "REPORT LUNS" || row.name == "REQUEST SENSE" ||
        row.name == "REPORT IDENTIFYING INFORMATION" || row.name == "REPORT TARGET PORT GROUPS";
    EXPECT_EQ(ask(1, cdb, {}, 512), allowed ? "good" : "conflict") << row.name;
  }
}

}  // namespace
}  // namespace openiser::test
