#include "rdmap/tcp/queue_pair_driver.h"

#include <string>

#include "rdmap/errors.h"
#include "rdmap/loopback/loopback.h"
#include "tests/support/tcp.h"

namespace openiser::rdmap {
namespace {

using test::run_until;

// Writes down what it hears, and is due when a test says so.
class Client final : public QueuePairClient {
 public:
  void established(const Established&) override { heard += "established "; }
  void completions_ready() override { heard += "completions "; }
  void disconnected(ErrorCode) override { heard += "disconnected "; }
  void attach(StreamHost* to) { host = to; }
  std::optional<Time> deadline() const { return due; }
  void expired(Time) {
    heard += "expired ";
    due.reset();
  }

  std::string heard;
  std::optional<Time> due;
  StreamHost* host = nullptr;
};

class QueuePairDriverTest : public ::testing::Test {
 protected:
  void drive() {
    driver.emplace(loop, pair.first(), client, [this](ErrorCode) { client.heard += "closed "; });
    pair.second().set_client(&peer);
  }
  bool hears(const std::string& what) {
    return run_until(loop, [&] { return client.heard == what; });
  }

  EventLoop loop;
  LoopbackPair pair;
  Client client, peer;
  std::optional<QueuePairDriver<Client>> driver;
};

TEST_F(QueuePairDriverTest, TellsOfTheEndBehindTheClient) {
  drive();
  pair.establish();
  EXPECT_EQ(client.heard, "established ");
  pair.second().disconnect();
  pair.run();
  EXPECT_EQ(client.heard, "established disconnected closed ");
}

TEST_F(QueuePairDriverTest, PassesCompletionsOn) {
  drive();
  pair.establish();
  client.heard.clear();
  pair.first().post_write({.id = 1, .data = {}, .sink = {}});
  pair.first().flush();
  pair.run();
  EXPECT_TRUE(client.heard.starts_with("completions ")) << client.heard;
}

TEST_F(QueuePairDriverTest, KeepsTheDeadlineThereWasBefore) {
  client.due = loop.now();
  drive();
  EXPECT_TRUE(hears("expired "));
}

TEST_F(QueuePairDriverTest, LooksAgainWhenAsked) {
  drive();
  client.due = loop.now() + std::chrono::milliseconds(1);
  client.host->attention();
  EXPECT_TRUE(hears("expired "));
}

TEST_F(QueuePairDriverTest, LooksAgainOnceEstablished) {
  drive();
  client.due = loop.now();
  pair.establish();
  EXPECT_TRUE(hears("established expired "));
}

TEST_F(QueuePairDriverTest, IsSilentWhenItIsGone) {
  client.due = loop.now();
  drive();
  driver.reset();
  EXPECT_EQ(client.host, nullptr);
  pair.establish();
  pair.second().disconnect();
  pair.run();
  bool turned = false;
  loop.post([&] { turned = true; });
  EXPECT_TRUE(run_until(loop, [&] { return turned; }));
  EXPECT_EQ(client.heard, "");
}

}  // namespace
}  // namespace openiser::rdmap
