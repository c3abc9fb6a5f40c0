// The real initiator against the real daemon, both in this process, over every wire and with every
// setting of it: random commands of all sizes and depths, compared with a model of the disk.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "initiator/lun.h"
#include "initiator/session.h"
#include "tests/support/daemon.h"
#include "tests/support/disk_model.h"

namespace openiser::test {
namespace {

using initiator::Session;
using DiskLun = initiator::Lun;

constexpr std::uint64_t kDisk = 32 << 20;

struct Setting {
  const char* name;
  const char* scheme;
  const char* keys;
  bool target_crc = true;
  bool target_markers = false;
};

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

const Setting kSettings[] = {
    {"Plain", "iscsi", ""},
    {"PlainHeaderDigest", "iscsi", "?header-digest=crc32c"},
    {"PlainDataDigest", "iscsi", "?data-digest=crc32c"},
    {"PlainBothDigests", "iscsi", "?header-digest=crc32c&data-digest=crc32c"},
    {"RdmaFirst", "iser", "?wire=rdma-first"},
    {"RdmaFirstNoCrc", "iser", "?wire=rdma-first&crc=no", false},
    {"RdmaFirstMarkersToUs", "iser", "?wire=rdma-first&markers=yes"},
    {"RdmaFirstMarkersToTheTarget", "iser", "?wire=rdma-first", true, true},
    {"RdmaFirstAllMarkers", "iser", "?wire=rdma-first&markers=yes", true, true},
    {"RdmaFirstAllMarkersNoCrc", "iser", "?wire=rdma-first&markers=yes&crc=no", false, true},
    {"StreamFirst", "iser", "?wire=stream-first"},
    {"StreamFirstNoCrc", "iser", "?wire=stream-first&crc=no", false},
    {"StreamFirstAllMarkers", "iser", "?wire=stream-first&markers=yes", true, true},
    {"StreamFirst5046", "iser", "?wire=stream-first&rfc=5046"},
    {"StreamFirst5046AllMarkersNoCrc", "iser", "?wire=stream-first&rfc=5046&markers=yes&crc=no",
     false, true},
};

config::Daemon config_for(const Setting& setting) {
  auto config = daemon_config(kDisk);
  config.rdma.crc = setting.target_crc;
  config.rdma.markers = setting.target_markers;
  return config;
}

std::shared_ptr<Session> open(std::uint16_t port, const Setting& setting,
                              const std::string& host = "host", Duration recovery = {}) {
  initiator::SessionOptions options;
  options.initiator_name = "iqn.2026-11.org.example:" + host;
  options.recovery_timeout = recovery;
  return Session::open(
      initiator::parse_url(std::string(setting.scheme) + "://127.0.0.1:" + std::to_string(port) +
                           "/iqn.2026-11.org.example:disk1/0" + setting.keys),
      options);
}

class WholeStackTest : public ::testing::TestWithParam<Setting> {
 protected:
  const QuietLog quiet;
};

TEST_P(WholeStackTest, RandomCommandsAgreeWithTheModel) {
  RunningDaemon daemon(config_for(GetParam()));
  const auto lun = DiskLun::open(open(daemon.port(), GetParam()), 0);
  DiskModel model(*lun, 0, kDisk);
  for (const unsigned seed : {1u, 2u}) model.run({.commands = 120, .seed = seed});
  // Small ones only: many PDUs a read.
  model.run({.commands = 1000, .largest = 8192, .seed = 3});
  model.verify();
}

TEST_P(WholeStackTest, ThousandsOfCommandsQueued) {
  RunningDaemon daemon(config_for(GetParam()));
  const auto lun = DiskLun::open(open(daemon.port(), GetParam()), 0);
  DiskModel model(*lun, 0, kDisk);
  model.run({.commands = 3000, .depth = 2000, .largest = 4096, .seed = 4});
  model.verify();
}

INSTANTIATE_TEST_SUITE_P(Settings, WholeStackTest, ::testing::ValuesIn(kSettings),
                         [](const auto& info) { return std::string(info.param.name); });

// --- several at once ---

constexpr Setting kPlain{"", "iscsi", ""};
constexpr Setting kRdmaFirst{"", "iser", "?wire=rdma-first"};
constexpr Setting kStreamFirst{"", "iser", "?wire=stream-first"};

class SharedDiskTest : public ::testing::Test {
 protected:
  const QuietLog quiet;
};

// Three initiators on three wires, each on a third of the disk.
TEST_F(SharedDiskTest, InitiatorsDoNotSeeEachOther) {
  RunningDaemon daemon(daemon_config(kDisk));
  std::vector<std::thread> threads;
  unsigned seed = 10;
  for (const Setting* setting : {&kPlain, &kRdmaFirst, &kStreamFirst}) {
    threads.emplace_back([&daemon, setting, seed] {
      const auto lun =
          DiskLun::open(open(daemon.port(), *setting, "host" + std::to_string(seed)), 0);
      constexpr std::uint64_t kPart = 10 << 20;
      DiskModel model(*lun, (seed - 10) * kPart, kPart);
      model.run({.commands = 200, .largest = 1 << 20, .seed = seed});
      model.verify();
    });
    ++seed;
  }
  for (auto& thread : threads) thread.join();
}

// A reset ends commands of both initiators (RFC 7143 section 11.5.1); every one is answered, and
// the disk is as good as before for both.
TEST_F(SharedDiskTest, LunResetUnderLoad) {
  RunningDaemon daemon(daemon_config(kDisk));
  for (const Setting* setting : {&kPlain, &kRdmaFirst, &kStreamFirst}) {
    const auto ours = open(daemon.port(), *setting, "one");
    const auto lun = DiskLun::open(ours, 0);
    const auto others = DiskLun::open(open(daemon.port(), *setting, "two"), 0);
    DiskModel mine(*lun, 0, 8 << 20);
    DiskModel theirs(*others, 8 << 20, 8 << 20);
    ASSERT_EQ(lun->write_zeroes(0, 16 << 20), ErrorCode());
    mine.tolerate_failures();
    theirs.tolerate_failures();
    std::thread load([&] { theirs.run({.commands = 300, .largest = 1 << 20, .seed = 20}); });
    for (unsigned round = 0; round < 10; ++round) {
      mine.start_load({.commands = 30, .depth = 16, .largest = 1 << 20, .seed = 30 + round});
      EXPECT_EQ(ours->manage(iscsi::TaskManagementFunction::logical_unit_reset, {}),
                iscsi::TaskManagementAnswer::complete);
    }
    load.join();
    mine.wait_for_all();
    mine.run({.commands = 50, .largest = 1 << 20, .seed = 50});
    mine.verify();
    theirs.verify();
  }
}

// fault 43: the other unit does not notice.
TEST_F(SharedDiskTest, AResetOfOneUnitIsNotOneOfAnother) {
  auto config = daemon_config(kDisk);
  config.targets[0].luns.push_back(config.targets[0].luns[0]);
  config.targets[0].luns[1].lun = 1;
  RunningDaemon daemon(std::move(config));
  const auto session = open(daemon.port(), kRdmaFirst);
  const auto other = DiskLun::open(session, 1);
  DiskModel model(*other, 0, 8 << 20);
  std::thread resets([&] {
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(session->manage(iscsi::TaskManagementFunction::logical_unit_reset, {}),
                iscsi::TaskManagementAnswer::complete);
  });
  model.run({.commands = 200, .largest = 1 << 20, .seed = 60});
  resets.join();
  model.verify();
  EXPECT_EQ(model.failures(), 0u);
}

}  // namespace
}  // namespace openiser::test
