// A target's connection against an initiator made by hand: where its data goes, and what its
// responses invalidate.
#include <gtest/gtest.h>

#include "tests/support/initiator_by_hand.h"

namespace openiser::test {
namespace {

using iser::ControlHeader;
using iser::Hello;

TEST(TargetPuts, DataAtBaseOffsetPlusBufferOffset) {
  InitiatorByHand peer;
  std::vector<std::byte> memory(100);
  peer.command(false, memory, {.read = peer.open(memory)});
  const auto data = noise(30);
  peer.put(data, 70, true, false, 5);
  peer.run();
  EXPECT_TRUE(std::equal(data.begin(), data.end(), memory.begin() + 70));
  ASSERT_EQ(peer.client.completions.size(), 1U);
  const auto& done = peer.client.completions[0];
  EXPECT_EQ(done.kind, iscsi::DataCompletion::Kind::put);
  EXPECT_EQ(done.initiator_task_tag, kTag);
  EXPECT_EQ(done.sequence_number, 5U);
  EXPECT_FALSE(done.status);
  EXPECT_EQ(to_hex(done.buffer.bytes()), to_hex(data));
}

TEST(TargetPuts, TellsOnlyWhenAsked) {
  InitiatorByHand peer;
  std::vector<std::byte> memory(100);
  peer.command(false, memory, {.read = peer.open(memory)});
  peer.put(noise(30), 0, false);
  peer.run();
  EXPECT_TRUE(peer.client.completions.empty());
}

TEST(TargetPuts, NothingInsideTheCall) {
  InitiatorByHand peer;
  std::vector<std::byte> memory(100);
  peer.command(false, memory, {.read = peer.open(memory)});
  peer.put(noise(30), 0);
  peer.end->flush();
  EXPECT_TRUE(peer.client.completions.empty());
}

// Section 7.3.5, the A bit: a zero-length read behind the write.
TEST(TargetPuts, AcknowledgesWithTheNextDataSn) {
  InitiatorByHand peer;
  std::vector<std::byte> memory(100);
  peer.command(false, memory, {.read = peer.open(memory)});
  peer.put(noise(30), 0, false, true, 7);
  peer.put(noise(30), 30, false, false, 8);
  EXPECT_TRUE(peer.client.acknowledged.empty());
  peer.run();
  EXPECT_EQ(peer.client.acknowledged, (std::vector{std::pair{kTag, 8U}}));
}

TEST(TargetPuts, AcknowledgementNeedsReads) {
  InitiatorByHand peer(target_settings(), {}, {.outbound_reads = 0, .inbound_reads = 0});
  std::vector<std::byte> memory(100);
  peer.command(false, memory, {.read = peer.open(memory)});
  peer.put(noise(30), 0, false, true);
  peer.run();
  EXPECT_EQ(peer.why(), errc::iser_no_outbound_reads);
}

TEST(TargetPuts, BeyondWhatWasAdvertisedEndsTheConnection) {
  for (const auto& [offset, length] :
       {std::pair{100U, 1U}, {99U, 2U}, {0U, 101U}, {0xffffffffU, 1U}}) {
    InitiatorByHand peer;
    std::vector<std::byte> memory(100);
    peer.command(false, memory, {.read = peer.open(memory)});
    peer.put(noise(length), offset);
    peer.run();
    EXPECT_EQ(peer.why(), errc::iser_stag) << offset;
    ASSERT_EQ(peer.client.completions.size(), 1U);
    EXPECT_EQ(peer.client.completions[0].status, errc::iser_stag);
    EXPECT_EQ(peer.client.completions[0].buffer.size(), length);
  }
}

TEST(TargetPuts, WithoutAReadStagEndsTheConnection) {
  InitiatorByHand peer;
  std::vector<std::byte> memory(100);
  peer.command(false, memory, {});
  peer.put(noise(1), 0, false);
  peer.run();
  EXPECT_EQ(peer.why(), errc::iser_stag);
}

TEST(TargetPuts, ForNoTaskIsAborted) {
  InitiatorByHand peer;
  peer.put(noise(1), 0);
  ASSERT_TRUE(peer.end->deadline());
  EXPECT_TRUE(peer.client.completions.empty());
  peer.end->expired(Time{});
  ASSERT_EQ(peer.client.completions.size(), 1U);
  EXPECT_EQ(peer.client.completions[0].status, errc::task_aborted);
  EXPECT_FALSE(peer.client.end);
}

// The base offset is of the peer's choosing: no sum may wrap.
TEST(TargetPuts, BaseOffsetAtTheEndOfTheWorldEndsTheConnection) {
  for (const std::uint64_t base : {UINT64_MAX, UINT64_MAX - 29, UINT64_MAX - 99}) {
    InitiatorByHand peer;
    std::vector<std::byte> memory(100);
    peer.command(false, memory, {.read = rdmap::RemoteMemory{{1}, base}});
    peer.put(noise(30), 70);
    peer.run();
    EXPECT_EQ(peer.why(), errc::iser_stag) << base;
  }
}

TEST(TargetPuts, ReadPartOfABidirectionalCommandIsAsLongAsItsAhsSays) {
  for (const bool too_long : {false, true}) {
    InitiatorByHand peer;
    std::vector<std::byte> memory(200), source(100);
    ControlPdu pdu =
        control_pdu(iscsi::encode(iscsi::ScsiCommand{.read = true,
                                                     .write = true,
                                                     .initiator_task_tag = kTag,
                                                     .expected_data_transfer_length = 100}));
    pdu.ahs = iscsi::build_command_ahs({.extended_cdb = {}, .bidirectional_read_length = 200});
    peer.send(pdu, {.write = peer.open(source), .read = peer.open(memory)});
    peer.put(noise(too_long ? 201 : 200), 0);
    peer.run();
    EXPECT_EQ(peer.why(), too_long ? make_error_code(errc::iser_stag) : ErrorCode());
  }
}

TEST(TargetGets, DataFromBaseOffsetPlusBufferOffset) {
  InitiatorByHand peer;
  auto memory = noise(1000);
  peer.command(true, memory, {.write = peer.open(memory)});
  peer.get(300, 200, kTag, 9);
  peer.run();
  ASSERT_EQ(peer.client.completions.size(), 1U);
  const auto& done = peer.client.completions[0];
  EXPECT_EQ(done.kind, iscsi::DataCompletion::Kind::get);
  EXPECT_EQ(done.sequence_number, 9U);
  EXPECT_EQ(to_hex(done.buffer.bytes()), to_hex(Bytes(memory).subspan(300, 200)));
}

struct SolicitedCase {
  bool initial_r2t;
  bool final;
  std::uint32_t immediate;
  std::uint32_t skip;  // what of the write data is not in the advertised buffer
};

// Wire-facts 8.3: how much is unsolicited, as both sides reckon it.
TEST(TargetGets, FromABufferOfSolicitedDataOnly) {
  for (const auto& c : {SolicitedCase{true, true, 100, 100},
                        {true, true, 0, 0},
                        {true, false, 100, 100},
                        {false, true, 100, 100},
                        {false, false, 100, 512},
                        {false, false, 0, 512}}) {
    iscsi::Parameters parameters;
    parameters.initial_r2t = c.initial_r2t;
    parameters.first_burst_length = 512;
    iser::Settings settings = target_settings();
    settings.base_offset = iser::BaseOffset::solicited_part;
    InitiatorByHand peer(settings, parameters, {.zero_based_offsets = false});
    auto memory = noise(1000);
    std::vector<std::byte> solicited(memory.begin() + c.skip, memory.end());
    peer.command(true, memory, {.write = peer.open(solicited)}, kTag,
                 Bytes(memory).first(c.immediate), c.final);
    peer.get(600, 400);
    peer.run();
    ASSERT_EQ(peer.client.completions.size(), 1U);
    EXPECT_EQ(to_hex(peer.client.completions[0].buffer.bytes()),
              to_hex(Bytes(memory).subspan(600)));
  }
}

TEST(TargetGets, UnsolicitedDataIsNotInABufferOfSolicitedDataOnly) {
  iser::Settings settings = target_settings();
  settings.base_offset = iser::BaseOffset::solicited_part;
  InitiatorByHand peer(settings);
  auto memory = noise(1000);
  peer.command(true, memory, {.write = peer.open(memory)}, kTag, Bytes(memory).first(100));
  peer.get(99, 1);
  peer.run();
  EXPECT_EQ(peer.why(), errc::iser_stag);
  EXPECT_EQ(peer.client.completions.at(0).status, errc::iser_stag);
}

TEST(TargetGets, BeyondWhatWasAdvertisedEndsTheConnection) {
  InitiatorByHand peer;
  auto memory = noise(1000);
  peer.command(true, memory, {.write = peer.open(memory)});
  peer.get(999, 2);
  peer.run();
  EXPECT_EQ(peer.why(), errc::iser_stag);
}

TEST(TargetGets, WithoutAWriteStagEndsTheConnection) {
  InitiatorByHand peer;
  auto memory = noise(1000);
  peer.command(true, memory, {});
  peer.get(0, 1);
  peer.run();
  EXPECT_EQ(peer.why(), errc::iser_stag);
}

// Section 7.3.6 item 3.
TEST(TargetGets, WithoutOutboundReadsEndTheConnection) {
  InitiatorByHand peer(target_settings(), {}, {.outbound_reads = 0, .inbound_reads = 0});
  auto memory = noise(1000);
  peer.command(true, memory, {.write = peer.open(memory)});
  peer.get(0, 100);
  peer.run();
  EXPECT_EQ(peer.why(), errc::iser_no_outbound_reads);
  EXPECT_EQ(peer.client.completions.at(0).status, errc::iser_no_outbound_reads);
}

TEST(TargetGets, WithoutInboundReadsInTheHelloEndTheConnection) {
  InitiatorByHand peer;
  peer.announce(Hello{10, 10, 0});
  auto memory = noise(1000);
  peer.command(true, memory, {.write = peer.open(memory)});
  EXPECT_FALSE(peer.client.end);
  peer.get(0, 100);
  peer.run();
  EXPECT_EQ(peer.why(), errc::iser_no_outbound_reads);
}

TEST(TargetGets, NoMoreAtOnceThanTheHelloSettled) {
  InitiatorByHand peer;
  peer.announce(Hello{10, 10, 2});
  EXPECT_EQ(peer.end->negotiated()->capabilities.outbound_reads, 2U);
  auto memory = noise(1000);
  peer.command(true, memory, {.write = peer.open(memory)});
  for (std::uint32_t i = 0; i < 10; ++i) peer.get(i * 100, 100, kTag, i);
  peer.run();
  ASSERT_EQ(peer.client.completions.size(), 10U);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(peer.client.completions[i].sequence_number, i);
    EXPECT_EQ(to_hex(peer.client.completions[i].buffer.bytes()),
              to_hex(Bytes(memory).subspan(i * 100, 100)));
  }
}

// --- responses (section 7.3.2) ---

struct ResponseCase {
  bool write_stag;
  bool read_stag;
  bool capable;
  bool allowed;
};

TEST(TargetResponds, InvalidatingTheReadStagElseTheWriteStag) {
  for (const auto& c : {ResponseCase{true, true, true, true},
                        {true, false, true, true},
                        {false, true, true, true},
                        {false, false, true, true},
                        {true, true, false, true},
                        {true, true, true, false}}) {
    iser::Settings settings = target_settings();
    settings.send_with_invalidate = c.allowed;
    InitiatorByHand peer(settings, {}, {.remote_invalidate = c.capable});
    std::vector<std::byte> in(100), out(100);
    ControlHeader header;
    if (c.write_stag) header.write = peer.open(out);
    if (c.read_stag) header.read = peer.open(in);
    peer.command(!c.read_stag, in, header);
    peer.respond();
    ASSERT_EQ(peer.messages().size(), 1U);
    std::optional<rdmap::Stag> expected;
    if (c.capable && c.allowed) {
      if (header.read) {
        expected = header.read->stag;
      } else if (header.write) {
        expected = header.write->stag;
      }
    }
    EXPECT_EQ(peer.messages()[0]->invalidated, expected);
    EXPECT_EQ(to_hex(peer.messages()[0]->buffer.bytes().first(28)), "10" + std::string(54, '0'));
  }
}

TEST(TargetResponds, WithSolicitedEventInRfc5046) {
  InitiatorByHand peer(target_settings(Dialect::rfc5046));
  peer.announce(Hello{1, 1, 8});
  std::vector<std::byte> memory(100);
  const auto read = peer.open(memory);
  peer.command(false, memory, {.read = read});
  peer.respond();
  ASSERT_EQ(peer.messages().size(), 2U);
  EXPECT_TRUE(peer.messages()[0]->solicited_event);
  EXPECT_TRUE(peer.messages()[1]->solicited_event);
  EXPECT_EQ(peer.messages()[1]->invalidated, read.stag);
}

TEST(TargetResponds, AndForgetsTheMapping) {
  InitiatorByHand peer;
  std::vector<std::byte> memory(100);
  peer.command(false, memory, {.read = peer.open(memory)});
  peer.respond();
  peer.put(noise(1), 0);
  peer.end->expired(Time{});
  EXPECT_EQ(peer.client.completions.at(0).status, errc::task_aborted);
}

// The initiator takes its memory back with the response, so reads from it are over by then.
TEST(TargetResponds, OnlyWhenItsReadsAreOver) {
  InitiatorByHand peer(target_settings(), {}, {.outbound_reads = 1, .inbound_reads = 1});
  auto memory = noise(1000);
  peer.command(true, memory, {.write = peer.open(memory)});
  for (std::uint32_t i = 0; i < 4; ++i) peer.get(i * 100, 100, kTag, i);
  peer.respond();
  EXPECT_EQ(peer.client.completions.size(), 4U);
  EXPECT_EQ(peer.messages().size(), 1U);
  EXPECT_FALSE(peer.client.end);
}

// --- tasks that end otherwise ---

TEST(TargetAborts, GetsUnderWayKeepTheirMemoryUntilTheyEnd) {
  InitiatorByHand peer(target_settings(), {}, {.outbound_reads = 2, .inbound_reads = 2});
  auto memory = noise(1000);
  peer.command(true, memory, {.write = peer.open(memory)});
  for (std::uint32_t i = 0; i < 5; ++i) peer.get(i * 100, 100, kTag, i);
  peer.end->deallocate_task_resources(kTag);
  EXPECT_EQ(peer.sinks.out, 5);
  // Those that had not started are told of at the next turn.
  peer.end->expired(Time{});
  EXPECT_EQ(peer.client.completions.size(), 3U);
  peer.run();
  ASSERT_EQ(peer.client.completions.size(), 5U);
  for (const auto& done : peer.client.completions) EXPECT_EQ(done.status, errc::task_aborted);
  peer.client.completions.clear();
  EXPECT_EQ(peer.sinks.out, 0);
  EXPECT_FALSE(peer.client.end);
}

TEST(TargetAborts, AnswerToTheAbortWaitsForItsReads) {
  InitiatorByHand peer;
  auto memory = noise(1000);
  peer.command(true, memory, {.write = peer.open(memory)});
  peer.get(0, 1000);
  peer.end->deallocate_task_resources(kTag);
  peer.end->send_control(
      control_pdu(iscsi::encode(iscsi::TaskManagementResponse{.initiator_task_tag = 1})), nullptr);
  // The read is requested, not yet answered; the response may not be on its way.
  peer.end->flush();
  peer.link.step();
  EXPECT_TRUE(peer.messages().empty());
  peer.run();
  EXPECT_EQ(peer.messages().size(), 1U);
}

TEST(TargetAborts, PutsCompleteAsAborted) {
  InitiatorByHand peer;
  std::vector<std::byte> memory(100);
  peer.command(false, memory, {.read = peer.open(memory)});
  peer.put(noise(10), 0, true, true);
  peer.end->deallocate_task_resources(kTag);
  peer.run();
  ASSERT_EQ(peer.client.completions.size(), 1U);
  EXPECT_EQ(peer.client.completions[0].status, errc::task_aborted);
  EXPECT_TRUE(peer.client.acknowledged.empty());
}

TEST(TargetAborts, TheTagMayBeUsedAgainAtOnce) {
  InitiatorByHand peer;
  auto first = noise(1000, 1), second = noise(1000, 2);
  peer.command(true, first, {.write = peer.open(first)});
  peer.get(0, 1000, kTag, 1);
  peer.end->deallocate_task_resources(kTag);
  peer.command(true, second, {.write = peer.open(second)});
  peer.get(0, 1000, kTag, 2);
  peer.run();
  ASSERT_EQ(peer.client.completions.size(), 2U);
  EXPECT_EQ(peer.client.completions[0].status, errc::task_aborted);
  EXPECT_FALSE(peer.client.completions[1].status);
  EXPECT_EQ(to_hex(peer.client.completions[1].buffer.bytes()), to_hex(second));
}

}  // namespace
}  // namespace openiser::test
