// Text and discovery sessions at the target (RFC 7143 sections 11.10 and 4.3).
#include "tests/support/target_fixture.h"

namespace openiser::test {
namespace {

class TargetText : public TargetFixture {
 protected:
  TargetText() {
    handler.on_execute = [](TargetTask& task) { task.finish(0, {}, 0); };
    start();
  }
  TextRequest text(std::uint32_t tag, std::uint32_t ttt = kReservedTag) const {
    TextRequest pdu;
    pdu.immediate = true;
    pdu.initiator_task_tag = tag;
    pdu.target_transfer_tag = ttt;
    pdu.cmd_sn = cmd_sn;
    return pdu;
  }
  void ask(std::string_view words) {
    datamover.deliver(text(5), as_bytes(std::string(words) + '\0'));
  }
  std::string answer() {
    const auto pdu = datamover.take<TextResponse>();
    EXPECT_TRUE(pdu.final);
    EXPECT_EQ(load_be32(&datamover.last.bhs.raw[20]), kReservedTag);
    return std::string(as_text(datamover.last.data));
  }
  void discover() {
    parameters.session_type = SessionType::discovery;
    parameters.target_name.clear();
    session.reset();
    datamover.sent.clear();
    start();
  }
};

TEST_F(TargetText, NormalSessionNamesItsOwnTarget) {
  host.records = {{parameters.target_name, "alias", {"10.0.0.1:3260,1", "[::1]:3260,2"}}};
  const std::string expected = "TargetName=" + parameters.target_name + '\0' +
                               "TargetAddress=10.0.0.1:3260,1" + '\0' +
                               "TargetAddress=[::1]:3260,2" + '\0';
  ask("SendTargets=");
  EXPECT_EQ(answer(), expected);
  ask("SendTargets=" + parameters.target_name);
  EXPECT_EQ(answer(), expected);
  EXPECT_EQ(host.asked, (std::vector<std::string>{parameters.target_name, parameters.target_name}));
}

TEST_F(TargetText, NormalSessionNamesNoOther) {
  host.records = {{"iqn.other", "", {}}};
  ask("SendTargets=All");
  EXPECT_EQ(answer(), std::string("SendTargets=Reject") + '\0');
  ask("SendTargets=iqn.other");
  EXPECT_EQ(answer(), "");
  EXPECT_TRUE(host.asked.empty());
}

TEST_F(TargetText, DiscoverySessionNamesAll) {
  discover();
  host.records = {{"iqn.a", "", {}}, {"iqn.b", "", {"h:1,1"}}};
  ask("SendTargets=All");
  EXPECT_EQ(answer(), std::string("TargetName=iqn.a") + '\0' + "TargetName=iqn.b" + '\0' +
                          "TargetAddress=h:1,1" + '\0');
  ask("SendTargets=iqn.b");
  answer();
  EXPECT_EQ(host.asked, (std::vector<std::string>{"", "iqn.b"}));
  ask("SendTargets=");
  EXPECT_EQ(answer(), std::string("SendTargets=Reject") + '\0');
}

TEST_F(TargetText, UnknownKeysAreNotUnderstood) {
  ask(std::string("X-vendor=1") + '\0' + "MaxBurstLength=512");
  EXPECT_EQ(answer(),
            std::string("X-vendor=NotUnderstood") + '\0' + "MaxBurstLength=Reject" + '\0');
}

// RFC 7143 section 13: keys of login, keys of a target, values that are none.
TEST_F(TargetText, WhatMayNotBeSaidNowIsRejected) {
  for (const char* pair :
       {"HeaderDigest=CRC32C", "MaxConnections=1", "InitialR2T=No", "ErrorRecoveryLevel=0",
        "AuthMethod=None", "CHAP_A=5", "SessionType=Normal", "InitiatorName=iqn.x:y",
        "TargetName=iqn.x:z", "RDMAExtensions=Yes", "MaxOutstandingUnexpectedPDUs=5",
        "TargetAlias=mine", "TargetAddress=10.0.0.1", "MaxRecvDataSegmentLength=511",
        "MaxRecvDataSegmentLength=16777216", "MaxRecvDataSegmentLength=many"}) {
    ask(pair);
    const std::string key = std::string(pair).substr(0, std::string(pair).find('='));
    EXPECT_EQ(answer(), key + "=Reject" + '\0');
  }
  EXPECT_EQ(datamover.max_segment, 8192u);
}

// RFC 7143 section 13.12: declared, not answered.
TEST_F(TargetText, ADataSegmentLengthHoldsAfterTheExchange) {
  ask(std::string("MaxRecvDataSegmentLength=512") + '\0' + "InitiatorAlias=host");
  EXPECT_EQ(answer(), "");
  EXPECT_EQ(datamover.max_segment, 512u);
  ask("MaxRecvDataSegmentLength=0xffffff");
  EXPECT_EQ(answer(), "");
  EXPECT_EQ(datamover.max_segment, 16777215u);
}

TEST_F(TargetText, ADataSegmentLengthOfAnExchangeThatIsNotOverDoesNotHold) {
  TextRequest first = text(5);
  first.final = false;
  datamover.deliver(first, as_bytes(std::string("MaxRecvDataSegmentLength=512") + '\0'));
  const auto pdu = datamover.take<TextResponse>();
  EXPECT_FALSE(pdu.final);
  EXPECT_EQ(datamover.max_segment, 8192u);
  datamover.deliver(text(5, pdu.target_transfer_tag));
  EXPECT_EQ(answer(), "");
  EXPECT_EQ(datamover.max_segment, 512u);
  datamover.deliver(first, as_bytes(std::string("MaxRecvDataSegmentLength=1024") + '\0'));
  datamover.take<TextResponse>();
  ask("X-a=1");  // another exchange takes its place
  answer();
  EXPECT_EQ(datamover.max_segment, 512u);
}

TEST_F(TargetText, AKeyTwiceIsRejected) {
  ask(std::string("MaxRecvDataSegmentLength=512") + '\0' + "MaxRecvDataSegmentLength=512");
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::protocol_error);
  EXPECT_EQ(datamover.max_segment, 8192u);
}

TEST_F(TargetText, ADataSegmentLengthHoldsInDiscoveryToo) {
  discover();
  for (int i = 0; i < 100; ++i) host.records.push_back({"iqn.long" + std::to_string(i), "", {}});
  ask("MaxRecvDataSegmentLength=512");
  EXPECT_EQ(answer(), "");
  ask("SendTargets=All");
  EXPECT_FALSE(datamover.take<TextResponse>().final);
  EXPECT_EQ(datamover.last.data.size(), 512u);
}

// CVE-2021-28361: no data, but more to come.
TEST_F(TargetText, AnEmptyPieceOfATextIsOne) {
  TextRequest piece = text(5);
  piece.final = false;
  piece.continues = true;
  for (int i = 0; i < 3; ++i) {
    datamover.deliver(piece);
    const auto pdu = datamover.take<TextResponse>();
    EXPECT_FALSE(pdu.final);
    piece.target_transfer_tag = pdu.target_transfer_tag;
  }
  datamover.deliver(text(5, piece.target_transfer_tag));
  EXPECT_EQ(answer(), "");
}

TEST_F(TargetText, EmptyTextIsAnsweredEmpty) {
  datamover.deliver(text(5));
  EXPECT_EQ(answer(), "");
  datamover.deliver(text(5), std::vector<std::byte>(4));
  EXPECT_EQ(answer(), "");
}

// tgt 4c4372e, 8115bab, 3bfb079, eeff158; 4a96c30
TEST_F(TargetText, LongListsAreFetchedPieceByPiece) {
  discover();
  for (const std::size_t count : {1u, 70u, 1000u, 5000u}) {
    for (const std::uint32_t segment : {512u, 8192u, 65536u}) {
      datamover.max_segment = segment;
      host.records.clear();
      std::string expected;
      for (std::size_t i = 0; i < count; ++i) {
        host.records.push_back(
            {"iqn.2024-01.example:disk" + std::to_string(i), "", {"10.0.0.1:3260,1"}});
        expected += "TargetName=" + host.records.back().name + '\0' +
                    "TargetAddress=10.0.0.1:3260,1" + '\0';
      }
      ask("SendTargets=All");
      std::string got;
      while (true) {
        const auto pdu = datamover.take<TextResponse>();
        got += as_text(datamover.last.data);
        if (pdu.final) {
          EXPECT_FALSE(pdu.continues);
          EXPECT_EQ(load_be32(&datamover.last.bhs.raw[20]), kReservedTag);
          break;
        }
        EXPECT_TRUE(pdu.continues);
        EXPECT_EQ(datamover.last.data.size(), segment);
        ASSERT_NE(pdu.target_transfer_tag, kReservedTag);
        datamover.deliver(text(5, pdu.target_transfer_tag));
      }
      EXPECT_TRUE(got == expected) << count << " " << segment;
    }
  }
}

TEST_F(TargetText, RequestMaySpanPdus) {
  host.records = {{parameters.target_name, "", {}}};
  TextRequest first = text(5);
  first.final = false;
  first.continues = true;
  datamover.deliver(first, as_bytes("SendTa"));
  const auto pdu = datamover.take<TextResponse>();
  EXPECT_FALSE(pdu.final);
  EXPECT_TRUE(datamover.last.data.empty());
  datamover.deliver(text(5, pdu.target_transfer_tag), as_bytes(std::string_view("rgets=\0", 7)));
  EXPECT_EQ(answer(), "TargetName=" + parameters.target_name + '\0');
}

TEST_F(TargetText, RequestWithoutFinalIsNotAnsweredWithFinal) {
  TextRequest first = text(5);
  first.final = false;
  datamover.deliver(first, as_bytes(std::string_view("X-a=1\0", 6)));
  const auto pdu = datamover.take<TextResponse>();
  EXPECT_FALSE(pdu.final);
  EXPECT_FALSE(pdu.continues);
  EXPECT_FALSE(datamover.last.data.empty());
  datamover.deliver(text(5, pdu.target_transfer_tag));
  EXPECT_EQ(answer(), "");
}

TEST_F(TargetText, StaleTransferTagIsRejected) {
  const auto pdu = text(5, 0x77);
  datamover.deliver(pdu);
  expect_reject(RejectReason::invalid_pdu_field, encode(pdu));
}

TEST_F(TargetText, NewRequestResetsTheExchange) {
  discover();
  datamover.max_segment = 512;
  for (int i = 0; i < 100; ++i) host.records.push_back({"iqn.long" + std::to_string(i), "", {}});
  ask("SendTargets=All");
  const auto old = datamover.take<TextResponse>().target_transfer_tag;
  ask("X-a=1");
  EXPECT_EQ(answer(), std::string("X-a=NotUnderstood") + '\0');
  datamover.deliver(text(5, old));
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::invalid_pdu_field);
}

TEST_F(TargetText, TextWithAContinuationIsRejected) {
  discover();
  datamover.max_segment = 512;
  for (int i = 0; i < 100; ++i) host.records.push_back({"iqn.long" + std::to_string(i), "", {}});
  ask("SendTargets=All");
  const auto ttt = datamover.take<TextResponse>().target_transfer_tag;
  datamover.deliver(text(5, ttt), as_bytes("X-a=1"));
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::protocol_error);
}

TEST_F(TargetText, MalformedAndEndlessTextIsRejected) {
  ask("nonsense");
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::protocol_error);
  ask(std::string("SendTargets=") + '\0' + "SendTargets=");
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::protocol_error);
  TextRequest more = text(5);
  more.final = false;
  more.continues = true;
  for (int i = 0; i < 100; ++i) {
    datamover.deliver(more, std::vector<std::byte>(8000, std::byte{'a'}));
    if (datamover.sent.front().opcode() == Opcode::reject) break;
    more.target_transfer_tag = datamover.take<TextResponse>().target_transfer_tag;
  }
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::protocol_error);
}

TEST_F(TargetText, ManyUnknownKeysHaveABoundedAnswer) {
  std::string words;
  for (int i = 0; i < 1000; ++i) words += std::string("a=b") + '\0';
  datamover.deliver(text(5), as_bytes(words));
  std::size_t size = 0;
  while (true) {
    const auto pdu = datamover.take<TextResponse>();
    size += datamover.last.data.size();
    if (pdu.final) break;
    datamover.deliver(text(5, pdu.target_transfer_tag));
  }
  EXPECT_EQ(size, 1000 * (sizeof "a=NotUnderstood"));
}

TEST_F(TargetText, DiscoverySessionRejectsTheRest) {
  discover();
  datamover.deliver(command(1));
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::protocol_error);
  NopOut nop;
  nop.initiator_task_tag = 1;
  nop.cmd_sn = cmd_sn;
  datamover.deliver(nop);
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::protocol_error);
  datamover.deliver(manage(TaskManagementFunction::target_warm_reset, 1));
  EXPECT_EQ(datamover.take<Reject>().reason, RejectReason::protocol_error);
}

TEST_F(TargetText, SilentDiscoverySessionEndsWithoutAPing) {
  limits.nop_interval = std::chrono::seconds(10);
  limits.nop_timeout = std::chrono::seconds(5);
  discover();
  host.clock.advance(std::chrono::seconds(10));
  session->expired(host.clock.now());
  EXPECT_TRUE(datamover.sent.empty());
  host.clock.advance(std::chrono::seconds(5));
  session->expired(host.clock.now());
  datamover.drop();
  EXPECT_EQ(host.ended, std::vector<ErrorCode>{errc::nop_timeout});
}

}  // namespace
}  // namespace openiser::test
