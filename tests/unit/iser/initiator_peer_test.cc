// An initiator's connection against a target made by hand: what it sends, what it checks.
#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/iser.h"

namespace openiser::test {
namespace {

using iser::ControlHeader;
using iser::Hello;
using iser::HelloReply;
using Required = iscsi::Parameters::HelloRequired;
using Kind = rdmap::Completion::Kind;

iser::Settings initiator_settings(Dialect dialect = Dialect::rfc7145) {
  return {.role = Role::initiator, .dialect = dialect};
}

ControlPdu response(std::uint32_t tag = kTag) {
  return control_pdu(iscsi::encode(iscsi::ScsiResponse{.initiator_task_tag = tag}));
}

class TargetByHand : public HandMadePeer {
 public:
  explicit TargetByHand(iser::Settings settings = initiator_settings(),
                        iscsi::Parameters parameters = {}, rdmap::LoopbackSettings link = {})
      : HandMadePeer(settings, parameters, nullptr, link) {}

  void command(Command& command) {
    command.send(*end);
    run();
  }
  ControlHeader header(std::size_t n = 0) const {
    return *iser::decode_control_header(messages().at(n)->buffer.bytes(), settings.dialect);
  }
  // Whether the initiator's memory can still be written by this STag.
  bool writable(rdmap::Stag stag, std::uint64_t offset) {
    peer->post_write({.id = 0, .data = Buffer::copy_of(hex("ff")), .sink = {stag, offset}});
    run();
    return !client.end;
  }
};

Command read_command(std::size_t size = 4096) {
  Command command;
  command.in.resize(size);
  return command;
}
Command write_command(std::size_t size, std::uint32_t immediate) {
  Command command;
  command.out = noise(size);
  command.immediate = command.unsolicited = immediate;
  return command;
}

TEST(InitiatorSends, CommandBehindItsHeader) {
  TargetByHand peer;
  Command command = write_command(100, 100);
  peer.command(command);
  ASSERT_EQ(peer.messages().size(), 1U);
  const Bytes message = peer.messages()[0]->buffer.bytes();
  ASSERT_EQ(message.size(), 28U + 48U + 100U);
  EXPECT_EQ(to_hex(message.first(28)), "10" + std::string(54, '0'));
  Bhs bhs = command.pdu().bhs;
  bhs.set_data_segment_length(100);
  EXPECT_EQ(to_hex(message.subspan(28, 48)), to_hex(bhs.raw));
  EXPECT_EQ(to_hex(message.subspan(76)), to_hex(command.out));
}

TEST(InitiatorSends, ReadStagForReadsAlone) {
  TargetByHand peer;
  Command command = read_command();
  peer.command(command);
  EXPECT_TRUE(peer.header().read);
  EXPECT_FALSE(peer.header().write);
}

TEST(InitiatorSends, WriteStagOnlyWhenSomethingIsToBeAskedFor) {
  for (const auto& [size, immediate, advertised] :
       {std::tuple{100U, 100U, false}, {100U, 99U, true}, {100U, 0U, true}, {0U, 0U, false}}) {
    TargetByHand peer;
    Command command = write_command(size, immediate);
    peer.command(command);
    EXPECT_EQ(peer.header().write.has_value(), advertised) << size << ' ' << immediate;
    EXPECT_FALSE(peer.header().read);
  }
}

TEST(InitiatorSends, BothStagsForBidirectionalCommands) {
  TargetByHand peer;
  Command command = write_command(100, 0);
  command.in.resize(50);
  peer.command(command);
  ASSERT_TRUE(peer.header().write && peer.header().read);
  EXPECT_NE(peer.header().write->stag, peer.header().read->stag);
}

// RFC 7145 section 6.9: what the Write Base Offset is the place of.
TEST(InitiatorSends, BaseOffsetOfTheWholeBufferOrOfItsSolicitedPart) {
  for (const bool solicited : {false, true}) {
    iscsi::Parameters parameters;
    parameters.tagged_buffer_for_solicited_data_only = solicited;
    TargetByHand peer(initiator_settings(), parameters, {.zero_based_offsets = false});
    Command command = write_command(1000, 300);
    peer.command(command);
    const auto write = peer.header().write;
    ASSERT_TRUE(write);
    peer.peer->post_read({.id = 0, .sink = Buffer::allocate(16), .source = *write});
    peer.run();
    ASSERT_EQ(peer.heard.count(Kind::read), 1U);
    EXPECT_EQ(to_hex(peer.heard.at(Kind::read, 0).buffer.bytes()),
              to_hex(Bytes(command.out).subspan(solicited ? 300 : 0, 16)));
  }
}

TEST(InitiatorSends, SolicitedEventsAsTheDialectHasThem) {
  for (const Dialect dialect : {Dialect::rfc5046, Dialect::rfc7145}) {
    const bool old = dialect == Dialect::rfc5046;
    iscsi::Parameters parameters;
    parameters.initial_r2t = false;
    TargetByHand peer(initiator_settings(dialect), parameters);
    if (old) peer.announce(HelloReply{false, 1, 1, 4});
    Command command = write_command(20000, 0);
    command.unsolicited = 16384;
    peer.command(command);
    const auto messages = peer.messages();
    ASSERT_EQ(messages.size(), old ? 4U : 3U);
    const std::size_t first = messages.size() - 3;
    EXPECT_EQ(messages[first]->solicited_event, old);
    EXPECT_FALSE(messages[first + 1]->solicited_event);  // Data-Out, F=0
    EXPECT_EQ(messages[first + 2]->solicited_event, old);
  }
}

TEST(InitiatorSends, SolicitedEventsOnDemand) {
  iser::Settings settings = initiator_settings();
  settings.send_solicited_events = true;
  TargetByHand peer(settings);
  Command command = read_command();
  peer.command(command);
  EXPECT_TRUE(peer.messages().at(0)->solicited_event);
}

TEST(InitiatorSends, HelloFirstAndNothingElseBeforeTheReply) {
  iscsi::Parameters parameters;
  parameters.iser_hello_required = Required::yes;
  TargetByHand peer(initiator_settings(), parameters);
  Command command = read_command();
  peer.command(command);
  ASSERT_EQ(peer.messages().size(), 1U);
  EXPECT_EQ(to_hex(peer.messages()[0]->buffer.bytes()), "20aa0010" + std::string(48, '0'));
  peer.announce(HelloReply{false, 10, 10, 3});
  ASSERT_EQ(peer.messages().size(), 2U);
  EXPECT_TRUE(peer.header(1).read);
  EXPECT_EQ(peer.end->negotiated()->capabilities.inbound_reads, 3U);
  EXPECT_FALSE(peer.client.end);
}

TEST(InitiatorHello, CommandsHeldForItKeepTheirOrder) {
  iscsi::Parameters parameters;
  parameters.iser_hello_required = Required::yes;
  TargetByHand peer(initiator_settings(), parameters);
  std::vector<Command> commands(5);
  for (std::uint32_t i = 0; i < 5; ++i) {
    commands[i].tag = i;
    peer.command(commands[i]);
  }
  peer.announce(HelloReply{false, 10, 10, 3});
  for (std::uint32_t i = 0; i < 5; ++i) {
    Bhs bhs;
    std::copy_n(peer.messages().at(i + 1)->buffer.data() + 28, 48, bhs.raw.begin());
    EXPECT_EQ(bhs.initiator_task_tag(), i);
  }
}

TEST(InitiatorHello, WrongRepliesEndTheConnection) {
  const struct {
    const char* message;
    errc error;
  } cases[] = {{"31aa0000", errc::iser_hello},
               {"30aaffff", errc::iser_format},
               {"30110004", errc::iser_format},
               {"10000000", errc::iser_hello}};
  for (const auto& c : cases) {
    iscsi::Parameters parameters;
    parameters.iser_hello_required = Required::yes;
    TargetByHand peer(initiator_settings(), parameters);
    peer.send(hex(c.message + std::string(48, '0')));
    ASSERT_TRUE(peer.client.end) << c.message;
    EXPECT_EQ(*peer.client.end, c.error) << c.message;
    EXPECT_TRUE(peer.client.pdus.empty());
  }
}

TEST(InitiatorHello, ReplyThatNeverComesEndsTheConnection) {
  iscsi::Parameters parameters;
  parameters.iser_hello_required = Required::yes;
  iser::Settings settings = initiator_settings();
  settings.hello_timeout = std::chrono::seconds(3);
  TargetByHand peer(settings, parameters);
  ManualClock clock;
  ASSERT_TRUE(peer.end->deadline());
  peer.end->expired(clock.now());
  EXPECT_EQ(peer.end->deadline(), clock.now() + std::chrono::seconds(3));
  clock.advance(std::chrono::seconds(2));
  peer.end->expired(clock.now());
  peer.run();
  EXPECT_FALSE(peer.client.end);
  clock.advance(std::chrono::seconds(1));
  peer.end->expired(clock.now());
  peer.run();
  EXPECT_EQ(peer.client.end.value_or(ErrorCode()), errc::iser_hello);
  EXPECT_FALSE(peer.end->deadline());
}

TEST(InitiatorHello, UnaskedReplyEndsTheConnection) {
  TargetByHand peer;
  peer.announce(HelloReply{false, 10, 10, 3});
  EXPECT_EQ(peer.client.end.value_or(ErrorCode()), errc::iser_hello);
}

// --- invalidation (section 7.3.2) ---

TEST(InitiatorInvalidation, ResponseClosesTheMemoryWhetherOrNotTheTargetDid) {
  for (const bool remote : {false, true}) {
    TargetByHand peer;
    Command command = read_command();
    peer.command(command);
    const auto read = *peer.header().read;
    bool told = false;
    peer.client.on_control = [&](ControlPdu& pdu) {
      told = pdu.bhs.opcode() == Opcode::scsi_response;
    };
    peer.send(response(), {}, remote ? std::optional(read.stag) : std::nullopt);
    EXPECT_TRUE(told);
    EXPECT_FALSE(peer.writable(read.stag, read.offset)) << remote;
  }
}

TEST(InitiatorInvalidation, WriteStagOfABidirectionalCommandGoesToo) {
  TargetByHand peer;
  Command command = write_command(1000, 0);
  command.in.resize(1000);
  peer.command(command);
  const auto write = *peer.header().write;
  peer.send(response(), {}, peer.header().read->stag);
  ASSERT_EQ(peer.client.count(Opcode::scsi_response), 1U);
  peer.peer->post_read({.id = 0, .sink = Buffer::allocate(16), .source = write});
  peer.run();
  EXPECT_TRUE(peer.heard.at(Kind::read, 0).status);
  EXPECT_TRUE(peer.client.end);
}

TEST(InitiatorInvalidation, OnlyWriteStagMayBeNamed) {
  TargetByHand peer;
  Command command = write_command(1000, 0);
  peer.command(command);
  peer.send(response(), {}, peer.header().write->stag);
  EXPECT_EQ(peer.client.count(Opcode::scsi_response), 1U);
  EXPECT_FALSE(peer.client.end);
}

TEST(InitiatorInvalidation, StagOfAnotherTaskEndsTheConnection) {
  TargetByHand peer;
  Command first = read_command(), second = read_command();
  second.tag = kTag + 1;
  peer.command(first);
  peer.command(second);
  peer.send(response(kTag), {}, peer.header(1).read->stag);
  EXPECT_EQ(peer.client.end.value_or(ErrorCode()), errc::iser_invalidated_stag);
  EXPECT_EQ(peer.client.count(Opcode::scsi_response), 0U);
}

TEST(InitiatorInvalidation, StagWithAResponseToNoTaskEndsTheConnection) {
  TargetByHand peer;
  Command command = read_command();
  peer.command(command);
  peer.send(response(kTag + 1), {}, peer.header().read->stag);
  EXPECT_EQ(peer.client.end.value_or(ErrorCode()), errc::iser_invalidated_stag);
}

TEST(InitiatorInvalidation, StagWithAnotherKindOfPduEndsTheConnection) {
  for (const Bhs& bhs : {iscsi::encode(iscsi::TaskManagementResponse{.initiator_task_tag = kTag}),
                         iscsi::encode(iscsi::AsyncMessage{}), iscsi::encode(iscsi::NopIn{})}) {
    TargetByHand peer;
    Command command = read_command();
    peer.command(command);
    peer.send(control_pdu(bhs), {}, peer.header().read->stag);
    EXPECT_EQ(peer.client.end.value_or(ErrorCode()), errc::iser_invalidated_stag);
    EXPECT_TRUE(peer.client.pdus.empty());
  }
}

TEST(InitiatorInvalidation, StagThatNeverWasEndsTheConnection) {
  TargetByHand peer;
  Command command = read_command();
  peer.command(command);
  peer.send(response(), {}, rdmap::Stag{0xdeadbeef});
  EXPECT_TRUE(peer.client.end.value_or(ErrorCode()));
  EXPECT_TRUE(peer.client.pdus.empty());
}

// A command's read is over, then a task management answer comes in the same place.
TEST(InitiatorInvalidation, NothingIsLeftOverForTheNextPdu) {
  TargetByHand peer;
  Command command = read_command();
  peer.command(command);
  peer.send(response(), {}, peer.header().read->stag);
  peer.send(control_pdu(iscsi::encode(iscsi::TaskManagementResponse{.initiator_task_tag = kTag})));
  EXPECT_EQ(peer.client.opcodes(),
            (std::vector{Opcode::scsi_response, Opcode::task_management_response}));
  EXPECT_FALSE(peer.client.end);
}

// A target may answer before it has got all unsolicited data; the memory is still being sent then.
TEST(InitiatorTask, ResponseWaitsForTheTasksOwnSends) {
  iscsi::Parameters parameters;
  parameters.initial_r2t = false;
  TargetByHand peer(initiator_settings(), parameters);
  CountingOwner memory;
  Command command = write_command(40000, 0);
  command.unsolicited = 40000;
  const iscsi::TaskMemory described = command.memory();
  peer.end->send_control(command.pdu(), &described);
  for (std::uint32_t at = 0; at < 40000; at += 8000) {
    ControlPdu piece;
    piece.bhs = iscsi::encode(iscsi::DataOut{.initiator_task_tag = kTag, .buffer_offset = at});
    piece.data = memory.lease(8000);
    peer.end->send_control(std::move(piece), nullptr);
  }
  peer.end->flush();
  peer.client.on_control = [&](ControlPdu& pdu) {
    if (pdu.bhs.opcode() == Opcode::scsi_response) {
      EXPECT_EQ(memory.out, 0);
    }
  };
  for (const ControlPdu& answer : {response(), control_pdu(iscsi::encode(iscsi::AsyncMessage{}))})
    peer.peer->post_send({.id = 0,
                          .head = Buffer::copy_of(peer.message(answer)),
                          .body = {},
                          .invalidate = {},
                          .solicited_event = false});
  peer.peer->flush();
  peer.link.run(4);  // both answers, and the command with one Data-Out
  EXPECT_GT(memory.out, 0);
  EXPECT_TRUE(peer.client.pdus.empty());
  peer.run();
  EXPECT_EQ(peer.client.opcodes(), (std::vector{Opcode::scsi_response, Opcode::async_message}));
}

TEST(InitiatorTask, ResponseThatWaitsIsHeardWhenTheConnectionEnds) {
  iscsi::Parameters parameters;
  parameters.initial_r2t = false;
  TargetByHand peer(initiator_settings(), parameters);
  Command command = write_command(40000, 0);
  command.unsolicited = 40000;
  command.send(*peer.end);
  peer.end->flush();
  peer.peer->post_send({.id = 0,
                        .head = Buffer::copy_of(peer.message(response())),
                        .body = {},
                        .invalidate = {},
                        .solicited_event = false});
  peer.peer->flush();
  peer.link.run(2);
  EXPECT_TRUE(peer.client.pdus.empty());
  peer.link.fail_after(0, make_error_code(errc::protocol_error));
  peer.run();
  EXPECT_EQ(peer.client.opcodes(), (std::vector{Opcode::scsi_response}));
  EXPECT_TRUE(peer.client.end);
}

TEST(InitiatorTask, SendsOfAnEndedTaskDoNotCountForTheNextWithItsTag) {
  TargetByHand peer;
  Command first = write_command(8000, 8000), second = write_command(8000, 8000);
  first.send(*peer.end);
  peer.end->deallocate_task_resources(kTag);
  second.send(*peer.end);
  peer.end->flush();
  peer.peer->post_send({.id = 0,
                        .head = Buffer::copy_of(peer.message(response())),
                        .body = {},
                        .invalidate = {},
                        .solicited_event = false});
  peer.peer->flush();
  // The first Send and the answer are through; the second Send is not.
  while (peer.messages().empty()) peer.link.step();
  peer.link.step();
  EXPECT_TRUE(peer.client.pdus.empty());
  peer.run();
  EXPECT_EQ(peer.client.pdus.size(), 1U);
}

TEST(InitiatorTask, DeallocationClosesTheMemory) {
  TargetByHand peer;
  Command command = read_command();
  peer.command(command);
  const auto read = *peer.header().read;
  EXPECT_TRUE(peer.writable(read.stag, read.offset));
  peer.end->deallocate_task_resources(kTag);
  EXPECT_FALSE(peer.writable(read.stag, read.offset));
}

TEST(InitiatorTask, DeallocationTakesBackWhatIsHeld) {
  iscsi::Parameters parameters;
  parameters.iser_hello_required = Required::yes;
  TargetByHand peer(initiator_settings(), parameters);
  Command command = write_command(20000, 8192);
  command.unsolicited = 20000;
  peer.command(command);
  peer.end->deallocate_task_resources(kTag);
  peer.announce(HelloReply{false, 10, 10, 3});
  EXPECT_EQ(peer.messages().size(), 1U);  // the Hello
}

// RFC 7145 section 7.3.3.
TEST(InitiatorTask, ReassignmentAdvertisesFreshStags) {
  TargetByHand peer;
  Command command = write_command(1000, 1000);
  command.in.resize(1000);
  peer.command(command);
  const auto old = *peer.header(0).read;
  ASSERT_FALSE(peer.header(0).write);
  const iscsi::TaskMemory memory{
      .out = command.out, .in = command.in, .immediate_size = 400, .unsolicited_size = 1000};
  peer.end->send_control(
      control_pdu(iscsi::encode(iscsi::TaskManagementRequest{
          .function = static_cast<std::uint8_t>(iscsi::TaskManagementFunction::task_reassign),
          .initiator_task_tag = 99,
          .referenced_task_tag = kTag})),
      &memory);
  peer.run();
  const auto fresh = peer.header(1);
  ASSERT_TRUE(fresh.read && fresh.write);
  EXPECT_NE(fresh.read->stag, old.stag);
  EXPECT_TRUE(peer.writable(fresh.read->stag, fresh.read->offset));
  EXPECT_FALSE(peer.writable(old.stag, old.offset));
}

TEST(InitiatorTask, SameTagAgainOpensNewMemory) {
  TargetByHand peer;
  Command first = read_command(), second = read_command();
  peer.command(first);
  peer.command(second);
  const auto old = *peer.header(0).read;
  const auto fresh = *peer.header(1).read;
  EXPECT_TRUE(peer.writable(fresh.stag, fresh.offset));
  EXPECT_FALSE(peer.writable(old.stag, old.offset));
}

TEST(InitiatorResources, Rfc5046NeedsOffsetsThatStartAtZero) {
  BufferPool pool;
  rdmap::LoopbackPair link({.zero_based_offsets = false}, {});
  const auto connection = IserConnection::create(
      link.take_first(), initiator_settings(Dialect::rfc5046), pool, nullptr);
  EXPECT_FALSE(connection->allocate_connection_resources({}));
}

TEST(InitiatorResources, AllocationFailsWithoutMemory) {
  BufferPool pool(64 << 10);
  rdmap::LoopbackPair link;
  const auto connection =
      IserConnection::create(link.take_first(), initiator_settings(), pool, nullptr);
  EXPECT_EQ(connection->allocate_connection_resources({}).error(), errc::login_out_of_resources);
}

TEST(InitiatorResources, AllocatingTwiceIsAllocatingOnce) {
  BufferPool pool;
  rdmap::LoopbackPair link;
  const auto connection =
      IserConnection::create(link.take_first(), initiator_settings(), pool, nullptr);
  ASSERT_TRUE(connection->allocate_connection_resources({}));
  const std::size_t taken = pool.outstanding();
  EXPECT_TRUE(connection->allocate_connection_resources({}));
  EXPECT_EQ(pool.outstanding(), taken);
}

// RFC 7145 section 8.1.1.1: a receive for the answer to every request, however many there are.
TEST(InitiatorCredit, EveryRequestHasAReceiveForItsAnswer) {
  iser::Settings settings = initiator_settings();
  settings.command_window = 4;
  TargetByHand peer(settings);
  constexpr std::uint32_t kMany = 250;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    Command command;
    command.tag = i;
    command.send(*peer.end);
  }
  peer.run();
  ASSERT_FALSE(peer.client.end);
  // All answers at once, before the initiator sees any.
  for (std::uint32_t i = 0; i < kMany; ++i)
    peer.peer->post_send({.id = 0,
                          .head = Buffer::copy_of(peer.message(response(i))),
                          .body = {},
                          .invalidate = {},
                          .solicited_event = false});
  peer.run();
  EXPECT_FALSE(peer.client.end);
  EXPECT_EQ(peer.client.count(Opcode::scsi_response), kMany);
}

// Requests that have been answered need no receive any more: the number posted does not creep up.
TEST(InitiatorCredit, AnsweredRequestsAreForgotten) {
  iser::Settings settings = initiator_settings();
  settings.command_window = 1;
  TargetByHand peer(settings);
  const std::size_t before = peer.pool.outstanding();
  const auto nop_out = iscsi::encode(iscsi::NopOut{.immediate = false, .initiator_task_tag = 1});
  const std::pair<Bhs, ControlPdu> exchanges[] = {
      {iscsi::encode(iscsi::TextRequest{}), control_pdu(iscsi::encode(iscsi::TextResponse{}))},
      {iscsi::encode(iscsi::TaskManagementRequest{}),
       control_pdu(iscsi::encode(iscsi::TaskManagementResponse{}))},
      {nop_out, control_pdu(iscsi::encode(iscsi::NopIn{.initiator_task_tag = 1}))},
      {nop_out, control_pdu(iscsi::encode(iscsi::Reject{}), nop_out.raw)},
      {iscsi::encode(iscsi::LogoutRequest{}), control_pdu(iscsi::encode(iscsi::LogoutResponse{}))},
  };
  for (const auto& [request, answer] : exchanges) {
    for (int i = 0; i < 200; ++i) {
      peer.peer->post_receive(Buffer::allocate(1024), 0);
      peer.end->send_control(control_pdu(request), nullptr);
      peer.run();
      peer.send(answer);
      peer.client.pdus.clear();
    }
    EXPECT_EQ(peer.pool.outstanding(), before) << to_hex(request.raw);
  }
}

// --- what a target may not send ---

TEST(InitiatorRefuses, DataTypePdus) {
  for (const Bhs& bhs : {iscsi::encode(iscsi::DataIn{}), iscsi::encode(iscsi::R2t{})}) {
    TargetByHand peer;
    peer.send(control_pdu(bhs));
    EXPECT_EQ(peer.client.end.value_or(ErrorCode()), errc::protocol_error);
    EXPECT_TRUE(peer.client.pdus.empty());
  }
}

TEST(InitiatorRefuses, UnexpectedPdusBeyondWhatItDeclared) {
  iscsi::Parameters parameters;
  parameters.own_max_outstanding_unexpected_pdus = 2;
  TargetByHand peer(initiator_settings(), parameters);
  for (std::uint32_t i = 0; i < 2; ++i)
    peer.send(control_pdu(iscsi::encode(iscsi::AsyncMessage{.stat_sn = 10 + i})));
  EXPECT_FALSE(peer.client.end);
  peer.send(control_pdu(iscsi::encode(iscsi::AsyncMessage{.stat_sn = 12})));
  EXPECT_EQ(peer.client.end.value_or(ErrorCode()), errc::too_many_unexpected_pdus);
  EXPECT_EQ(peer.client.count(Opcode::async_message), 2U);
}

TEST(InitiatorRefuses, NoUnexpectedPduThatTheLimitAllows) {
  iscsi::Parameters parameters;
  parameters.own_max_outstanding_unexpected_pdus = 2;
  TargetByHand peer(initiator_settings(), parameters);
  for (std::uint32_t i = 0; i < 20; ++i) {
    peer.send(control_pdu(iscsi::encode(iscsi::AsyncMessage{.stat_sn = i})));
    peer.end->send_control(control_pdu(iscsi::encode(iscsi::NopOut{.exp_stat_sn = i + 1})),
                           nullptr);
    peer.run();
  }
  EXPECT_FALSE(peer.client.end);
  EXPECT_EQ(peer.client.count(Opcode::async_message), 20U);
}

}  // namespace
}  // namespace openiser::test
