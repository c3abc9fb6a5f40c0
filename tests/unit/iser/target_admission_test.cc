// A target's connection against an initiator made by hand: which of its messages are taken, and
// what is remembered of them.
#include <gtest/gtest.h>

#include "tests/support/initiator_by_hand.h"

namespace openiser::test {
namespace {

using iser::Hello;
using Required = iscsi::Parameters::HelloRequired;

TEST(TargetTasks, SecondCommandWithATagInUseChangesNothing) {
  InitiatorByHand peer;
  std::vector<std::byte> first(100), second(100);
  const auto read = peer.open(first);
  peer.command(false, first, {.read = read});
  peer.command(false, second, {.read = peer.open(second)});
  EXPECT_EQ(peer.client.pdus.size(), 2U);
  // The session rejects the second one; the first is untouched by that.
  const ControlPdu& rejected = peer.client.pdus[1];
  peer.end->send_control(
      control_pdu(iscsi::encode(iscsi::Reject{.reason = iscsi::RejectReason::task_in_progress}),
                  rejected.bhs.raw),
      nullptr);
  const auto data = noise(100);
  peer.put(data, 0);
  peer.respond();
  EXPECT_EQ(first, data);
  EXPECT_EQ(peer.messages().at(1)->invalidated, read.stag);
}

TEST(TargetTasks, RejectedCommandLeavesNoMapping) {
  InitiatorByHand peer;
  std::vector<std::byte> memory(100);
  peer.command(false, memory, {.read = peer.open(memory)});
  peer.end->send_control(
      control_pdu(iscsi::encode(iscsi::Reject{}), peer.client.pdus.at(0).bhs.raw), nullptr);
  peer.put(noise(1), 0);
  peer.end->expired(Time{});
  EXPECT_EQ(peer.client.completions.at(0).status, errc::task_aborted);
}

TEST(TargetTasks, AreBounded) {
  iser::Settings settings = target_settings();
  settings.command_window = 8;
  InitiatorByHand peer(settings);
  std::vector<std::byte> memory(100);
  std::uint32_t tag = 0;
  while (!peer.client.end && tag < 1000) peer.command(false, memory, {}, tag++);
  EXPECT_EQ(peer.why(), errc::protocol_error);
  EXPECT_EQ(peer.client.pdus.size(), 8U * 4 + 64);
}

// RFC 7145 section 7.3.3.
TEST(TargetTasks, ReassignmentReplacesTheStags) {
  InitiatorByHand peer;
  std::vector<std::byte> old(100), fresh(100);
  peer.command(false, old, {.read = peer.open(old)});
  peer.send(control_pdu(iscsi::encode(iscsi::TaskManagementRequest{
                .function = static_cast<std::uint8_t>(iscsi::TaskManagementFunction::task_reassign),
                .initiator_task_tag = 1,
                .referenced_task_tag = kTag})),
            {.read = peer.open(fresh)});
  const auto data = noise(100);
  peer.put(data, 0);
  peer.run();
  EXPECT_EQ(fresh, data);
  EXPECT_EQ(old, std::vector<std::byte>(100));
}

TEST(TargetTasks, ReassignedWriteBufferIsTheWholeInEitherMeaning) {
  iser::Settings settings = target_settings();
  settings.base_offset = iser::BaseOffset::solicited_part;
  InitiatorByHand peer(settings);
  auto memory = noise(1000);
  peer.command(true, memory, {.write = peer.open(memory)}, kTag, Bytes(memory).first(300));
  peer.send(control_pdu(iscsi::encode(iscsi::TaskManagementRequest{
                .function = static_cast<std::uint8_t>(iscsi::TaskManagementFunction::task_reassign),
                .initiator_task_tag = 1,
                .referenced_task_tag = kTag})),
            {.write = peer.open(memory)});
  peer.get(100, 900);
  peer.run();
  ASSERT_EQ(peer.client.completions.size(), 1U);
  EXPECT_EQ(to_hex(peer.client.completions[0].buffer.bytes()), to_hex(Bytes(memory).subspan(100)));
}

// --- what an initiator may not send ---

TEST(TargetRefuses, DataTypePdus) {
  for (const Bhs& bhs : {iscsi::encode(iscsi::DataIn{}), iscsi::encode(iscsi::R2t{}),
                         iscsi::encode(iscsi::DataOut{.final = true, .target_transfer_tag = 1})}) {
    InitiatorByHand peer;
    peer.send(control_pdu(bhs));
    EXPECT_EQ(peer.why(), errc::protocol_error);
    EXPECT_TRUE(peer.client.pdus.empty());
  }
}

TEST(TargetRefuses, SnackIsTheSessionsToReject) {
  InitiatorByHand peer;
  peer.send(control_pdu(iscsi::encode(iscsi::SnackRequest{})));
  EXPECT_EQ(peer.client.count(Opcode::snack_request), 1U);
  EXPECT_FALSE(peer.client.end);
}

TEST(TargetRefuses, MessagesOfTheWrongLength) {
  const auto good = [] {
    InitiatorByHand peer;
    return peer.message(control_pdu(iscsi::encode(iscsi::NopOut{}), noise(6)));
  }();
  ASSERT_EQ(good.size(), 28U + 48 + 6);
  for (std::size_t n = 0; n <= good.size() + 4; ++n) {
    InitiatorByHand peer;
    auto message = good;
    message.resize(n);
    peer.send(message);
    // With and without padding, and with some of it.
    const bool fits = n >= good.size() && n <= good.size() + 2;
    EXPECT_EQ(peer.client.count(Opcode::nop_out), fits ? 1U : 0U) << n;
    EXPECT_EQ(peer.why(), fits ? ErrorCode() : make_error_code(errc::iser_format)) << n;
    if (fits) {
      EXPECT_EQ(to_hex(peer.client.pdus[0].data.bytes()), to_hex(noise(6)));
    }
  }
}

TEST(TargetRefuses, DataBeyondWhatItDeclared) {
  for (const std::size_t size : {8192, 8193}) {
    InitiatorByHand peer;
    peer.send(control_pdu(iscsi::encode(iscsi::NopOut{}), noise(size)));
    EXPECT_EQ(peer.why(), size == 8192 ? ErrorCode() : make_error_code(errc::data_too_long));
  }
}

TEST(TargetTakes, AdditionalHeaderSegmentsOfAnyLength) {
  InitiatorByHand peer;
  for (const std::size_t words : {1, 64, 255}) {
    ControlPdu pdu = control_pdu(iscsi::encode(iscsi::ScsiCommand{}), noise(8192));
    pdu.ahs = Buffer::copy_of(noise(words * 4, 7));
    peer.send(pdu);
    ASSERT_FALSE(peer.client.pdus.empty());
    EXPECT_EQ(to_hex(peer.client.pdus.back().ahs.bytes()), to_hex(noise(words * 4, 7)));
    EXPECT_EQ(to_hex(peer.client.pdus.back().data.bytes()), to_hex(noise(8192)));
  }
}

TEST(TargetRefuses, SendWithInvalidate) {
  InitiatorByHand peer;
  peer.send(control_pdu(iscsi::encode(iscsi::NopOut{})), {}, rdmap::Stag{1});
  EXPECT_TRUE(peer.client.end.value_or(ErrorCode()));
  EXPECT_TRUE(peer.client.pdus.empty());
}

TEST(TargetRefuses, RejectedHelloIsAnsweredAndEndsTheConnection) {
  InitiatorByHand peer;
  peer.announce(Hello{9, 9, 4});
  ASSERT_EQ(peer.messages().size(), 1U);
  EXPECT_EQ(to_hex(peer.messages()[0]->buffer.bytes()), "31aa0004" + std::string(48, '0'));
  EXPECT_EQ(peer.why(), errc::iser_hello);
}

TEST(TargetRefuses, MissingHello) {
  iscsi::Parameters parameters;
  parameters.iser_hello_required = Required::yes;
  InitiatorByHand peer(target_settings(), parameters);
  peer.send(control_pdu(iscsi::encode(iscsi::NopOut{})));
  EXPECT_EQ(peer.why(), errc::iser_hello);
  EXPECT_TRUE(peer.messages().empty());
}

TEST(TargetRefuses, HelloThatWasDeclined) {
  iscsi::Parameters parameters;
  parameters.iser_hello_required = Required::no;
  InitiatorByHand peer(target_settings(), parameters);
  peer.announce(Hello{10, 10, 4});
  EXPECT_EQ(peer.why(), errc::iser_hello);
  EXPECT_TRUE(peer.messages().empty());
}

// --- credit ---

TEST(TargetCredit, DoesNotDependOnDataTheSessionKeeps) {
  InitiatorByHand peer;
  for (int i = 0; i < 1000; ++i)
    peer.send(control_pdu(iscsi::encode(iscsi::NopOut{.initiator_task_tag = 1}), noise(100)));
  EXPECT_EQ(peer.client.pdus.size(), 1000U);  // all kept, with their data
  EXPECT_FALSE(peer.client.end);
}

TEST(TargetCredit, HasRoomForTheWindowAndItsUnsolicitedData) {
  iser::Settings settings = target_settings();
  settings.command_window = 4;
  iscsi::Parameters parameters;
  parameters.initial_r2t = false;
  parameters.first_burst_length = 65536;
  InitiatorByHand peer(settings, parameters);
  // 4 commands, each followed by 8 Data-Outs, all before the target looks.
  for (int i = 0; i < 4 * 9; ++i)
    peer.peer->post_send({.id = 0,
                          .head = Buffer::copy_of(peer.message(control_pdu(
                              iscsi::encode(iscsi::DataOut{.final = true}), noise(8192)))),
                          .body = {},
                          .invalidate = {},
                          .solicited_event = false});
  peer.run();
  EXPECT_EQ(peer.client.pdus.size(), 36U);
  EXPECT_FALSE(peer.client.end);
}

}  // namespace
}  // namespace openiser::test
