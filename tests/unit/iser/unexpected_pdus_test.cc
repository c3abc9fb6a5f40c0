#include "iser/unexpected_pdus.h"

#include <gtest/gtest.h>

#include "tests/support/iser.h"

namespace openiser::test {
namespace {

using iser::is_unexpected;
using iser::UnexpectedPdus;
using namespace iscsi;

ControlPdu immediate_nop(std::uint32_t cmd_sn, bool immediate = true) {
  return control_pdu(
      encode(NopOut{.immediate = immediate, .initiator_task_tag = 5, .cmd_sn = cmd_sn}));
}
ControlPdu async(std::uint32_t stat_sn) {
  return control_pdu(encode(AsyncMessage{.stat_sn = stat_sn}));
}
ControlPdu ping(std::uint32_t stat_sn, std::uint32_t tag) {
  return control_pdu(encode(NopIn{.target_transfer_tag = tag, .stat_sn = stat_sn}));
}
Bhs exp_cmd_sn(std::uint32_t n) {
  return encode(ScsiResponse{.exp_cmd_sn = n});
}
Bhs exp_stat_sn(std::uint32_t n) {
  return encode(ScsiCommand{.exp_stat_sn = n});
}

ControlPdu reject_of(const Bhs& rejected) {
  return control_pdu(encode(Reject{.stat_sn = 3}), rejected.raw);
}

TEST(IsUnexpected, ImmediatePdusOfAnInitiator) {
  EXPECT_TRUE(is_unexpected(immediate_nop(1), Role::initiator));
  EXPECT_TRUE(is_unexpected(control_pdu(encode(ScsiCommand{.immediate = true})), Role::initiator));
  EXPECT_TRUE(is_unexpected(control_pdu(encode(TaskManagementRequest{})), Role::initiator));
  EXPECT_TRUE(
      is_unexpected(control_pdu(encode(LogoutRequest{.immediate = true})), Role::initiator));
  EXPECT_FALSE(is_unexpected(immediate_nop(1, false), Role::initiator));
  EXPECT_FALSE(is_unexpected(control_pdu(encode(ScsiCommand{})), Role::initiator));
}

TEST(IsUnexpected, NotWhatATargetHasProvidedFor) {
  EXPECT_FALSE(
      is_unexpected(control_pdu(encode(NopOut{.target_transfer_tag = 7})), Role::initiator));
  EXPECT_FALSE(is_unexpected(control_pdu(encode(DataOut{})), Role::initiator));
}

TEST(IsUnexpected, PdusATargetSendsByItself) {
  EXPECT_TRUE(is_unexpected(async(1), Role::target));
  EXPECT_TRUE(is_unexpected(ping(1, 2), Role::target));
  EXPECT_TRUE(is_unexpected(control_pdu(encode(NopIn{})), Role::target));
  EXPECT_FALSE(is_unexpected(control_pdu(encode(NopIn{.initiator_task_tag = 4})), Role::target));
  EXPECT_FALSE(is_unexpected(control_pdu(encode(ScsiResponse{})), Role::target));
  EXPECT_FALSE(is_unexpected(control_pdu(encode(LogoutResponse{})), Role::target));
}

TEST(IsUnexpected, RejectUnlessItStandsForAnAnswer) {
  EXPECT_TRUE(is_unexpected(reject_of(encode(DataOut{})), Role::target));
  EXPECT_TRUE(is_unexpected(reject_of(encode(SnackRequest{})), Role::target));
  EXPECT_FALSE(is_unexpected(reject_of(encode(ScsiCommand{})), Role::target));
  EXPECT_FALSE(is_unexpected(reject_of(encode(TextRequest{})), Role::target));
  EXPECT_TRUE(is_unexpected(control_pdu(encode(Reject{})), Role::target));  // names nothing
}

TEST(UnexpectedOfInitiator, ZeroMeansNoLimit) {
  UnexpectedPdus pdus(Role::initiator, 0);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(pdus.room_to_send(immediate_nop(1)));
    EXPECT_TRUE(pdus.passes(immediate_nop(1)));
  }
}

TEST(UnexpectedOfInitiator, LimitHolds) {
  UnexpectedPdus pdus(Role::initiator, 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(pdus.room_to_send(immediate_nop(1)));
    EXPECT_TRUE(pdus.passes(immediate_nop(1)));
  }
  EXPECT_FALSE(pdus.room_to_send(immediate_nop(1)));
  EXPECT_FALSE(pdus.passes(immediate_nop(1)));
}

// Section 8.1.1.3: a non-immediate PDU behind it, and an answer that acknowledges that.
TEST(UnexpectedOfInitiator, RetiredByANonImmediatePduAndItsAcknowledgement) {
  UnexpectedPdus pdus(Role::initiator, 2);
  pdus.passes(immediate_nop(10));
  pdus.answered(exp_cmd_sn(11));
  EXPECT_EQ(pdus.outstanding(), 1U);  // no non-immediate PDU yet
  pdus.passes(immediate_nop(10, false));
  EXPECT_EQ(pdus.outstanding(), 1U);
  pdus.answered(exp_cmd_sn(10));
  EXPECT_EQ(pdus.outstanding(), 1U);  // not acknowledged
  pdus.answered(exp_cmd_sn(11));
  EXPECT_EQ(pdus.outstanding(), 0U);
}

TEST(UnexpectedOfInitiator, OnlyThoseBeforeTheAcknowledgedPduRetire) {
  UnexpectedPdus pdus(Role::initiator, 10);
  pdus.passes(immediate_nop(0xffffffff));
  pdus.passes(immediate_nop(0xffffffff));
  pdus.passes(immediate_nop(0xffffffff, false));
  pdus.passes(immediate_nop(0));
  pdus.passes(immediate_nop(0, false));
  pdus.passes(immediate_nop(1));
  EXPECT_EQ(pdus.outstanding(), 4U);
  pdus.answered(exp_cmd_sn(0));  // serial numbers wrap
  EXPECT_EQ(pdus.outstanding(), 2U);
  pdus.answered(exp_cmd_sn(1));
  EXPECT_EQ(pdus.outstanding(), 1U);
}

TEST(UnexpectedOfInitiator, AnAcknowledgementBeforeTheFirstRetiresNothing) {
  UnexpectedPdus pdus(Role::initiator, 2);
  pdus.answered(exp_cmd_sn(11));
  EXPECT_EQ(pdus.outstanding(), 0U);
}

TEST(UnexpectedOfTarget, KeepsItsLastSlotForAPing) {
  UnexpectedPdus pdus(Role::target, 2);
  EXPECT_TRUE(pdus.room_to_send(async(1)));
  pdus.passes(async(1));
  EXPECT_FALSE(pdus.room_to_send(async(2)));
  EXPECT_FALSE(pdus.room_to_send(control_pdu(encode(NopIn{}))));
  EXPECT_TRUE(pdus.room_to_send(ping(2, 7)));
  pdus.passes(ping(2, 7));
  EXPECT_FALSE(pdus.room_to_send(ping(2, 8)));
}

TEST(UnexpectedOfTarget, RetiredByExpStatSn) {
  UnexpectedPdus pdus(Role::target, 4);
  pdus.passes(async(0xffffffff));
  pdus.passes(async(0));
  pdus.answered(exp_stat_sn(0xffffffff));
  EXPECT_EQ(pdus.outstanding(), 2U);
  pdus.answered(exp_stat_sn(0));
  EXPECT_EQ(pdus.outstanding(), 1U);
  pdus.answered(exp_stat_sn(1));
  EXPECT_EQ(pdus.outstanding(), 0U);
}

TEST(UnexpectedOfTarget, PingRetiredByItsAnswer) {
  UnexpectedPdus pdus(Role::target, 4);
  pdus.passes(ping(5, 7));
  pdus.passes(async(5));
  pdus.answered(encode(NopOut{.target_transfer_tag = 8, .exp_stat_sn = 5}));
  EXPECT_EQ(pdus.outstanding(), 2U);
  pdus.answered(encode(NopOut{.target_transfer_tag = 7, .exp_stat_sn = 5}));
  EXPECT_EQ(pdus.outstanding(), 1U);
}

TEST(UnexpectedOfTarget, AnAnswerWithTagZeroRetiresNoAsyncMessage) {
  UnexpectedPdus pdus(Role::target, 4);
  pdus.passes(async(5));
  pdus.answered(encode(NopOut{.target_transfer_tag = 0, .exp_stat_sn = 5}));
  EXPECT_EQ(pdus.outstanding(), 1U);
}

// A peer that never acknowledges costs no memory without end.
TEST(UnexpectedOfTarget, HugeLimitIsNotFollowedForEver) {
  UnexpectedPdus pdus(Role::target, 0xffffffff);
  for (std::uint32_t i = 0; i < 100000; ++i) pdus.passes(async(i));
  EXPECT_LE(pdus.outstanding(), 1024U);
}

// --- the limit the peer declared, in what a connection sends ---

TEST(UnexpectedLimit, InitiatorHoldsImmediatePdusBackAndLetsOthersPass) {
  iscsi::Parameters parameters;
  parameters.peer_max_outstanding_unexpected_pdus = 2;
  HandMadePeer peer({.role = Role::initiator}, parameters);
  for (std::uint32_t i = 0; i < 5; ++i) peer.end->send_control(immediate_nop(10), nullptr);
  peer.run();
  EXPECT_EQ(peer.messages().size(), 2U);
  peer.end->send_control(control_pdu(encode(ScsiCommand{.initiator_task_tag = 1, .cmd_sn = 10})),
                         nullptr);
  peer.run();
  EXPECT_EQ(peer.messages().size(), 3U);
  peer.send(control_pdu(exp_cmd_sn(11)));
  EXPECT_EQ(peer.messages().size(), 5U);
  EXPECT_FALSE(peer.client.end);
}

TEST(UnexpectedLimit, TargetKeepsTheOrderOfStatSnAndItsPing) {
  iscsi::Parameters parameters;
  parameters.peer_max_outstanding_unexpected_pdus = 2;
  HandMadePeer peer({.role = Role::target}, parameters);
  peer.send(control_pdu(encode(NopOut{.exp_stat_sn = 1})));  // the initiator has shown itself
  peer.end->send_control(async(1), nullptr);
  peer.end->send_control(async(2), nullptr);
  peer.end->send_control(control_pdu(encode(TextResponse{.stat_sn = 3})), nullptr);
  peer.end->send_control(ping(4, 9), nullptr);
  peer.run();
  const auto opcode_at = [&](std::size_t n) {
    Bhs bhs;
    std::copy_n(peer.messages().at(n)->buffer.data() + 28, 48, bhs.raw.begin());
    return bhs.opcode();
  };
  ASSERT_EQ(peer.messages().size(), 2U);
  EXPECT_EQ(opcode_at(0), Opcode::async_message);
  EXPECT_EQ(opcode_at(1), Opcode::nop_in);
  peer.send(control_pdu(encode(NopOut{.target_transfer_tag = 9, .exp_stat_sn = 2})));
  ASSERT_EQ(peer.messages().size(), 4U);
  EXPECT_EQ(opcode_at(2), Opcode::async_message);
  EXPECT_EQ(opcode_at(3), Opcode::text_response);
}

// RFC 7145 section 5.1.3: no unexpected PDU before the initiator has shown itself, or some time.
TEST(UnexpectedLimit, TargetWaitsForTheFirstPdu) {
  HandMadePeer peer({.role = Role::target}, {});
  peer.end->send_control(async(1), nullptr);
  peer.run();
  EXPECT_TRUE(peer.messages().empty());
  peer.send(control_pdu(encode(NopOut{})));
  EXPECT_EQ(peer.messages().size(), 1U);
  EXPECT_FALSE(peer.end->deadline());
}

TEST(UnexpectedLimit, TargetWaitsNoLongerThanItsPatience) {
  HandMadePeer peer({.role = Role::target, .hello_timeout = std::chrono::seconds(1)}, {});
  ManualClock clock;
  peer.end->send_control(async(1), nullptr);
  peer.end->expired(clock.now());
  clock.advance(std::chrono::seconds(1));
  EXPECT_LE(peer.end->deadline().value(), clock.now());
  peer.end->expired(clock.now());
  peer.run();
  EXPECT_EQ(peer.messages().size(), 1U);
  EXPECT_FALSE(peer.client.end);
  EXPECT_FALSE(peer.end->deadline());
}

TEST(UnexpectedLimit, TargetRefusesMoreThanItDeclared) {
  iscsi::Parameters parameters;
  parameters.own_max_outstanding_unexpected_pdus = 2;
  HandMadePeer peer({.role = Role::target}, parameters);
  for (int i = 0; i < 2; ++i) peer.send(immediate_nop(1));
  EXPECT_FALSE(peer.client.end);
  peer.send(immediate_nop(1));
  EXPECT_EQ(peer.client.end.value_or(ErrorCode()), errc::too_many_unexpected_pdus);
  EXPECT_EQ(peer.client.pdus.size(), 2U);
}

TEST(UnexpectedLimit, TargetRefusesNoOneWhoKeepsIt) {
  iscsi::Parameters parameters;
  parameters.own_max_outstanding_unexpected_pdus = 2;
  HandMadePeer peer({.role = Role::target}, parameters);
  for (std::uint32_t i = 0; i < 50; ++i) {
    peer.send(immediate_nop(i));
    peer.send(immediate_nop(i, false));
    peer.end->send_control(control_pdu(encode(NopIn{.initiator_task_tag = 5, .exp_cmd_sn = i + 1})),
                           nullptr);
    peer.run();
  }
  EXPECT_FALSE(peer.client.end);
  EXPECT_EQ(peer.client.pdus.size(), 100U);
}

}  // namespace
}  // namespace openiser::test
