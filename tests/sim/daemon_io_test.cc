// The initiator against the daemon, both in this process and over loopback TCP: each wire carries
// the same reads and writes to the same result.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "initiator/lun.h"
#include "initiator/session.h"
#include "tests/support/daemon.h"
#include "tests/support/tcp.h"

namespace openiser {
namespace {

using initiator::Lun;
using initiator::Session;
using test::daemon_config;
using test::RunningDaemon;

constexpr std::uint64_t kSize = 32 << 20;
constexpr const char* kTarget = "iqn.2026-11.org.example:disk1";

struct WireCase {
  const char* name;
  const char* scheme;
  const char* keys;
  const char* wire;  // as the daemon names it
};

const WireCase kWires[] = {
    {"plain", "iscsi", "", "plain"},
    {"plain_digests", "iscsi", "?header-digest=crc32c&data-digest=crc32c", "plain"},
    {"rdma_first", "iser", "?wire=rdma-first", "rdma-first"},
    {"rdma_first_no_crc", "iser", "?wire=rdma-first&crc=no", "rdma-first"},
    {"rdma_first_markers", "iser", "?wire=rdma-first&markers=yes", "rdma-first"},
    {"stream_first", "iser", "?wire=stream-first", "stream-first"},
    {"stream_first_5046", "iser", "?wire=stream-first&rfc=5046", "stream-first"},
    {"stream_first_markers", "iser", "?wire=stream-first&markers=yes", "stream-first"},
};

class DaemonIoTest : public ::testing::TestWithParam<WireCase> {
 protected:
  initiator::Url url(std::uint16_t port, const WireCase& wire = GetParam()) const {
    return initiator::parse_url(std::string(wire.scheme) + "://127.0.0.1:" + std::to_string(port) +
                                "/" + kTarget + "/0" + wire.keys);
  }
  initiator::SessionOptions options() const {
    initiator::SessionOptions options;
    options.initiator_name = "iqn.2026-11.org.example:host";
    return options;
  }
  std::shared_ptr<Session> open(const RunningDaemon& daemon) {
    return Session::open(url(daemon.port()), options());
  }

  const test::QuietLog quiet;
};

// More than the target allows to be outstanding unanswered (RFC 7145 section 6.7), with nothing
// else going on.
TEST_P(DaemonIoTest, AnIdleSessionMayPingForEver) {
  RunningDaemon daemon(daemon_config(kSize));
  const auto session = open(daemon);
  for (int i = 0; i < 300; ++i) ASSERT_NO_THROW(session->ping(as_bytes("are you there"))) << i;
}

TEST_P(DaemonIoTest, WhatIsWrittenIsRead) {
  RunningDaemon daemon(daemon_config(kSize));
  const auto session = open(daemon);
  ASSERT_EQ(daemon->sessions().list().size(), 1u);
  EXPECT_EQ(daemon->sessions().list()[0].wire, GetParam().wire);
  const auto lun = Lun::open(session, 0);
  EXPECT_EQ(lun->properties().size(), kSize);
  std::uint64_t offset = 0;
  for (const std::size_t size : {512u, 4096u, 8192u, 65536u, 66048u, 262144u, 1u << 20, 5u << 20}) {
    const std::string written = test::pattern(size, static_cast<unsigned>(size));
    ASSERT_EQ(lun->write(offset, as_bytes(written)), ErrorCode()) << size;
    std::vector<std::byte> read(size);
    ASSERT_EQ(lun->read(offset, read), ErrorCode()) << size;
    EXPECT_TRUE(as_text(read) == written) << size;
    offset += size;
  }
  ASSERT_EQ(lun->flush(), ErrorCode());
}

TEST_P(DaemonIoTest, ManyCommandsAtOnce) {
  RunningDaemon daemon(daemon_config(kSize));
  const auto session = open(daemon);
  const auto lun = Lun::open(session, 0);
  constexpr std::size_t kBlock = 16384, kCount = 512;
  std::vector<std::string> written;
  std::atomic<std::size_t> done = 0;
  std::atomic<std::size_t> failed = 0;
  const auto count = [&](ErrorCode error) {
    if (error) ++failed;
    ++done;
  };
  const auto wait = [&](std::size_t n) {
    const Time give_up = SteadyClock().now() + std::chrono::seconds(60);
    while (done < n && SteadyClock().now() < give_up) std::this_thread::yield();
    return done == n && failed == 0;
  };
  for (std::size_t i = 0; i < kCount; ++i) {
    written.push_back(test::pattern(kBlock, static_cast<unsigned>(i)));
    lun->write(i * kBlock, as_bytes(written.back()), false, count);
  }
  ASSERT_TRUE(wait(kCount));
  std::vector<std::byte> read(kBlock * kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    lun->read(i * kBlock, MutableBytes(read).subspan(i * kBlock, kBlock), count);
  }
  ASSERT_TRUE(wait(2 * kCount));
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_TRUE(as_text(Bytes(read).subspan(i * kBlock, kBlock)) == written[i]) << i;
  }
}

TEST_P(DaemonIoTest, SessionsComeAndGo) {
  RunningDaemon daemon(daemon_config(kSize));
  for (int i = 0; i < 10; ++i) {
    const auto session = open(daemon);
    EXPECT_GE(session->ping({}).round_trip.count(), 0);
  }
  const Time give_up = SteadyClock().now() + std::chrono::seconds(20);
  while (!daemon->sessions().list().empty() && SteadyClock().now() < give_up) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(daemon->sessions().list().empty());
}

TEST_P(DaemonIoTest, TheDaemonDrainsUnderLoad) {
  RunningDaemon daemon(daemon_config(kSize));
  const auto session = open(daemon);
  const auto lun = Lun::open(session, 0);
  std::vector<std::byte> data(1 << 20);
  std::atomic<int> open_commands = 0;
  for (int i = 0; i < 64; ++i) {
    ++open_commands;
    lun->read(0, MutableBytes(data), [&](ErrorCode) { --open_commands; });
  }
  daemon.stop();
  const Time give_up = SteadyClock().now() + std::chrono::seconds(20);
  while (open_commands != 0 && SteadyClock().now() < give_up) std::this_thread::yield();
  EXPECT_EQ(open_commands, 0);
}

TEST_P(DaemonIoTest, AMissingTargetIsToldInWords) {
  auto config = daemon_config(kSize);
  config.targets[0].name = "iqn.2026-11.org.example:other";
  RunningDaemon daemon(std::move(config));
  try {
    open(daemon);
    FAIL() << "logged in to a target that is not there";
  } catch (const initiator::SessionError& error) {
    EXPECT_NE(std::string(error.what()).find("target not found"), std::string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Wires, DaemonIoTest, ::testing::ValuesIn(kWires),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DaemonDiscoveryTest, ListsTargets) {
  const test::QuietLog quiet;
  RunningDaemon daemon;
  const auto targets =
      Session::discover(initiator::parse_portal("127.0.0.1:" + std::to_string(daemon.port())));
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_EQ(targets[0].name, kTarget);
  ASSERT_EQ(targets[0].addresses.size(), 1u);
  EXPECT_EQ(targets[0].addresses[0], "127.0.0.1:" + std::to_string(daemon.port()) + ",1");
}

}  // namespace
}  // namespace openiser
