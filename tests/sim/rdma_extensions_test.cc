// RDMAExtensions and what hangs on it, offered in every wrong way over the wire (RFC 7145
// sections 6.1 to 6.3). Where it does not end as Yes the connection goes on as plain iSCSI.
#include <gtest/gtest.h>

#include "tests/support/hostile_fixture.h"

namespace openiser::test {
namespace {

constexpr int kInitiatorError = 0x0200;

// The session works as plain iSCSI.
void expect_plain_session(RawIscsi& peer, std::uint32_t cmd_sn = 100) {
  ASSERT_TRUE(peer.send({encode(ping(5, cmd_sn)), {}, {}}));
  const auto answer = peer.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->bhs.opcode(), iscsi::Opcode::nop_in);
}

std::string answer_to(const RawIscsi& peer, const std::string& key) {
  return value_in(peer.text_answer, key);
}

class RdmaExtensionsTest : public HostileTest {};

TEST_F(RdmaExtensionsTest, OfferedLateEndsTheLogin) {
  serve();
  RawIscsi peer(port());
  ASSERT_EQ(peer.ask(1, {}, names("InitialR2T=No|")), 0);
  EXPECT_EQ(peer.ask(1, 3, "RDMAExtensions=Yes|"), kInitiatorError);
  EXPECT_NE(answer_to(peer, "RDMAExtensions"), "Yes");
  EXPECT_TRUE(peer.sees_end());
}

// The first request of the stage may come in pieces: it is the text that counts.
TEST_F(RdmaExtensionsTest, OfferedInTheSecondPieceOfTheFirstTextIsInTime) {
  serve();
  RawIser peer(port());
  ASSERT_EQ(peer.socket.ask(1, {}, names("InitialR2T=No|"), true), 0);
  ASSERT_EQ(peer.socket.ask(1, 3, "RDMAExtensions=Yes|MaxAHSLength=256|"), 0);
  EXPECT_EQ(answer_to(peer.socket, "RDMAExtensions"), "Yes");
  ASSERT_TRUE(peer.iwarp.start());
  ASSERT_TRUE(peer.send(ping(5, peer.next_cmd_sn())));
  EXPECT_TRUE(peer.receive());
}

TEST_F(RdmaExtensionsTest, OfferedInTheSecurityStageIsNotNegotiatedThere) {
  serve();
  RawIscsi peer(port());
  EXPECT_NE(peer.ask(0, 1, names("AuthMethod=None|RDMAExtensions=Yes|")), 0);
  EXPECT_TRUE(peer.sees_end());
}

TEST_F(RdmaExtensionsTest, WithoutAnOperationalStageThereIsNone) {
  serve();
  RawIscsi peer(port());
  ASSERT_EQ(peer.ask(0, 3, names("AuthMethod=None|")), 0);
  // The target may ask for the operational stage first, but not for iSER.
  if (peer.response.next_stage != 3) {
    ASSERT_EQ(peer.ask(1, 3, ""), 0);
  }
  expect_plain_session(peer);
}

TEST_F(RdmaExtensionsTest, InADiscoverySessionIsIrrelevant) {
  serve();
  RawIscsi peer(port());
  ASSERT_EQ(peer.log_in("InitiatorName=iqn.x:y|SessionType=Discovery|RDMAExtensions=Yes|"), 0);
  EXPECT_EQ(answer_to(peer, "RDMAExtensions"), "Irrelevant");
  iscsi::TextRequest request;
  request.initiator_task_tag = 5;
  request.cmd_sn = 100;
  ASSERT_TRUE(peer.send(pdu_of(encode(request), with_nuls("SendTargets=All|"))));
  const auto answer = peer.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->bhs.opcode(), iscsi::Opcode::text_response);
}

TEST_F(RdmaExtensionsTest, OurNoFallsBackToPlain) {
  serve();
  RawIscsi peer(port());
  ASSERT_EQ(peer.log_in(names("RDMAExtensions=No|HeaderDigest=None|")), 0);
  EXPECT_EQ(answer_to(peer, "RDMAExtensions"), "No");
  expect_plain_session(peer);
}

TEST_F(RdmaExtensionsTest, TheTargetsNoFallsBackToPlain) {
  auto config = daemon_config();
  config.negotiation.rdma_extensions = false;
  const std::string target = config.targets[0].name;
  daemon_.emplace(std::move(config));
  bystander_.emplace(port(), target, false);
  RawIscsi peer(port());
  ASSERT_EQ(peer.log_in(names(kRfc5046Keys)), 0);
  EXPECT_EQ(answer_to(peer, "RDMAExtensions"), "No");
  expect_plain_session(peer);
}

// Over a queue pair there is nothing to fall back to.
TEST_F(RdmaExtensionsTest, NoOverAQueuePairEndsTheLogin) {
  serve();
  for (const char* keys : {"RDMAExtensions=No|", ""}) {
    RawIser peer(port());
    ASSERT_TRUE(peer.iwarp.start());
    EXPECT_EQ(peer.ask(1, 3, names(keys)), kInitiatorError) << keys;
    EXPECT_EQ(peer.iwarp.fate(), "closed");
  }
}

TEST_F(RdmaExtensionsTest, OfferedTwiceEndsTheLogin) {
  serve();
  RawIscsi peer(port());
  EXPECT_EQ(peer.log_in(names("RDMAExtensions=Yes|RDMAExtensions=Yes|")), kInitiatorError);
  EXPECT_TRUE(peer.sees_end());
}

TEST_F(RdmaExtensionsTest, ValuesThatAreNoBooleanEndTheLogin) {
  serve();
  for (const char* value : {"yes", "", "Yes,No", "Maybe", "NotUnderstood"}) {
    RawIscsi peer(port());
    const int status = peer.log_in(names("RDMAExtensions=" + std::string(value) + "|"));
    EXPECT_NE(status, 0) << value;
    EXPECT_TRUE(peer.sees_end());
  }
}

// wire-facts 3.2: Yes forces digests to None and markers of iSCSI to No.
struct Forced {
  const char* offer;
  std::vector<std::string> answers;
};
const Forced kForced[] = {
    {"HeaderDigest=CRC32C", {"None", "Irrelevant", "Reject"}},
    {"HeaderDigest=CRC32C,None", {"None", "Irrelevant"}},
    {"DataDigest=CRC32C,None", {"None", "Irrelevant"}},
    {"IFMarker=Yes", {"No", "Irrelevant", "Reject"}},
    {"OFMarker=Yes", {"No", "Irrelevant", "Reject"}},
};

TEST_F(RdmaExtensionsTest, DigestsAndMarkersBesidesAreAnsweredAndOff) {
  serve();
  for (const char* order : {"before", "behind"}) {
    for (const Forced& forced : kForced) {
      const std::string rdma = kRfc7145Keys;
      const std::string offer = std::string(forced.offer) + "|";
      const bool before = std::string_view(order) == "before";
      RawIser peer(port());
      const int status = peer.socket.log_in(names(before ? offer + rdma : rdma + offer));
      const std::string key = offer.substr(0, offer.find('='));
      const std::string answer = answer_to(peer.socket, key);
      EXPECT_EQ(std::ranges::count(forced.answers, answer), 1) << offer << order << answer;
      ASSERT_EQ(status, 0) << offer << order;
      // Works without: were there a digest, nothing here would be understood.
      ASSERT_TRUE(peer.iwarp.start());
      ASSERT_TRUE(peer.send(ping(5, peer.next_cmd_sn())));
      EXPECT_TRUE(peer.receive());
    }
  }
}

// On a connection that stays plain the same offers mean what they say.
TEST_F(RdmaExtensionsTest, DigestsOfAPlainConnectionAreOn) {
  serve();
  RawIscsi peer(port());
  ASSERT_EQ(peer.log_in(names("RDMAExtensions=No|HeaderDigest=CRC32C,None|DataDigest=CRC32C|")), 0);
  EXPECT_EQ(answer_to(peer, "HeaderDigest"), "CRC32C");
  EXPECT_EQ(answer_to(peer, "DataDigest"), "CRC32C");
}

}  // namespace
}  // namespace openiser::test
