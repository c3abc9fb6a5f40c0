// Text Requests and times of full feature phase against the daemon, over every wire.
#include <gtest/gtest.h>

#include "tests/support/hostile_fixture.h"
#include "tests/support/raw_session.h"

namespace openiser::test {
namespace {

class TextTest : public HostileCaseTest<Carrier> {
 protected:
  // The answer's text, with bars for NULs.
  static std::string ask(RawSession& session, const std::string& text) {
    iscsi::TextRequest request;
    request.immediate = true;
    request.initiator_task_tag = 0x44;
    request.cmd_sn = 0;
    EXPECT_TRUE(session.send(pdu_of(encode(request), with_nuls(text))));
    const auto answer = session.receive();
    if (!answer) return "nothing";
    EXPECT_EQ(answer->bhs.opcode(), iscsi::Opcode::text_response);
    return with_bars(answer->data.bytes());
  }
};

TEST_P(TextTest, KeysOfLoginAreOver) {
  serve();
  RawSession session(port(), GetParam());
  EXPECT_EQ(ask(session, "MaxBurstLength=512|X-a=1|InitiatorAlias=me|"),
            "MaxBurstLength=Reject|X-a=NotUnderstood|");
  EXPECT_TRUE(session.answers());
}

// RFC 7143 section 13.12. Under iSER Data-In PDUs are none of the wire's, and it changes nothing.
TEST_P(TextTest, ADataSegmentLengthIsHeldFromThenOn) {
  serve();
  RawSession session(port(), GetParam());
  EXPECT_EQ(ask(session, "MaxRecvDataSegmentLength=512|"), "");
  if (session.is_iser()) {
    EXPECT_TRUE(session.answers());
    return;
  }
  ASSERT_TRUE(session.send(block_command(kRead10, 0x55, session.next_cmd_sn(), 0, 5)));
  for (std::uint32_t offset = 0; offset < 5 * kBlock; offset += kBlock) {
    const auto pdu = session.receive();
    ASSERT_TRUE(pdu);
    ASSERT_EQ(pdu->bhs.opcode(), iscsi::Opcode::data_in);
    EXPECT_EQ(pdu->data.size(), kBlock);
    EXPECT_EQ(iscsi::decode<iscsi::DataIn>(pdu->bhs)->buffer_offset, offset);
  }
}

TEST_P(TextTest, AnIdleSessionIsAskedToLogOutThenDropped) {
  auto config = daemon_config();
  config.limits.idle_timeout = 1;
  config.limits.nop_timeout = 1;
  serve(std::move(config));
  RawSession session(port(), GetParam());
  for (const int event : {1, 2}) {
    const auto message = session.receive();
    ASSERT_TRUE(message);
    ASSERT_EQ(message->bhs.opcode(), iscsi::Opcode::async_message);
    EXPECT_EQ(iscsi::decode<iscsi::AsyncMessage>(message->bhs)->event, event);
  }
  EXPECT_TRUE(session.socket().sees_end());
}

INSTANTIATE_TEST_SUITE_P(Carriers, TextTest, ::testing::ValuesIn(kCarriers),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace openiser::test
