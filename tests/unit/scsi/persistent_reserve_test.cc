// PERSISTENT RESERVE IN and OUT as commands of several nexuses.
#include <gtest/gtest.h>

#include "target/scsi/opcode_table.h"
#include "target/scsi/unit.h"
#include "tests/support/reserving.h"

namespace openiser::test {
namespace {

using iscsi::TaskManagementFunction;
using target::ConflictsWith;

class PersistentReserve : public ReservingFixture {
 protected:
  std::string start_read(unsigned number) {
    held = nexuses.at(number)->task(cdb10(0x28, 0, 1));
    held->read = true;
    held->expected_data_transfer_length = 512;
    held->execute();
    return outcome(*held);
  }
  void TearDown() override {
    held.reset();
    ReservingFixture::TearDown();
  }

  std::unique_ptr<FakeTask> held;
};

// --- PERSISTENT RESERVE IN ---

TEST_F(PersistentReserve, ReadKeys) {
  set_up_nexuses(2);
  EXPECT_EQ(keys(), "0000000000000000");
  EXPECT_EQ(registers(0, 0x0102030405060708), "good");
  EXPECT_EQ(registers(1, 0x1112131415161718), "good");
  EXPECT_EQ(keys(),
            "0000000200000010"
            "01020304050607081112131415161718");
  EXPECT_EQ(keys(1), keys(0));
}

TEST_F(PersistentReserve, AllocationLengthCutsTheDataAlone) {
  set_up_nexuses(2);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(registers(1, 2), "good");
  EXPECT_EQ(reserves(0, 1, 5), "good");
  for (const std::uint8_t action : {0, 1, 2, 3}) {
    const std::string whole = in(0, action);
    for (std::uint16_t length = 0; length <= whole.size() / 2 + 1; ++length) {
      const std::string cut = in(0, action, length);
      EXPECT_EQ(cut, whole.substr(0, 2U * length)) << "the length inside is not shortened";
      EXPECT_EQ(task->transfer_length, cut.size() / 2);
    }
  }
}

TEST_F(PersistentReserve, ReadReservation) {
  set_up_nexuses(2);
  EXPECT_EQ(in(0, 1), "0000000000000000");
  EXPECT_EQ(registers(0, 0x0102030405060708), "good");
  EXPECT_EQ(in(0, 1), "0000000100000000") << "registered is not reserved";
  EXPECT_EQ(reserves(0, 0x0102030405060708, 6), "good");
  EXPECT_EQ(in(1, 1),
            "0000000100000010"
            "0102030405060708"
            "00000000"
            "00"
            "06"
            "0000");
}

TEST_F(PersistentReserve, ReservationOfAllRegistrantsHasNoKey) {
  set_up_nexuses(1);
  EXPECT_EQ(registers(0, 5), "good");
  EXPECT_EQ(reserves(0, 5, 8), "good");
  EXPECT_EQ(in(0, 1),
            "0000000100000010"
            "0000000000000000"
            "0000000000080000");
}

TEST_F(PersistentReserve, ReportCapabilities) {
  set_up_nexuses(1);
  EXPECT_EQ(in(0, 2), "00081cb0ea010000") << "nothing outlives the daemon here";
}

TEST_F(PersistentReserve, ReportCapabilitiesWhereStateIsKept) {
  keep_state();
  set_up_nexuses(1);
  EXPECT_EQ(in(0, 2), "00081db0ea010000");
  EXPECT_EQ(registers(0, 1, 0, 0x01), "good");
  EXPECT_EQ(in(0, 2), "00081db1ea010000");
  EXPECT_EQ(registers(0, 2, 1, 0x00), "good");
  EXPECT_EQ(in(0, 2), "00081db0ea010000");
}

// spdk be633ff1 had the key's bytes the wrong way round.
TEST_F(PersistentReserve, ReadFullStatus) {
  set_up_nexuses(2);
  EXPECT_EQ(in(0, 3), "0000000000000000");
  EXPECT_EQ(registers(0, 0x0102030405060708), "good");
  EXPECT_EQ(registers(1, 0x1112131415161718), "good");
  EXPECT_EQ(reserves(1, 0x1112131415161718, 5), "good");
  const auto id_of = [](unsigned number) { return to_hex(transport_id(port_name(number))); };
  EXPECT_EQ(port_name(1), "iqn.2026-01.test:host1,i,0x800000000001");
  EXPECT_EQ(in(0, 3),
            "00000002000000"
            "88"
            "0102030405060708"
            "00000000"
            "00"
            "00"
            "00000000"
            "0001"
            "0000002c" +
                id_of(0) +
                "1112131415161718"
                "00000000"
                "01"
                "05"
                "00000000"
                "0001"
                "0000002c" +
                id_of(1));
}

TEST_F(PersistentReserve, ServiceActionsThatAreNotThere) {
  set_up_nexuses(1);
  for (std::uint8_t action = 4; action != 32; ++action) EXPECT_EQ(in(0, action), "5/24/00@1.4");
  for (std::uint8_t action = 8; action != 32; ++action) {
    EXPECT_EQ(out(0, action, basic_list(0, 0)), "5/24/00@1.4");
  }
}

// --- PERSISTENT RESERVE OUT ---

TEST_F(PersistentReserve, LocksOthersOut) {
  set_up_nexuses(3);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(registers(1, 2), "good");
  EXPECT_EQ(reserves(0, 1, 5), "good");
  EXPECT_EQ(write(1), "good") << "a registrant";
  EXPECT_EQ(read(2), "good");
  EXPECT_EQ(write(2), "conflict");
  EXPECT_EQ(ready(2), "good");
  EXPECT_EQ(registers(2, 3), "good");
  EXPECT_EQ(write(2), "good");
  EXPECT_EQ(out(0, kRelease, basic_list(1, 0), 5), "good");
  for (const unsigned other : {1U, 2U}) {
    EXPECT_EQ(write(other), "6/2a/04");
    EXPECT_EQ(write(other), "good");
  }
  EXPECT_EQ(write(0), "good");
}

TEST_F(PersistentReserve, EveryCommandDoesWhatTheStandardSays) {
  set_up_nexuses(2);
  EXPECT_EQ(registers(0, 1), "good");
  for (const std::uint8_t type : {1, 3}) {
    EXPECT_EQ(reserves(0, 1, type), "good");
    for (const target::OpcodeRow& row : target::opcode_rows()) {
      if (row.conflicts_with == ConflictsWith::by_handler || row.opcode == 0x5f) continue;
      ByteVector cdb(row.cdb_length);
      store_u8(&cdb[0], row.opcode);
      if (cdb.size() > 1) store_u8(&cdb[1], row.service_action);
      const bool refused = row.conflicts_with == ConflictsWith::any_reservation ||
                           (type == 3 && row.conflicts_with == ConflictsWith::exclusive_access);
      EXPECT_EQ(ask(1, cdb, {}, 512) == "conflict", refused) << row.name << " " << int{type};
      if (row.conflicts_with == ConflictsWith::any_reservation) continue;  // may take the medium
      EXPECT_NE(ask(0, cdb, {}, 512), "conflict") << row.name;
    }
    EXPECT_EQ(out(0, kRelease, basic_list(1, 0), type), "good");
  }
}

TEST_F(PersistentReserve, StartingIsAllowedAndStoppingIsNot) {
  set_up_nexuses(2);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(reserves(0, 1, 3), "good");
  EXPECT_EQ(ask(1, hex("1b 00 00 00 01 00")), "good");
  EXPECT_EQ(ask(1, hex("1b 00 00 00 00 00")), "conflict");
}

TEST_F(PersistentReserve, ListLengths) {
  set_up_nexuses(1);
  const auto list = basic_list(0, 1);
  for (std::uint32_t length = 0; length != 24; ++length) {
    ask(0, reserve_out_cdb(kRegister, 0, length), list);
    EXPECT_EQ(outcome(*task), "5/1a/00") << length;
  }
  EXPECT_EQ(ask(0, reserve_out_cdb(kRegister, 0, 25), joined({list, ByteVector(1)})), "5/1a/00");
  EXPECT_EQ(ask(0, reserve_out_cdb(kRegister, 0, 0x10001), list), "5/1a/00");
  EXPECT_EQ(ask(0, reserve_out_cdb(kRegister, 0, 24), ByteVector(list.begin(), list.end() - 1)),
            "5/1a/00")
      << "the initiator sends less than it says";
  EXPECT_EQ(ask(0, reserve_out_cdb(kRegister, 0, 24), joined({list, ByteVector(9)})), "good")
      << "more than it says";
  EXPECT_EQ(keys(), "00000001000000080000000000000001");
}

TEST_F(PersistentReserve, ScopesAndTypesThatAreNot) {
  set_up_nexuses(1);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(reserves(0, 1, 0x15), "5/24/00@2.7") << "an element";
  EXPECT_EQ(reserves(0, 1, 0x02), "5/24/00@2.3");
  EXPECT_EQ(out(0, kRelease, basic_list(1, 0), 0x25), "5/24/00@2.7");
}

TEST_F(PersistentReserve, SurvivesTheSessionAndResets) {
  set_up_nexuses(2);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(reserves(0, 1, 3), "good");
  log_in(0);
  EXPECT_EQ(write(0), "good") << "the same initiator port";
  EXPECT_EQ(write(1), "conflict");
  nexuses[0].reset();
  EXPECT_EQ(write(1), "conflict") << "while nobody is there";
  nexuses[1]->nexus->manage(TaskManagementFunction::logical_unit_reset, target::encode_lun(0),
                            [](auto) {});
  settle();
  EXPECT_EQ(write(1), "6/29/03");
  EXPECT_EQ(write(1), "conflict");
  log_in(0);
  EXPECT_EQ(registers(0, 0, 1), "good");
  EXPECT_EQ(write(1), "good");
}

TEST_F(PersistentReserve, OtherPortOfTheTargetIsAnotherNexus) {
  settings.port_groups = {{.tag = 1}, {.tag = 2}};
  set_up_nexuses(1);
  nexuses.emplace_back(
      std::make_unique<SessionSide>(device, target::StoreEngine::Kind::threads, port_name(0), 2));
  EXPECT_EQ(ready(1), "6/29/00");
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(reserves(0, 1, 1), "good");
  EXPECT_EQ(write(1), "conflict");
  EXPECT_EQ(registers(0, 1, 1, 0x04), "good") << "ALL_TG_PT";
  EXPECT_EQ(keys(),
            "0000000200000010"
            "00000000000000010000000000000001");
  EXPECT_EQ(write(1), "conflict") << "but does not hold";
  EXPECT_EQ(out(1, kPreempt, basic_list(1, 1), 5), "good");
  EXPECT_EQ(write(1), "good");
}

// spdk 62d01929, tgt 5d2568d: unit attentions went to the wrong nexus.
TEST_F(PersistentReserve, PreemptTellsWhoWasPreempted) {
  set_up_nexuses(4);
  for (const unsigned each : {0U, 1U, 2U}) EXPECT_EQ(registers(each, each + 1), "good");
  EXPECT_EQ(reserves(0, 1, 1), "good");
  EXPECT_EQ(out(1, kPreempt, basic_list(2, 1), 3), "good");
  EXPECT_EQ(read(0), "conflict") << "which comes before this kind of unit attention";
  EXPECT_EQ(ready(0), "6/2a/05");
  EXPECT_EQ(ready(0), "good");
  EXPECT_EQ(ready(2), "6/2a/04") << "the type is another";
  EXPECT_EQ(ready(2), "good");
  EXPECT_EQ(ready(1), "good");
  EXPECT_EQ(ready(3), "good") << "not registered";
}

TEST_F(PersistentReserve, ClearTellsTheOthers) {
  set_up_nexuses(3);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(registers(1, 1), "good");
  EXPECT_EQ(out(0, kClear, basic_list(1, 0)), "good");
  EXPECT_EQ(ready(1), "6/2a/03");
  EXPECT_EQ(ready(0), "good");
  EXPECT_EQ(ready(2), "good");
  EXPECT_EQ(keys(), "0000000300000000");
}

TEST_F(PersistentReserve, PreemptAndAbortEndsTasksOfThePreempted) {
  set_up_nexuses(3);
  for (const unsigned each : {0U, 1U, 2U}) EXPECT_EQ(registers(each, each + 1), "good");
  EXPECT_EQ(reserves(0, 1, 5), "good");
  desk->hold = true;
  EXPECT_EQ(start_read(0), "pending");
  auto bystander = nexuses[2]->task(cdb10(0x28, 0, 1));
  bystander->read = true;
  bystander->expected_data_transfer_length = 512;
  bystander->execute();
  ask(1, reserve_out_cdb(kPreemptAndAbort, 5, 24), basic_list(2, 1));
  settle();
  EXPECT_EQ(outcome(*task), "pending") << "the store still has the request";
  desk->release_all();
  settle();
  EXPECT_EQ(outcome(*held), "aborted");
  EXPECT_EQ(outcome(*task), "good");
  EXPECT_EQ(outcome(*bystander), "good");
  desk->hold = false;
  EXPECT_EQ(ready(0), "6/2a/05");
  EXPECT_EQ(write(0), "conflict");
}

// SAM-5 section 5.14
TEST_F(PersistentReserve, PreemptAndAbortWithoutTaskAbortedStatusTellsByUnitAttention) {
  set_up_nexuses(3);
  for (const unsigned each : {0U, 1U, 2U}) EXPECT_EQ(registers(each, each < 2 ? 1 : 2), "good");
  device->units[0]->change_flags(target::unit_flag::task_aborted_status, 0);
  desk->hold = true;
  EXPECT_EQ(start_read(0), "pending");
  held->may_be_dropped = true;
  ask(2, reserve_out_cdb(kPreemptAndAbort, 5, 24), basic_list(2, 1));
  settle();
  desk->release_all();
  settle();
  EXPECT_EQ(outcome(*held), "released");
  EXPECT_EQ(outcome(*task), "good");
  desk->hold = false;
  EXPECT_EQ(ready(0), "6/2f/00");
  EXPECT_EQ(ready(0), "6/2a/05");
  EXPECT_EQ(ready(0), "good");
  EXPECT_EQ(ready(1), "6/2a/05") << "it had no tasks";
  EXPECT_EQ(ready(1), "good");
  EXPECT_EQ(ready(2), "good");
}

TEST_F(PersistentReserve, PreemptAloneLetsTasksGoOn) {
  set_up_nexuses(2);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(registers(1, 2), "good");
  EXPECT_EQ(reserves(0, 1, 3), "good");
  desk->hold = true;
  EXPECT_EQ(start_read(0), "pending");
  EXPECT_EQ(out(1, kPreempt, basic_list(2, 1), 3), "good");
  desk->release_all();
  EXPECT_EQ(outcome(*held), "good");
}

TEST_F(PersistentReserve, PreemptedNexusThatHasGone) {
  set_up_nexuses(2);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(registers(1, 2), "good");
  EXPECT_EQ(reserves(0, 1, 3), "good");
  nexuses[0].reset();
  EXPECT_EQ(out(1, kPreemptAndAbort, basic_list(2, 1), 3), "good");
  log_in(0);
  EXPECT_EQ(ready(0), "good");
  EXPECT_EQ(read(0), "conflict");
}

TEST_F(PersistentReserve, RegistersOthersByName) {
  set_up_nexuses(3);
  const auto ids = transport_id(port_name(1));
  EXPECT_EQ(out(0, kRegister, list_with_ids(7, 0x08, ids)), "good");
  EXPECT_EQ(keys(),
            "0000000100000010"
            "00000000000000070000000000000007");
  EXPECT_EQ(reserves(1, 7, 5), "good");
  EXPECT_EQ(write(2), "conflict");
  EXPECT_EQ(out(2, kRegister, list_with_ids(8, 0x08, transport_id("iqn.2026-01.test:host2", 0))),
            "good")
      << "all ports that are known by the name: itself";
  EXPECT_EQ(out(2, kRegister, joined({list_with_ids(8, 0x08, ids), ByteVector(1)})), "5/1a/00");
}

TEST_F(PersistentReserve, MovesTheReservation) {
  set_up_nexuses(2);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(reserves(0, 1, 3), "good");
  const auto id = transport_id(port_name(1));
  EXPECT_EQ(out(0, kMove, move_list(1, 2, 0, 2, id)), "5/26/00#18") << "no such port";
  EXPECT_EQ(out(0, kMove, move_list(1, 2, 0x02, 1, id)), "good");
  EXPECT_EQ(read(0), "conflict");
  EXPECT_EQ(read(1), "good");
  EXPECT_EQ(in(0, 1),
            "0000000200000010"
            "0000000000000002"
            "0000000000030000");
}

TEST_F(PersistentReserve, ReadOnlyUnit) {
  settings.read_only = true;
  set_up_nexuses(2);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(reserves(0, 1, 3), "good");
  EXPECT_EQ(read(1), "conflict");
  EXPECT_EQ(write(1), "conflict") << "before it is write protected";
  EXPECT_EQ(write(0), "7/27/00");
}

TEST_F(PersistentReserve, AbortedBeforeItsDataChangesNothing) {
  set_up_nexuses(1);
  held = nexuses[0]->task(reserve_out_cdb(kRegister, 0, 24));
  held->write = true;
  held->hold_data = true;
  held->data_out = basic_list(0, 1);
  held->expected_data_transfer_length = 24;
  held->execute();
  held->abort();
  EXPECT_TRUE(held->released);
  EXPECT_EQ(keys(), "0000000000000000");
  EXPECT_EQ(registers(0, 2), "good");
}

// --- with RESERVE and RELEASE ---

TEST_F(PersistentReserve, ReserveKeepsPersistentReservationsOut) {
  set_up_nexuses(2);
  EXPECT_EQ(ask(0, hex("16 00 00 00 00 00")), "good");
  for (const unsigned each : {0U, 1U}) {
    EXPECT_EQ(registers(each, 1), "conflict");
    EXPECT_EQ(keys(each), "conflict");
  }
  EXPECT_EQ(ask(0, hex("17 00 00 00 00 00")), "good");
  EXPECT_EQ(registers(1, 1), "good");
}

TEST_F(PersistentReserve, RegistrationsKeepReserveOut) {
  set_up_nexuses(3);
  EXPECT_EQ(registers(0, 1), "good");
  EXPECT_EQ(registers(1, 2), "good");
  for (const unsigned each : {0U, 1U, 2U}) {
    EXPECT_EQ(ask(each, hex("16 00 00 00 00 00")), "conflict");
    EXPECT_EQ(ask(each, hex("17 00 00 00 00 00")), "conflict");
  }
  EXPECT_EQ(reserves(0, 1, 5), "good");
  EXPECT_EQ(ask(0, hex("16 00 00 00 00 00")), "good") << "without effect";
  EXPECT_EQ(ask(1, hex("56 00 00 00 00 00 00 00 00 00")), "good");
  EXPECT_EQ(write(1), "good");
  EXPECT_EQ(ask(1, hex("17 00 00 00 00 00")), "good");
  EXPECT_EQ(ask(2, hex("16 00 00 00 00 00")), "conflict");
  EXPECT_EQ(in(0, 1).substr(16 + 26, 2), "05");
}

}  // namespace
}  // namespace openiser::test
