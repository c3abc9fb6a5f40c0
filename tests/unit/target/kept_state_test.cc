// What a daemon leaves in its state directory, the next one finds.
#include <gtest/gtest.h>

#include <fstream>

#include "target/daemon.h"
#include "tests/support/daemon.h"
#include "tests/support/raw_session.h"
#include "tests/support/reserve_out.h"
#include "tests/support/temporary_folder.h"

namespace openiser::test {
namespace {

class KeptState : public ::testing::Test {
 protected:
  config::Daemon config() const {
    auto config = daemon_config();
    config.state_directory = folder.path("state");
    return config;
  }
  static iscsi::ScsiCommand command(RawSession& session, const ByteVector& cdb,
                                    std::uint32_t expected) {
    iscsi::ScsiCommand command;
    command.initiator_task_tag = session.next_cmd_sn();
    command.cmd_sn = command.initiator_task_tag;
    command.expected_data_transfer_length = expected;
    std::ranges::copy(cdb, command.cdb.begin());
    return command;
  }
  // The SCSI status of a registration.
  static int registers(RawSession& session, std::uint64_t key, std::uint8_t flags) {
    auto out = command(session, reserve_out_cdb(0, 0, 24), 24);
    out.write = true;
    iscsi::ControlPdu pdu{encode(out), {}, Buffer::copy_of(basic_list(0, key, flags))};
    pdu.bhs.set_data_segment_length(24);
    EXPECT_TRUE(session.send(pdu));
    const auto answer = session.receive();
    if (!answer) return -1;
    const auto response = iscsi::decode<iscsi::ScsiResponse>(answer->bhs);
    return response ? response->status : -1;
  }
  static std::string keys(RawSession& session) {
    auto in = command(session, reserve_in_cdb(0, 256), 256);
    in.read = true;
    EXPECT_TRUE(session.send(in));
    const auto answer = session.receive();
    return answer ? to_hex(answer->data.bytes()) : "closed";
  }

  const QuietLog quiet;
  TemporaryFolder folder;
};

TEST_F(KeptState, ReservationsOutliveTheDaemon) {
  {
    RunningDaemon daemon(config());
    RawSession session(daemon.port(), Carrier::plain);
    EXPECT_EQ(registers(session, 0x77, 0x01), 0);
    daemon->reload(config());
    EXPECT_EQ(keys(session), "00000001000000080000000000000077");
  }
  RunningDaemon daemon(config());
  RawSession session(daemon.port(), Carrier::plain, 9);
  EXPECT_EQ(keys(session), "00000000000000080000000000000077");
}

TEST_F(KeptState, OthersDoNot) {
  {
    RunningDaemon daemon(config());
    RawSession session(daemon.port(), Carrier::plain);
    EXPECT_EQ(registers(session, 0x77, 0), 0);
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("state")));
  RunningDaemon daemon(config());
  RawSession session(daemon.port(), Carrier::plain);
  EXPECT_EQ(keys(session), "0000000000000000");
}

// A LUN that is another disk than before does not have its reservations, and the disk before has
// them when it is back.
TEST_F(KeptState, ReservationsStayWithTheirDiskOverReloads) {
  const auto on = [&](const std::string& file) {
    auto made = config();
    config::Lun& lun = made.targets[0].luns[0];
    lun.kind = config::Lun::Kind::file;
    lun.path = folder.path(file);
    lun.size = 1 << 20;
    made.log_level = "off";
    return made;
  };
  RunningDaemon daemon(on("a.img"));
  {
    RawSession session(daemon.port(), Carrier::plain);
    EXPECT_EQ(registers(session, 0x77, 0x01), 0);
  }
  const auto keys_on = [&](const std::string& file, const std::string& digits) {
    return eventually([&] {
      daemon->reload(on(file));  // again and again: what is there may have the file yet
      RawSession session(daemon.port(), Carrier::plain, 9);
      return keys(session) == digits;
    });
  };
  auto none = on("a.img");
  none.targets[0].luns.clear();
  daemon->reload(none);
  ASSERT_TRUE(eventually([&] {
    RawSession session(daemon.port(), Carrier::plain, 9);
    return keys(session).size() == 2 * (2 + 18);
  })) << "sense data: there is no such LUN";

  auto other = on("b.img");
  other.targets.push_back(none.targets[0]);
  other.targets[1].name = "iqn.2026-11.org.example:disk2";
  daemon->reload(other);
  ASSERT_TRUE(eventually([&] {
    RawIscsi host(daemon.port());
    return host.log_in("InitiatorName=iqn.x:y|TargetName=iqn.2026-11.org.example:disk2|") == 0;
  })) << "the reload is through";
  {
    RawSession session(daemon.port(), Carrier::plain, 9);
    EXPECT_EQ(keys(session).size(), 2 * (2 + 18)) << "b.img is left out";
  }
  EXPECT_TRUE(keys_on("a.img", "00000000000000080000000000000077"));
  daemon->reload(none);
  std::filesystem::remove(folder.path("state/iqn.2026-11.org.example:disk1.lun0.reservations"));
  EXPECT_TRUE(keys_on("b.img", "0000000000000000"));
}

TEST_F(KeptState, DamagedStateStopsTheStartAndNamesItsFile) {
  std::filesystem::create_directory(folder.path("state"));
  const std::string file = folder.path("state/iqn.2026-11.org.example:disk1.lun0.reservations");
  std::ofstream(file) << "half a fi";
  try {
    target::Daemon daemon(config());
    FAIL() << "it started";
  } catch (const target::StartError& error) {
    EXPECT_EQ(std::string(error.what()).find(file), 0U) << error.what();
  }
}

TEST_F(KeptState, StateDirectoryThatCannotBeIsNoMatterToWhoKeepsNothing) {
  std::ofstream(folder.path("state")) << "in the way";
  RunningDaemon daemon(config());
  RawSession session(daemon.port(), Carrier::plain);
  EXPECT_EQ(registers(session, 0x77, 0), 0);
  EXPECT_EQ(registers(session, 0x77, 0), 0x18) << "it has a key now";
}

}  // namespace
}  // namespace openiser::test
