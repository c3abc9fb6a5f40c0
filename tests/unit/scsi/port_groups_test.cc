// Asymmetric logical unit access: two portal groups, each with a session.
#include <gtest/gtest.h>

#include <algorithm>

#include "target/scsi/opcode_table.h"
#include "tests/support/nexuses.h"
#include "tests/support/reserve_out.h"

namespace openiser::test {
namespace {

using target::AccessState;
using target::PortGroupSettings;

const ByteVector kTestUnitReady(6);

class PortGroups : public NexusesFixture {
 protected:
  // Nexus 0 comes in through group 1, nexus 1 through group 300.
  void two_groups(AccessState first = AccessState::active_optimized,
                  AccessState second = AccessState::active_optimized) {
    settings.port_groups = {{1, first, true}, {300, second, false}};
    set_up();
    side.reset();
    for (const std::uint16_t tag : {1, 300}) {
      const auto number = static_cast<unsigned>(nexuses.size());
      nexuses.push_back(std::make_unique<SessionSide>(device, target::StoreEngine::Kind::threads,
                                                      port_name(number), tag));
      ask(number, hex("03 00 00 00 12 00"), {}, 18);  // takes the power on attention
    }
  }
  std::string report(unsigned number = 0, std::uint8_t format = 0) {
    const auto answer =
        ask(number, cdb12(0xa3, 0, 256, static_cast<std::uint8_t>(format | 0x0a)), {}, 256);
    return answer == "good" ? to_hex(task->data_in) : answer;
  }
  struct Wanted {
    std::uint8_t state;
    std::uint16_t tag;
  };
  static ByteVector list(const std::vector<Wanted>& wanted) {
    ByteVector bytes(4 + 4 * wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      store_u8(&bytes[4 + 4 * i], wanted[i].state);
      store_be16(&bytes[4 + 4 * i + 2], wanted[i].tag);
    }
    return bytes;
  }
  std::string set(unsigned number, const std::vector<Wanted>& wanted) {
    const ByteVector bytes = list(wanted);
    return ask(number, cdb12(0xa4, 0, static_cast<std::uint32_t>(bytes.size()), 0x0a), bytes);
  }
  void configure(std::uint16_t tag, AccessState state, bool preferred = false) {
    const std::vector<PortGroupSettings> groups{{tag, state, preferred}};
    target::change_port_groups(*device->units[0], groups);
    settle();
  }
};

TEST_F(PortGroups, OneGroupIfNothingIsSaid) {
  set_up_nexuses(1);
  EXPECT_EQ(report(),
            "0000000c"
            "008f0001"
            "00000001"
            "00000001");
}

TEST_F(PortGroups, ReportedWithEitherHeader) {
  two_groups(AccessState::active_non_optimized, AccessState::standby);
  const std::string groups =
      "818f0001"
      "00000001"
      "00000001"
      "028f012c"
      "00000001"
      "0000012c";
  EXPECT_EQ(report(0, 0x00), "00000018" + groups);
  EXPECT_EQ(report(0, 0x20),
            "0000001c"
            "10000000" +
                groups);
  EXPECT_EQ(report(0, 0x40), "5/24/00@1.7");
}

TEST_F(PortGroups, ReportIsCutAtEveryByte) {
  two_groups();
  for (std::uint32_t length = 0; length <= 34; ++length) {
    EXPECT_EQ(ask(0, cdb12(0xa3, 0, length, 0x2a), {}, 256), "good");
    EXPECT_EQ(task->transfer_length, std::min(length, 32U));
  }
}

TEST_F(PortGroups, InquiryNamesTheGroupOfTheNexus) {
  two_groups();
  ASSERT_EQ(ask(1, hex("12 01 83 04 00 00"), {}, 1024), "good");
  const std::string page = to_hex(task->data_in);
  EXPECT_NE(page.find("519400040000012c"), std::string::npos) << "relative target port";
  EXPECT_NE(page.find("519500040000012c"), std::string::npos) << "target port group";
  ASSERT_EQ(ask(1, hex("12 00 00 00 60 00"), {}, 96), "good");
  EXPECT_EQ(load_u8(&task->data_in[5]) & 0x30, 0x30) << "TPGS";
}

TEST_F(PortGroups, SetTellsEveryOtherNexus) {
  two_groups();
  EXPECT_EQ(set(0, {{0x02, 1}, {0x00, 300}}), "good");
  settle();
  EXPECT_EQ(ask(0, kTestUnitReady), "2/04/0b");
  EXPECT_EQ(ask(1, kTestUnitReady), "6/2a/06");
  EXPECT_EQ(ask(1, kTestUnitReady), "good");
  EXPECT_EQ(report(1),
            "00000018"
            "828f0001"
            "00010001"
            "00000001"
            "008f012c"
            "00010001"
            "0000012c");
}

TEST_F(PortGroups, SetToTheSameTellsNobody) {
  two_groups();
  EXPECT_EQ(set(0, {{0x00, 1}, {0x00, 300}}), "good");
  settle();
  EXPECT_EQ(ask(1, kTestUnitReady), "good");
}

TEST_F(PortGroups, ConfigurationTellsEveryNexus) {
  two_groups();
  configure(300, AccessState::unavailable, true);
  EXPECT_EQ(ask(0, kTestUnitReady), "6/2a/06");
  EXPECT_EQ(ask(0, kTestUnitReady), "good");
  EXPECT_EQ(ask(1, kTestUnitReady), "6/2a/06");
  EXPECT_EQ(ask(1, kTestUnitReady), "2/04/0c");
  EXPECT_EQ(report(1),
            "00000018"
            "808f0001"
            "00000001"
            "00000001"
            "838f012c"
            "00020001"
            "0000012c");
}

TEST_F(PortGroups, ConfigurationThatChangesNothingOrNobodysTellsNobody) {
  two_groups();
  configure(1, AccessState::active_optimized, false);
  configure(7, AccessState::standby);
  EXPECT_EQ(ask(0, kTestUnitReady), "good");
  EXPECT_EQ(ask(1, kTestUnitReady), "good");
}

TEST_F(PortGroups, OnlyThoseThatAreServedAreThere) {
  two_groups();
  const auto serve = [this](std::vector<std::uint16_t> tags) {
    target::serve_through(*device->units[0], tags);
    settle();
  };
  serve({300, 7});
  EXPECT_EQ(ask(0, kTestUnitReady), "6/2a/06");
  EXPECT_EQ(ask(1, kTestUnitReady), "6/2a/06");
  const std::string second =
      "008f012c"
      "00000001"
      "0000012c";
  EXPECT_EQ(report(1, 0x00), "0000000c" + second);
  EXPECT_EQ(report(1, 0x20), "0000001010000000" + second);
  EXPECT_EQ(set(1, {{0x00, 300}, {0x02, 1}}), "5/26/00#10");
  serve({300});
  EXPECT_EQ(ask(1, kTestUnitReady), "good") << "nothing has changed";
  serve({});
  EXPECT_EQ(ask(1, kTestUnitReady), "6/2a/06");
  EXPECT_EQ(report(1).substr(0, 8), "00000018");
  EXPECT_EQ(set(1, {{0x02, 1}}), "good");
}

// SPC-4 section 6.16.3: ALL_TG_PT is for the ports that the target has.
TEST_F(PortGroups, RegistrationsAtAllPortsLeaveOutThoseThatAreNotServed) {
  two_groups();
  target::serve_through(*device->units[0], std::vector<std::uint16_t>{300});
  settle();
  EXPECT_EQ(ask(1, kTestUnitReady), "6/2a/06");
  EXPECT_EQ(ask(1, reserve_out_cdb(6, 0, 24), basic_list(0, 5, 0x04)), "good");
  settle();
  EXPECT_EQ(ask(1, reserve_in_cdb(0, 256), {}, 256), "good");
  EXPECT_EQ(to_hex(task->data_in), "00000001000000080000000000000005") << "one registration";
}

TEST_F(PortGroups, SetIsRefusedAsAWhole) {
  two_groups();
  const std::string before = report();
  EXPECT_EQ(set(0, {{0x02, 1}, {0x00, 2}}), "5/26/00#10") << "no such group";
  for (const std::uint8_t state : {0x04, 0x05, 0x0e, 0x0f}) {
    EXPECT_EQ(set(0, {{0x02, 1}, {state, 300}}), "5/26/00#8");
  }
  EXPECT_EQ(report(), before);
  settle();
  EXPECT_EQ(ask(1, kTestUnitReady), "good");
}

TEST_F(PortGroups, SetCutAtEveryByte) {
  two_groups();
  const ByteVector whole = list({{0x02, 1}, {0x02, 300}});
  for (std::uint32_t length = 0; length < whole.size(); ++length) {
    const ByteVector cut(whole.begin(), whole.begin() + length);
    EXPECT_EQ(ask(0, cdb12(0xa4, 0, static_cast<std::uint32_t>(whole.size()), 0x0a), cut),
              "5/1a/00");
    if (length % 4 == 0 && length < 8) continue;  // nothing, the header alone
    if (length == 8) continue;                    // one descriptor
    EXPECT_EQ(ask(0, cdb12(0xa4, 0, length, 0x0a), cut), "5/24/00@6");
  }
  EXPECT_EQ(ask(0, cdb12(0xa4, 0, 0, 0x0a)), "good");
  EXPECT_EQ(set(0, {}), "good");
  EXPECT_EQ(ask(0, kTestUnitReady), "good") << "nothing has changed";
}

TEST_F(PortGroups, OneUnitAlone) {
  settings.port_groups = {{1, AccessState::active_optimized, false}};
  set_up();
  target::LogicalUnitSettings second;
  second.lun = 1;
  device->units[1] = target::make_logical_unit(kName, second, target::make_null_store(4096));
  open();
  EXPECT_GOOD(out(cdb12(0xa4, 0, 8, 0x0a), list({{0x03, 1}})));
  EXPECT_SENSE(none(kTestUnitReady, 0), "2/04/0c");
  EXPECT_GOOD(none(kTestUnitReady, 1));
}

// SPC-4 section 5.15.2.4: what each state lets through, and what everything else gets.
struct Passing {
  AccessState state;
  std::vector<std::string_view> names;
  std::string refused;
};
class PassingCommands : public PortGroups, public ::testing::WithParamInterface<Passing> {};

INSTANTIATE_TEST_SUITE_P(
    States, PassingCommands,
    ::testing::Values(
        Passing{AccessState::standby,
                {"INQUIRY", "REQUEST SENSE", "REPORT LUNS", "MODE SENSE(6)", "MODE SENSE(10)",
                 "MODE SELECT(6)", "MODE SELECT(10)", "LOG SENSE", "LOG SELECT", "SEND DIAGNOSTIC",
                 "RECEIVE DIAGNOSTIC RESULTS", "PERSISTENT RESERVE IN", "PERSISTENT RESERVE OUT",
                 "REPORT TARGET PORT GROUPS", "SET TARGET PORT GROUPS",
                 "REPORT SUPPORTED OPERATION CODES", "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS"},
                "2/04/0b"},
        Passing{AccessState::unavailable,
                {"INQUIRY", "REQUEST SENSE", "REPORT LUNS", "REPORT TARGET PORT GROUPS",
                 "SET TARGET PORT GROUPS"},
                "2/04/0c"},
        Passing{AccessState::transitioning,
                {"INQUIRY", "REQUEST SENSE", "REPORT LUNS", "REPORT TARGET PORT GROUPS"},
                "2/04/0a"}));

TEST_P(PassingCommands, AreTheOnesOfTheStandard) {
  two_groups(GetParam().state);
  for (const target::OpcodeRow& row : target::opcode_rows()) {
    ByteVector cdb(row.cdb_length);
    store_u8(&cdb[0], row.opcode);
    store_u8(&cdb[1], row.service_action);
    const auto command = row.name.substr(0, row.name.find(','));  // without the service action
    const bool passes = std::ranges::find(GetParam().names, command) != GetParam().names.end();
    const std::string answer = ask(0, cdb);
    if (passes) {
      EXPECT_NE(answer, GetParam().refused) << row.name;
    } else {
      EXPECT_EQ(answer, GetParam().refused) << row.name;
    }
  }
  EXPECT_TRUE(desk->seen.empty()) << "nothing reaches the store";
  EXPECT_EQ(ask(1, cdb10(0x28, 0, 1), {}, 512), "good") << "the other group";
}

TEST_F(PortGroups, OnlyUnavailableChangesThePeripheralQualifier) {
  two_groups(AccessState::unavailable, AccessState::standby);
  for (const unsigned number : {0U, 1U}) {
    const int expected = number == 0 ? 0x20 : 0x00;
    EXPECT_EQ(ask(number, hex("12 00 00 00 60 00"), {}, 96), "good");
    EXPECT_EQ(load_u8(&task->data_in[0]), expected);
    EXPECT_EQ(ask(number, hex("12 01 83 00 60 00"), {}, 96), "good");
    EXPECT_EQ(load_u8(&task->data_in[0]), expected);
  }
}

TEST_F(PortGroups, GroupsThatAreNotActiveCanBeMadeSo) {
  for (const auto state : {AccessState::standby, AccessState::unavailable}) {
    two_groups(state, state);
    EXPECT_EQ(set(0, {{0x00, 1}}), "good");
    EXPECT_EQ(ask(0, kTestUnitReady), "good");
    nexuses.clear();
  }
}

}  // namespace
}  // namespace openiser::test
