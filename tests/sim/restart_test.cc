// The daemon goes away under load and comes back at the same port with the same disk; initiators
// with a recovery time log in again and repeat what was not answered. Nothing that was acknowledged
// is lost, nothing fails.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "initiator/lun.h"
#include "initiator/session.h"
#include "tests/support/daemon.h"
#include "tests/support/disk_model.h"
#include "tests/support/temporary_folder.h"

namespace openiser::test {
namespace {

using initiator::Session;
using DiskLun = initiator::Lun;

constexpr std::uint64_t kDisk = 16 << 20;

struct Way {
  const char* name;
  const char* scheme;
  const char* keys;
};

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

class RestartTest : public ::testing::TestWithParam<Way> {
 protected:
  config::Daemon config() const {
    auto config = daemon_config();
    config::Lun& lun = config.targets[0].luns[0];
    lun.kind = config::Lun::Kind::file;
    lun.path = folder_.path("disk.img");
    lun.size = kDisk;
    config.portals[0].port = port_;
    return config;
  }
  void start() {
    daemon_.emplace(config());
    port_ = daemon_->port();
  }
  void stop() { daemon_.reset(); }
  // Does not wait for anybody to log out.
  void stop_at_once() {
    (*daemon_)->drain();
    stop();
  }

  std::shared_ptr<Session> open(Duration recovery) {
    initiator::SessionOptions options;
    options.initiator_name = "iqn.2026-11.org.example:host";
    options.recovery_timeout = recovery;
    options.on_event = [this](const std::string&) { ++events_; };
    return Session::open(initiator::parse_url(std::string(GetParam().scheme) +
                                              "://127.0.0.1:" + std::to_string(port_) +
                                              "/iqn.2026-11.org.example:disk1/0" + GetParam().keys),
                         options);
  }

  const QuietLog quiet;
  const TemporaryFolder folder_;
  std::uint16_t port_ = 0;
  std::optional<RunningDaemon> daemon_;
  std::atomic<int> events_ = 0;
};

TEST_P(RestartTest, NoAcknowledgedWriteIsLost) {
  start();
  const auto lun = DiskLun::open(open(std::chrono::seconds(60)), 0);
  DiskModel model(*lun, 0, kDisk);
  std::thread load(
      [&] { model.run({.commands = 1500, .depth = 32, .largest = 256 << 10, .seed = 70}); });
  for (int i = 0; i < 4; ++i) {
    if (i % 2 == 0) {
      stop();
    } else {
      stop_at_once();
    }
    start();
    // In use again: the next stop hits a session that works.
    ByteVector block(512);
    EXPECT_EQ(lun->read(0, block), ErrorCode());
  }
  load.join();
  model.verify();
  EXPECT_EQ(model.failures(), 0u);
  EXPECT_GE(events_, 2) << "lost and back";
}

TEST_P(RestartTest, WithoutRecoveryCommandsFailAtOnce) {
  start();
  const auto lun = DiskLun::open(open({}), 0);
  stop();
  ByteVector block(512);
  EXPECT_NE(lun->read(0, block), ErrorCode());
}

TEST_P(RestartTest, ATargetThatDoesNotComeBackIsGivenUp) {
  start();
  const auto lun = DiskLun::open(open(std::chrono::seconds(1)), 0);
  stop();
  ByteVector block(512);
  EXPECT_NE(lun->read(0, block), ErrorCode());
}

INSTANTIATE_TEST_SUITE_P(
    Wires, RestartTest,
    ::testing::Values(Way{"Plain", "iscsi", ""}, Way{"RdmaFirst", "iser", "?wire=rdma-first"},
                      Way{"StreamFirst", "iser", "?wire=stream-first"},
                      Way{"StreamFirst5046", "iser", "?wire=stream-first&rfc=5046"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace openiser::test
