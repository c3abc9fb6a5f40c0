// NOP-Outs whose echo is not what was sent.
#include <gtest/gtest.h>

#include <future>

#include "initiator/session.h"
#include "tests/support/daemon.h"
#include "tests/support/raw_target.h"

namespace openiser::test {
namespace {

class PingTest : public ::testing::Test {
 protected:
  // One ping of four bytes, answered with `data`.
  std::future<initiator::Echo> ping(std::string_view data) {
    auto echo = std::async(std::launch::async, [port = target_.port()] {
      const auto session = initiator::Session::open(initiator::parse_url(
          "iser://127.0.0.1:" + std::to_string(port) + "/" + kTargetName + "?wire=rdma-first"));
      return session->ping(as_bytes("ping"));
    });
    EXPECT_TRUE(target_.accept());
    const auto nop = target_.peer().receive();
    EXPECT_TRUE(nop && as_text(nop->pdu.data.bytes()) == "ping");
    if (nop) {
      const auto answer = target_.answer<iscsi::NopIn>(nop->pdu.bhs);
      EXPECT_TRUE(target_.peer().send(pdu_of(encode(answer), data)));
    }
    target_.peer().receive();  // the logout
    target_.peer().socket.close();
    return echo;
  }

 private:
  const QuietLog quiet;
  RawTarget target_;
};

TEST_F(PingTest, TheEchoIsMeasured) {
  EXPECT_EQ(ping("ping").get().size, 4u);
}

// Linux's iSER target.
TEST_F(PingTest, NoDataIsAnAnswerToo) {
  EXPECT_EQ(ping("").get().size, 0u);
}

TEST_F(PingTest, OtherDataIsNot) {
  for (const char* other : {"pinG", "pings"}) {
    try {
      ping(other).get();
      FAIL() << other;
    } catch (const initiator::SessionError& error) {
      EXPECT_NE(std::string(error.what()).find("protocol error"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace openiser::test
