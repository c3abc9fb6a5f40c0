// A target's connection against an initiator made by hand: where its data goes, what its responses
// invalidate, what it refuses.
#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/iser.h"

namespace openiser::test {
namespace {

using iser::ControlHeader;
using iser::Hello;
using Required = iscsi::Parameters::HelloRequired;
using Kind = rdmap::Completion::Kind;

iser::Settings target_settings(Dialect dialect = Dialect::rfc7145) {
  return {.role = Role::target, .dialect = dialect};
}

class InitiatorByHand : public HandMadePeer {
 public:
  explicit InitiatorByHand(iser::Settings settings = target_settings(),
                           iscsi::Parameters parameters = {}, rdmap::LoopbackSettings link = {})
      : HandMadePeer(settings, parameters, nullptr, link) {}

  rdmap::RemoteMemory open(std::vector<std::byte>& memory) {
    regions.push_back(*peer->register_memory(memory, rdmap::Access::remote_read_write));
    return {regions.back().stag(), regions.back().base_offset()};
  }
  // A read or write of all of `memory`.
  void command(bool write, const std::vector<std::byte>& memory, ControlHeader header,
               std::uint32_t tag = kTag, Bytes immediate = {}, bool final = true) {
    const auto length = static_cast<std::uint32_t>(memory.size());
    send(control_pdu(iscsi::encode(iscsi::ScsiCommand{.final = final,
                                                      .read = !write,
                                                      .write = write,
                                                      .initiator_task_tag = tag,
                                                      .expected_data_transfer_length = length,
                                                      .cmd_sn = cmd_sn++}),
                     immediate),
         header);
  }
  void respond(std::uint32_t tag = kTag) {
    end->send_control(control_pdu(iscsi::encode(iscsi::ScsiResponse{.initiator_task_tag = tag})),
                      nullptr);
    run();
  }
  void put(Bytes data, std::uint32_t offset, bool notify = true, bool acknowledge = false,
           std::uint32_t data_sn = 0) {
    end->put_data({.acknowledge = acknowledge,
                   .initiator_task_tag = kTag,
                   .data_sn = data_sn,
                   .buffer_offset = offset},
                  Buffer::copy_of(data), notify);
  }
  void get(std::uint32_t offset, std::uint32_t length, std::uint32_t tag = kTag,
           std::uint32_t r2t_sn = 0) {
    end->get_data({.initiator_task_tag = tag,
                   .r2t_sn = r2t_sn,
                   .buffer_offset = offset,
                   .desired_data_transfer_length = length},
                  sinks.lease(length));
  }
  ErrorCode why() const { return client.end.value_or(ErrorCode()); }

  CountingOwner sinks;
  std::vector<rdmap::MemoryRegion> regions;
  std::uint32_t cmd_sn = 1;
};

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
