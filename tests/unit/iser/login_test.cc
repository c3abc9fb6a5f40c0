// Login over the queue pair (rdma-first connections), as Linux and libiscsi do it.
#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/iser.h"

namespace openiser::test {
namespace {

using Kind = rdmap::Completion::Kind;

// Writes down what the login hears; can go on to full feature phase from inside a call, as owners
// do.
class LoginRecorder : public IserConnection::LoginClient {
 public:
  void queue_pair_established(const rdmap::Established& how) override {
    EXPECT_FALSE(failed);
    private_data.assign(how.private_data.begin(), how.private_data.end());
    established = true;
    if (on_established) on_established();
  }
  void login_pdu(ControlPdu pdu) override {
    EXPECT_TRUE(established && !failed);
    if (on_pdu) on_pdu(pdu);
    pdus.push_back(std::move(pdu));
  }
  void login_connection_failed(ErrorCode why) override {
    EXPECT_FALSE(failed) << "failed twice";
    failed = why;
  }

  bool established = false;
  std::vector<std::byte> private_data;
  std::vector<ControlPdu> pdus;
  std::optional<ErrorCode> failed;
  std::function<void()> on_established;
  std::function<void(ControlPdu&)> on_pdu;
};

ControlPdu login_request(Bytes text, std::uint8_t cmd_sn = 1) {
  return control_pdu(iscsi::encode(iscsi::LoginRequest{.transit = true,
                                                       .current_stage = 1,
                                                       .next_stage = 3,
                                                       .initiator_task_tag = 1,
                                                       .cmd_sn = cmd_sn}),
                     text);
}
ControlPdu login_response(Bytes text) {
  return control_pdu(
      iscsi::encode(iscsi::LoginResponse{.transit = true, .current_stage = 1, .next_stage = 3}),
      text);
}

class TargetLoginByHand {
 public:
  explicit TargetLoginByHand(Bytes private_data = {}, iser::Settings settings = {})
      : peer(settings, {}, &login, {}, private_data) {}

  LoginRecorder login;
  HandMadePeer peer;
};

TEST(LoginOverQueuePair, OwnerHearsOfTheQueuePairAndItsPrivateData) {
  TargetLoginByHand t(hex("80000000"));
  EXPECT_TRUE(t.login.established);
  EXPECT_EQ(to_hex(t.login.private_data), "80000000");
  EXPECT_TRUE(t.peer.end->negotiated());
}

TEST(LoginOverQueuePair, PdusTravelBehindAHeader) {
  TargetLoginByHand t;
  const auto text = noise(500);
  t.peer.send(login_request(text));
  ASSERT_EQ(t.login.pdus.size(), 1U);
  EXPECT_EQ(t.login.pdus[0].bhs.opcode(), Opcode::login_request);
  EXPECT_EQ(to_hex(t.login.pdus[0].data.bytes()), to_hex(text));
  t.peer.end->send(login_response(noise(77)));
  t.peer.run();
  ASSERT_EQ(t.peer.messages().size(), 1U);
  const Bytes answer = t.peer.messages()[0]->buffer.bytes();
  EXPECT_EQ(answer.size(), 28U + 48 + 77);
  EXPECT_EQ(to_hex(answer.first(28)), "10" + std::string(54, '0'));
}

TEST(LoginOverQueuePair, OneReceiveForEachAnswer) {
  TargetLoginByHand t;
  for (int i = 0; i < 20; ++i) {
    t.peer.send(login_request(noise(8192)));
    ASSERT_EQ(t.login.pdus.size(), static_cast<std::size_t>(i) + 1);
    t.peer.end->send(login_response({}));
    t.peer.run();
  }
  EXPECT_FALSE(t.login.failed);
}

TEST(LoginOverQueuePair, RequestsThatDoNotWaitFindNoReceive) {
  TargetLoginByHand t;
  t.peer.send(login_request({}));
  t.peer.send(login_request({}));
  EXPECT_TRUE(t.login.failed.value_or(ErrorCode()));
  EXPECT_EQ(t.login.pdus.size(), 1U);
}

// A Send shorter than its headers, before authentication.
TEST(LoginOverQueuePair, MessagesShorterThanTheirHeadersAreRefused) {
  for (std::size_t n = 0; n < 28 + 48 + 40; ++n) {
    TargetLoginByHand t;
    auto message = t.peer.message(login_request(noise(40)));
    message.resize(n);
    t.peer.send(message);
    EXPECT_EQ(t.login.failed.value_or(ErrorCode()), errc::iser_format) << n;
    EXPECT_TRUE(t.login.pdus.empty());
  }
}

TEST(LoginOverQueuePair, MessagesWithMoreThanTheirLengthAreRefused) {
  for (std::size_t extra = 1; extra < 10; ++extra) {
    TargetLoginByHand t;
    auto message = t.peer.message(login_request(noise(40)));
    message.resize(message.size() + extra);
    t.peer.send(message);
    EXPECT_EQ(t.login.failed.value_or(ErrorCode()), errc::iser_format);
  }
}

TEST(LoginOverQueuePair, GarbageIsRefused) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    TargetLoginByHand t;
    auto message = noise(28 + 48 + seed * 7, seed);
    message[0] = static_cast<std::byte>(0x10 | (seed & 0x0f));  // a control-type PDU, it says
    t.peer.send(message);
    EXPECT_TRUE(t.login.failed.value_or(ErrorCode()));
    EXPECT_TRUE(t.login.pdus.empty());
  }
}

TEST(LoginOverQueuePair, HelloIsRefused) {
  TargetLoginByHand t;
  t.peer.announce(iser::Hello{10, 10, 4});
  EXPECT_EQ(t.login.failed.value_or(ErrorCode()), errc::iser_hello);
}

TEST(LoginOverQueuePair, DataBeyondTheLimitOfTheLoginPhaseIsRefused) {
  TargetLoginByHand t;
  t.peer.send(login_request(noise(8193)));
  EXPECT_EQ(t.login.failed.value_or(ErrorCode()), errc::data_too_long);
}

TEST(LoginOverQueuePair, AdditionalHeaderSegmentsAreRefused) {
  TargetLoginByHand t;
  ControlPdu pdu = login_request({});
  pdu.ahs = Buffer::copy_of(noise(8));
  t.peer.send(pdu);
  EXPECT_EQ(t.login.failed.value_or(ErrorCode()), errc::ahs_too_long);
}

TEST(LoginOverQueuePair, LittleMemoryBeforeAuthentication) {
  TargetLoginByHand t;
  EXPECT_LE(t.peer.pool.outstanding(), 16384U);
}

TEST(LoginOverQueuePair, OwnerHearsWhenThePeerGoes) {
  TargetLoginByHand t;
  t.peer.peer->disconnect();
  t.peer.run();
  EXPECT_EQ(t.login.failed.value_or(ErrorCode()), errc::connection_closed);
}

TEST(LoginOverQueuePair, LastAnswerArrivesBeforeTheEnd) {
  TargetLoginByHand t;
  t.peer.send(login_request({}));
  t.peer.end->send(login_response(noise(10)));
  t.peer.end->connection_terminate({});
  t.peer.run();
  EXPECT_EQ(t.peer.messages().size(), 1U);
  EXPECT_EQ(t.login.failed.value_or(ErrorCode()), errc::terminated);
  EXPECT_EQ(t.peer.heard.why().value_or(errc::protocol_error), ErrorCode());
}

// --- into full feature phase ---

void enable(TargetLoginByHand& t) {
  ASSERT_TRUE(t.peer.end->allocate_connection_resources({}));
  t.peer.end->enable_datamover(t.peer.client, login_response(noise(10)));
  t.peer.run();
}

TEST(LoginOverQueuePair, FinalResponseComesFirst) {
  TargetLoginByHand t;
  t.login.on_pdu = [&](ControlPdu&) { enable(t); };
  t.peer.send(login_request({}));
  t.peer.end->send_control(control_pdu(iscsi::encode(iscsi::TextResponse{})), nullptr);
  t.peer.run();
  ASSERT_EQ(t.peer.messages().size(), 2U);
  Bhs bhs;
  std::copy_n(t.peer.messages()[0]->buffer.data() + 28, 48, bhs.raw.begin());
  EXPECT_EQ(bhs.opcode(), Opcode::login_response);
  // All receives are of full size now: the first PDU may be as long as any.
  t.peer.send(control_pdu(iscsi::encode(iscsi::NopOut{}), noise(8192)));
  EXPECT_EQ(t.peer.client.count(Opcode::nop_out), 1U);
}

TEST(LoginOverQueuePair, LoginPdusAfterwardsAreTheSessionsToReject) {
  TargetLoginByHand t;
  t.login.on_pdu = [&](ControlPdu&) { enable(t); };
  t.peer.send(login_request({}));
  t.login.on_pdu = nullptr;
  t.peer.send(login_request({}));
  EXPECT_EQ(t.login.pdus.size(), 1U);
  EXPECT_EQ(t.peer.client.count(Opcode::login_request), 1U);
}

TEST(LoginOverQueuePair, EndAfterwardsIsTheSessionsToHear) {
  TargetLoginByHand t;
  t.login.on_pdu = [&](ControlPdu&) { enable(t); };
  t.peer.send(login_request({}));
  t.peer.peer->disconnect();
  t.peer.run();
  EXPECT_FALSE(t.login.failed);
  EXPECT_EQ(t.peer.client.end.value_or(ErrorCode()), errc::connection_closed);
}

TEST(LoginOverQueuePair, EndBeforeTheSessionIsThereIsToldAtTheNextTurn) {
  BufferPool pool;
  rdmap::LoopbackPair link;
  DatamoverRecorder client;
  const auto end = IserConnection::create(link.take_first(), {}, pool, nullptr);
  ASSERT_TRUE(end->allocate_connection_resources({}));
  link.take_second().reset();
  link.run();
  end->enable_datamover(client);
  EXPECT_FALSE(client.end);
  ASSERT_TRUE(end->deadline());
  end->expired(*end->deadline());
  EXPECT_EQ(client.end.value_or(ErrorCode()).message().empty(), false);
  EXPECT_TRUE(client.end);
  EXPECT_FALSE(end->deadline());
}

// The CM header of Linux's initiator decides whether its STags may be invalidated from here.
TEST(LoginOverQueuePair, RemoteInvalidationOnlyWhereThePeerTakesIt) {
  for (const auto& [private_data, invalidates] :
       {std::pair{"80000000", true}, {"c0000000", false}, {"", false}}) {
    TargetLoginByHand t(hex(private_data));
    t.login.on_pdu = [&](ControlPdu&) { enable(t); };
    t.peer.send(login_request({}));
    std::vector<std::byte> memory(100);
    const auto region = t.peer.peer->register_memory(memory, rdmap::Access::remote_write);
    t.peer.send(
        control_pdu(iscsi::encode(iscsi::ScsiCommand{
            .read = true, .initiator_task_tag = kTag, .expected_data_transfer_length = 100})),
        {.read = rdmap::RemoteMemory{region->stag(), region->base_offset()}});
    t.peer.end->send_control(
        control_pdu(iscsi::encode(iscsi::ScsiResponse{.initiator_task_tag = kTag})), nullptr);
    t.peer.run();
    ASSERT_EQ(t.peer.messages().size(), 2U);
    EXPECT_EQ(t.peer.messages()[1]->invalidated.has_value(), invalidates) << private_data;
  }
}

// --- the initiator's side ---

struct InitiatorLoginByHand {
  LoginRecorder login;
  HandMadePeer peer{{.role = Role::initiator}, {}, &login};
};

TEST(InitiatorLoginOverQueuePair, ManyRoundsThenFullFeaturePhase) {
  InitiatorLoginByHand i;
  for (std::uint8_t round = 0; round < 20; ++round) {
    i.peer.end->send(login_request(noise(100), round));
    i.peer.run();
    i.peer.send(login_response(noise(8192)));
    ASSERT_EQ(i.login.pdus.size(), round + 1U);
  }
  ASSERT_TRUE(i.peer.end->allocate_connection_resources({}));
  i.peer.end->enable_datamover(i.peer.client);
  i.peer.send(control_pdu(iscsi::encode(iscsi::AsyncMessage{}), noise(8192)));
  EXPECT_EQ(i.peer.client.count(Opcode::async_message), 1U);
}

// RFC 7145 section 5.1.3: a target may send unexpected PDUs right behind its final response.
TEST(InitiatorLoginOverQueuePair, HasReceivesForWhatFollowsTheFinalResponse) {
  InitiatorLoginByHand i;
  i.peer.end->send(login_request({}));
  i.login.on_pdu = [&](ControlPdu&) {
    ASSERT_TRUE(i.peer.end->allocate_connection_resources({}));
    i.peer.end->enable_datamover(i.peer.client);
  };
  const auto post = [&](const ControlPdu& pdu) {
    i.peer.peer->post_send({.id = 0,
                            .head = Buffer::copy_of(i.peer.message(pdu)),
                            .body = {},
                            .invalidate = {},
                            .solicited_event = false});
  };
  post(login_response(noise(100)));
  for (int n = 0; n < 3; ++n) post(control_pdu(iscsi::encode(iscsi::AsyncMessage{}), noise(8192)));
  i.peer.run();
  EXPECT_EQ(i.peer.client.count(Opcode::async_message), 3U);
  EXPECT_FALSE(i.peer.client.end);
}

TEST(InitiatorLoginOverQueuePair, EarlyReceivesAreAsLongAsWhatIsOffered) {
  LoginRecorder login;
  HandMadePeer peer({.role = Role::initiator, .recv_data_segment_length = 100000}, {}, &login);
  peer.end->send(login_request({}));
  peer.run();
  peer.send(login_response({}));
  iscsi::Parameters parameters;
  parameters.max_recv_data_segment_length = 100000;
  ASSERT_TRUE(peer.end->allocate_connection_resources(parameters));
  peer.end->enable_datamover(peer.client);
  for (int n = 0; n < 5; ++n)
    peer.send(control_pdu(iscsi::encode(iscsi::TextResponse{}), noise(100000)));
  EXPECT_EQ(peer.client.count(Opcode::text_response), 5U);
}

}  // namespace
}  // namespace openiser::test
