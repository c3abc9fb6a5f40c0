// Both ends look for work before they sleep, with work that comes at once and work that comes late.
#include <gtest/gtest.h>

#include <thread>

#include "initiator/lun.h"
#include "initiator/session.h"
#include "tests/support/daemon.h"
#include "tests/support/disk_model.h"

namespace openiser::test {
namespace {

constexpr std::uint64_t kDisk = 4 << 20;

class BusyPoll : public ::testing::TestWithParam<const char*> {};

TEST_P(BusyPoll, ServesBusyAndIdleSessions) {
  const QuietLog quiet;
  auto config = daemon_config(kDisk);
  config.limits.busy_poll = 200;
  // The second is one that there is not: the thread runs where it can.
  config.limits.cpus = {0, 1023};
  RunningDaemon daemon(config);
  initiator::SessionOptions options;
  options.initiator_name = "iqn.2026-11.org.example:host";
  options.busy_poll = std::chrono::microseconds(200);
  const auto url = initiator::parse_url(std::string(GetParam()) +
                                        "://127.0.0.1:" + std::to_string(daemon.port()) +
                                        "/iqn.2026-11.org.example:disk1/0");
  const auto busy = initiator::Lun::open(initiator::Session::open(url, options), 0);
  const auto idle = initiator::Session::open(url, options);
  DiskModel model(*busy, 0, kDisk);
  model.run({.commands = 2000, .depth = 16, .largest = 64 << 10, .seed = 3});
  EXPECT_EQ(idle->ping({}).size, 0U);
}

INSTANTIATE_TEST_SUITE_P(Wires, BusyPoll, ::testing::Values("iser", "iscsi"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace openiser::test
