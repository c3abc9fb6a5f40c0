// SendTargets with more targets than one PDU holds (fault 13, 14 and 15).
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <set>

#include "initiator/session.h"
#include "tests/support/daemon.h"
#include "tests/support/raw_iscsi.h"
#include "tests/support/raw_target.h"

namespace openiser::test {
namespace {

config::Daemon config_of(std::size_t targets) {
  auto config = daemon_config();
  config.targets[0].luns[0].kind = config::Lun::Kind::null;
  const auto pattern = config.targets[0];
  config.targets.clear();
  for (std::size_t i = 0; i < targets; ++i) {
    config.targets.push_back(pattern);
    config.targets[i].name = "iqn.2026-11.org.example:disk" + std::to_string(i);
  }
  return config;
}

struct Scale {
  std::size_t targets;
  std::uint32_t segment;  // MaxRecvDataSegmentLength
};

void PrintTo(const Scale& scale, std::ostream* out) {
  *out << scale.targets << "By" << scale.segment;
}

class DiscoveryTest : public ::testing::TestWithParam<Scale> {
 protected:
  const QuietLog quiet;
};

TEST_P(DiscoveryTest, TheSessionListsThemAll) {
  RunningDaemon daemon(config_of(GetParam().targets));
  const std::string portal = "127.0.0.1:" + std::to_string(daemon.port());
  std::set<std::string> names;
  for (const auto& target : initiator::Session::discover(initiator::parse_portal(portal))) {
    EXPECT_EQ(target.addresses, std::vector<std::string>{portal + ",1"});
    EXPECT_TRUE(names.insert(target.name).second) << target.name;
  }
  EXPECT_EQ(names.size(), GetParam().targets);
}

// RFC 7143 sections 6.2 and 11.11: C and a TTT until the last piece, F and no TTT with it.
TEST_P(DiscoveryTest, InPiecesOfTheDeclaredLength) {
  RunningDaemon daemon(config_of(GetParam().targets));
  RawIscsi peer(daemon.port());
  ASSERT_EQ(peer.log_in("InitiatorName=iqn.x:y|SessionType=Discovery|MaxRecvDataSegmentLength=" +
                        std::to_string(GetParam().segment) + "|"),
            0);
  iscsi::TextRequest request;
  request.initiator_task_tag = 5;
  request.cmd_sn = 100;
  ControlPdu ask = pdu_of(encode(request), with_nuls("SendTargets=All|"));
  std::string text;
  while (true) {
    ASSERT_TRUE(peer.send(ask));
    const auto pdu = peer.receive();
    ASSERT_TRUE(pdu);
    const auto answer = iscsi::decode<iscsi::TextResponse>(pdu->bhs);
    ASSERT_TRUE(answer);
    EXPECT_LE(pdu->data.size(), GetParam().segment);
    text += as_text(pdu->data.bytes());
    EXPECT_EQ(answer->target_transfer_tag == iscsi::kReservedTag, answer->final);
    EXPECT_NE(answer->continues, answer->final);
    if (answer->final) break;
    ASSERT_FALSE(pdu->data.empty());
    request.target_transfer_tag = answer->target_transfer_tag;
    ++request.cmd_sn;
    ask = ControlPdu{encode(request), {}, {}};
  }
  EXPECT_EQ(std::ranges::count(with_bars(as_bytes(text)), '|'), 2 * GetParam().targets);
  for (std::size_t i = 0; i < GetParam().targets; ++i) {
    const std::string name = "TargetName=iqn.2026-11.org.example:disk" + std::to_string(i);
    EXPECT_NE(text.find(name + '\0'), std::string::npos) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Scales, DiscoveryTest,
                         ::testing::Values(Scale{1, 512}, Scale{70, 512}, Scale{70, 8192},
                                           Scale{1000, 512}, Scale{1000, 8192}, Scale{1000, 65536}),
                         [](const auto& info) { return ::testing::PrintToString(info.param); });

// Linux's way: the discovery session, too, is one in RDMA mode.
TEST_P(DiscoveryTest, TheSessionListsThemAllOverIser) {
  RunningDaemon daemon(config_of(GetParam().targets));
  const auto url = initiator::parse_portal("iser://127.0.0.1:" + std::to_string(daemon.port()) +
                                           "?wire=rdma-first");
  EXPECT_EQ(initiator::Session::discover(url).size(), GetParam().targets);
}

// A portal that speaks iSER alone, such as LIO's: it ends the plain connection.
TEST(DiscoveryAtAnIserPortal, FollowsWhenPlainFails) {
  const QuietLog quiet;
  RawTarget target;
  auto found = std::async(std::launch::async, [port = target.port()] {
    return initiator::Session::discover(
        initiator::parse_portal("127.0.0.1:" + std::to_string(port)));
  });
  EXPECT_FALSE(target.accept());
  ASSERT_TRUE(target.accept());
  const auto ask = target.peer().receive();
  ASSERT_TRUE(ask);
  EXPECT_EQ(with_bars(ask->pdu.data.bytes()), "SendTargets=All|");
  const auto answer = target.answer<iscsi::TextResponse>(ask->pdu.bhs);
  ASSERT_TRUE(target.peer().send(pdu_of(
      encode(answer), with_nuls("TargetName=iqn.2026-11.org.example:a|TargetAddress=h:1,2|"))));
  target.peer().receive();  // the logout
  target.peer().socket.close();
  const auto records = found.get();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].name, "iqn.2026-11.org.example:a");
  EXPECT_EQ(records[0].addresses, std::vector<std::string>{"h:1,2"});
}

// Plain or iSER, if the URL says so, and nothing else.
TEST(DiscoveryAtAnIserPortal, IsPlainAloneWithAPlainUrl) {
  const QuietLog quiet;
  RawTarget target;
  auto found = std::async(std::launch::async, [port = target.port()] {
    return initiator::Session::discover(
        initiator::parse_portal("iscsi://127.0.0.1:" + std::to_string(port)));
  });
  EXPECT_FALSE(target.accept());
  target.peer().socket.close();
  EXPECT_THROW(found.get(), initiator::SessionError);
}

// No device carries the loopback's address, or none is there, or the build has no verbs.
TEST(DiscoveryAtAnIserPortal, SaysWhyItIsNotByVerbs) {
  try {
    initiator::Session::discover(initiator::parse_portal("iser://127.0.0.1:1?wire=verbs"));
    FAIL();
  } catch (const initiator::SessionError& error) {
    EXPECT_NE(std::string(error.what()).find("verbs"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace openiser::test
