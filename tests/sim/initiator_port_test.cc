// Our initiator is the same initiator port to a target from one session to the next, so what the
// target keeps for it is still its own: over a restart of the initiator, a lost connection, and a
// restart of the target.
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "initiator/session.h"
#include "tests/support/daemon.h"
#include "tests/support/reserve_out.h"
#include "tests/support/temporary_folder.h"

namespace openiser::test {
namespace {

using initiator::Session;

constexpr std::uint64_t kKey = 0x1122334455667788;
constexpr std::uint8_t kGood = 0x00, kCheckCondition = 0x02, kConflict = 0x18;
constexpr unsigned kRegister = 0, kReserve = 1, kWriteExclusive = 1, kAptpl = 1;

class InitiatorPort : public ::testing::TestWithParam<const char*> {
 protected:
  void start() {
    auto config = daemon_config();
    config.state_directory = folder_.path("state");
    config.portals[0].port = port_;
    config.targets[0].luns[0].serial = "initiator-port";
    daemon_.emplace(config);
    port_ = daemon_->port();
  }

  std::shared_ptr<Session> open(Duration recovery = {}) const {
    initiator::SessionOptions options;
    // This process's own: a session of another process at once would be another port.
    options.initiator_name = "iqn.2026-11.org.example:initiator-port-" + std::to_string(getpid());
    options.recovery_timeout = recovery;
    return Session::open(
        initiator::parse_url(std::string(GetParam()) + "://127.0.0.1:" + std::to_string(port_) +
                             "/iqn.2026-11.org.example:disk1/0"),
        options);
  }

  const QuietLog quiet;
  const TemporaryFolder folder_;
  std::uint16_t port_ = 0;
  std::optional<RunningDaemon> daemon_;
};

// PERSISTENT RESERVE OUT; the status that is not a unit attention's.
std::uint8_t reserve_out(Session& session, unsigned action, const ByteVector& list) {
  initiator::Command command;
  command.cdb[0] = std::byte{0x5f};
  command.cdb[1] = std::byte(action);
  command.cdb[2] = std::byte{kWriteExclusive};
  command.cdb[8] = std::byte(list.size());
  command.data_out = list;
  for (int tries = 0; tries < 10; ++tries) {
    session.execute(command);
    if (command.status != kCheckCondition) break;
  }
  EXPECT_FALSE(command.error) << command.error.message();
  return command.status;
}
std::uint8_t enrol(Session& session) {
  return reserve_out(session, kRegister, basic_list(0, kKey, kAptpl));
}
std::uint8_t reserve(Session& session) {
  return reserve_out(session, kReserve, basic_list(kKey, 0));
}

TEST_P(InitiatorPort, IsTheSameAfterARestart) {
  start();
  EXPECT_EQ(enrol(*open()), kGood);
  EXPECT_EQ(reserve(*open()), kGood);
}

TEST_P(InitiatorPort, IsTheSameWhenLoggedInAgain) {
  start();
  const auto session = open(std::chrono::seconds(60));
  EXPECT_EQ(enrol(*session), kGood);
  daemon_.reset();
  start();
  EXPECT_EQ(reserve(*session), kGood);
}

TEST_P(InitiatorPort, IsTheSameAfterARestartOfBoth) {
  start();
  EXPECT_EQ(enrol(*open()), kGood);
  daemon_.reset();
  start();
  EXPECT_EQ(reserve(*open()), kGood);
}

// A second session must not end the first, and so is another port.
TEST_P(InitiatorPort, IsAnotherForASecondSessionAtOnce) {
  start();
  const auto first = open(), second = open();
  EXPECT_EQ(enrol(*first), kGood);
  EXPECT_EQ(reserve(*second), kConflict);
  EXPECT_EQ(reserve(*first), kGood);
}

INSTANTIATE_TEST_SUITE_P(Wires, InitiatorPort, ::testing::Values("iser", "iscsi"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace openiser::test
