// In full feature phase: PDUs that may not come, on each wire. What can be refused is rejected and
// the session goes on; what cannot ends the connection (RFC 7143 section 7, RFC 7145 section 7.3).
#include <gtest/gtest.h>

#include "tests/support/hostile_fixture.h"
#include "tests/support/raw_session.h"

namespace openiser::test {
namespace {

using iscsi::Opcode;
using iscsi::Reject;
using iscsi::RejectReason;

constexpr rdmap::RemoteMemory kMemory{rdmap::Stag{0x77}, 0x10000};

class FullFeatureAbuseTest : public HostileCaseTest<Carrier> {
 protected:
  std::unique_ptr<RawSession> session() {
    if (!daemon_) serve();
    return std::make_unique<RawSession>(port(), GetParam());
  }
  // RFC 7143 section 11.17: the reason, and the header that is refused.
  static void expect_reject(RawSession& session, const ControlPdu& pdu, RejectReason reason) {
    const auto opcode = static_cast<int>(pdu.bhs.opcode());
    ASSERT_TRUE(session.send(pdu));
    const auto answer = session.receive();
    ASSERT_TRUE(answer) << opcode;
    const auto reject = iscsi::decode<Reject>(answer->bhs);
    ASSERT_TRUE(reject) << opcode;
    EXPECT_EQ(static_cast<int>(reject->reason), static_cast<int>(reason)) << opcode;
    EXPECT_EQ(to_hex(answer->data.bytes()), to_hex(pdu.bhs.raw)) << opcode;
    EXPECT_TRUE(session.answers()) << opcode;
  }
  template <class Pdu>
  static void expect_reject(RawSession& session, const Pdu& pdu, RejectReason reason) {
    expect_reject(session, ControlPdu{encode(pdu), {}, {}}, reason);
  }
};

// RFC 7145 section 7.3.11 makes every SNACK a protocol error; without iSER it is one of
// ErrorRecoveryLevel 0.
TEST_P(FullFeatureAbuseTest, SnacksAreRejected) {
  const auto peer = session();
  for (std::uint8_t type = 0; type < 4; ++type) {
    iscsi::SnackRequest snack;
    snack.type = type;
    snack.initiator_task_tag = 5;
    expect_reject(*peer, snack,
                  peer->is_iser() ? RejectReason::protocol_error : RejectReason::snack_reject);
  }
}

TEST_P(FullFeatureAbuseTest, ASecondLoginIsRejected) {
  const auto peer = session();
  ControlPdu login = Requests().at(1, 3, names());
  expect_reject(*peer, login, RejectReason::protocol_error);
}

TEST_P(FullFeatureAbuseTest, UnknownOpcodesAreRejected) {
  const auto peer = session();
  for (int opcode = 0; opcode < 0x20; ++opcode) {
    if (opcode <= 0x06 || opcode == 0x10) continue;
    ControlPdu pdu;
    store_u8(&pdu.bhs.raw[0], static_cast<std::uint8_t>(opcode));
    store_u8(&pdu.bhs.raw[1], 0x80);
    store_be32(&pdu.bhs.raw[16], 7);
    expect_reject(*peer, pdu, RejectReason::command_not_supported);
  }
}

TEST_P(FullFeatureAbuseTest, OpcodesOfATargetAreRejectedOrEndIt) {
  for (const Opcode opcode :
       {Opcode::nop_in, Opcode::scsi_response, Opcode::task_management_response,
        Opcode::login_response, Opcode::text_response, Opcode::data_in, Opcode::logout_response,
        Opcode::r2t, Opcode::async_message, Opcode::reject}) {
    const auto peer = session();
    ControlPdu pdu;
    store_u8(&pdu.bhs.raw[0], static_cast<std::uint8_t>(opcode));
    store_u8(&pdu.bhs.raw[1], 0x80);
    ASSERT_TRUE(peer->send(pdu));
    const auto answer = peer->receive();
    if (answer) {
      EXPECT_TRUE(iscsi::decode<Reject>(answer->bhs)) << static_cast<int>(opcode);
      EXPECT_TRUE(peer->answers());
    } else {
      EXPECT_TRUE(peer->is_closed()) << static_cast<int>(opcode);
    }
    // Data-type PDUs do not exist as messages of iSER (RFC 7145 section 7.1).
    if (peer->is_iser() && (opcode == Opcode::data_in || opcode == Opcode::r2t)) {
      EXPECT_FALSE(answer) << static_cast<int>(opcode);
    }
  }
}

TEST_P(FullFeatureAbuseTest, ATagInUseIsRejected) {
  const auto peer = session();
  // A write that waits for its data.
  ASSERT_TRUE(
      peer->send(block_command(kWrite10, 9, peer->next_cmd_sn(), 0, 1), {.write = kMemory}));
  if (peer->is_iser()) {
    ASSERT_TRUE(peer->iser().read_request());
  } else {
    const auto r2t = peer->receive();
    ASSERT_TRUE(r2t && r2t->bhs.opcode() == Opcode::r2t);
  }
  iscsi::NopOut again = ping(9, 0);
  expect_reject(*peer, again, RejectReason::task_in_progress);
}

TEST_P(FullFeatureAbuseTest, DataForNoTaskIsRejected) {
  const auto peer = session();
  iscsi::DataOut data;
  data.final = true;
  data.initiator_task_tag = 0xdead;
  expect_reject(*peer, data, RejectReason::invalid_pdu_field);
}

// A Data-Out for an R2T that never was: under iSER there are none at all.
TEST_P(FullFeatureAbuseTest, DataForATransferThatIsNotEndsTheConnection) {
  const auto peer = session();
  iscsi::DataOut data;
  data.final = true;
  data.initiator_task_tag = 0xdead;
  data.target_transfer_tag = 0xbeef;
  ASSERT_TRUE(peer->send(data));
  EXPECT_TRUE(peer->is_closed());
}

// RFC 7143 section 4.2.2.1: silently ignored.
TEST_P(FullFeatureAbuseTest, CommandsOutsideTheWindowAreIgnored) {
  const auto peer = session();
  for (const std::uint32_t cmd_sn : {50u, 99u, 100u + 5000u, 0x80000064u}) {
    ASSERT_TRUE(peer->send(test_unit_ready(0x55, cmd_sn)));
    EXPECT_TRUE(peer->answers()) << cmd_sn;
  }
  const auto answer = peer->ask<iscsi::ScsiResponse>(test_unit_ready(0x56, peer->next_cmd_sn()));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->initiator_task_tag, 0x56u);
}

// Commands wait for the one that is missing, then go in order.
TEST_P(FullFeatureAbuseTest, CommandsOutOfOrderAreHeld) {
  const auto peer = session();
  const std::uint32_t first = peer->next_cmd_sn();
  for (std::uint32_t i = 20; i > 0; --i) ASSERT_TRUE(peer->send(test_unit_ready(i, first + i)));
  EXPECT_TRUE(peer->answers());
  ASSERT_TRUE(peer->send(test_unit_ready(0x100, first)));
  for (std::uint32_t i = 0; i <= 20; ++i) {
    const auto answer = peer->receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->bhs.initiator_task_tag(), i == 0 ? 0x100 : i);
  }
}

TEST_P(FullFeatureAbuseTest, NothingIsTakenBehindALogout) {
  const auto peer = session();
  ASSERT_TRUE(peer->send(logout(0x44, 0)));
  peer->send(block_command(kRead10, 0x45, peer->next_cmd_sn(), 0, 1), {.read = kMemory});
  const auto answer = peer->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->bhs.opcode(), Opcode::logout_response);
  EXPECT_FALSE(peer->receive());
  EXPECT_TRUE(peer->is_closed());
}

// RFC 7143 section 11.2.2. The command is as good as never sent.
TEST_P(FullFeatureAbuseTest, MalformedAdditionalHeadersAreRejected) {
  const auto peer = session();
  const std::uint32_t cmd_sn = peer->next_cmd_sn();
  for (const std::uint8_t fill : {0x00, 0x01, 0xff}) {
    ControlPdu pdu{encode(test_unit_ready(0x60, cmd_sn)), {}, {}};
    pdu.ahs = Buffer::copy_of(ByteVector(400, std::byte{fill}));
    pdu.bhs.set_total_ahs_length(400);
    expect_reject(*peer, pdu, RejectReason::invalid_pdu_field);
  }
  EXPECT_TRUE(peer->ask<iscsi::ScsiResponse>(test_unit_ready(0x60, cmd_sn)));
}

INSTANTIATE_TEST_SUITE_P(Carriers, FullFeatureAbuseTest, ::testing::ValuesIn(kCarriers),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// --- what an initiator says of its buffers (RFC 7145 sections 7.3.1 and 9.2) ---

class StagTest : public HostileCaseTest<Way> {
 protected:
  std::unique_ptr<RawIser> peer() {
    serve();
    return bring_up(port(), GetParam());
  }
  // RFC 5046 has no base offsets.
  static std::uint64_t base() { return GetParam() == Way::stream_first_5046 ? 0 : kMemory.offset; }

  // A READ of `blocks` with another expected length; the answer, once what is written was looked
  // at: it all lies within what was advertised.
  static std::optional<iscsi::ScsiResponse> read(RawIser& peer, std::uint16_t blocks,
                                                 std::uint32_t expected) {
    auto command = block_command(kRead10, 0x70, peer.next_cmd_sn(), 0, blocks);
    command.expected_data_transfer_length = expected;
    EXPECT_TRUE(peer.send(command, {.read = kMemory}));
    const auto message = peer.receive();
    if (!message) return {};
    for (const RawSegment& segment : peer.written) {
      EXPECT_EQ(segment.tagged.stag, kMemory.stag);
      EXPECT_GE(segment.tagged.offset, base());
      EXPECT_LE(segment.tagged.offset + segment.payload.size(), base() + expected);
    }
    // Remote invalidation, where there is any, is of what was advertised (section 7.3.2).
    if (message->invalidated) {
      EXPECT_EQ(*message->invalidated, kMemory.stag);
    }
    const auto response = iscsi::decode<iscsi::ScsiResponse>(message->pdu.bhs);
    EXPECT_TRUE(response);
    if (!response) return {};
    return *response;
  }
};

TEST_P(StagTest, ReadsStayWithinTheExpectedLength) {
  const auto initiator = peer();
  for (const std::uint32_t expected : {1u, 511u, 512u, 513u, 4096u, 65535u}) {
    initiator->written.clear();
    const auto response = read(*initiator, 128, expected);
    ASSERT_TRUE(response) << expected;
    EXPECT_TRUE(response->overflow) << expected;
    EXPECT_EQ(response->residual_count, 65536 - expected);
  }
}

TEST_P(StagTest, ReadsOfLessThanExpectedWriteNoMore) {
  const auto initiator = peer();
  const auto response = read(*initiator, 8, 1 << 20);
  ASSERT_TRUE(response);
  EXPECT_TRUE(response->underflow);
  EXPECT_EQ(response->residual_count, (1u << 20) - 4096);
  std::size_t written = 0;
  for (const RawSegment& segment : initiator->written) written += segment.payload.size();
  EXPECT_EQ(written, 4096u);
}

TEST_P(StagTest, AReadWithoutAnStagEndsTheConnection) {
  const auto initiator = peer();
  ASSERT_TRUE(initiator->send(block_command(kRead10, 0x70, initiator->next_cmd_sn(), 0, 1)));
  EXPECT_EQ(initiator->iwarp.fate(), "closed");
}

TEST_P(StagTest, ASolicitedWriteWithoutAnStagEndsTheConnection) {
  const auto initiator = peer();
  ASSERT_TRUE(initiator->send(block_command(kWrite10, 0x70, initiator->next_cmd_sn(), 0, 1)));
  EXPECT_EQ(initiator->iwarp.fate(), "closed");
}

// Writes whose expected length is not that of the blocks: what is read stays within it.
TEST_P(StagTest, WritesReadNoMoreThanTheExpectedLength) {
  for (const std::uint32_t expected : {512u, 1000u, 4096u}) {
    if (!daemon_) serve();
    const auto initiator = bring_up(port(), GetParam());
    auto command = block_command(kWrite10, 0x70, initiator->next_cmd_sn(), 0, 128);
    command.expected_data_transfer_length = expected;
    ASSERT_TRUE(initiator->send(command, {.write = kMemory}));
    const auto segment = initiator->iwarp.next();
    ASSERT_TRUE(segment) << expected;
    if (segment->opcode != rdmap::Opcode::read_request) continue;  // refused for its length
    const auto request = rdmap::parse_read_request(segment->payload);
    ASSERT_TRUE(request);
    EXPECT_GE(request->source_offset, base());
    EXPECT_LE(request->source_offset + request->size, base() + expected);
  }
}

// A base offset whose end is beyond all offsets (RFC 5046 has none): nothing wraps.
TEST_F(HostileTest, AWriteBufferThatWrapsIsNotReadFromItsStart) {
  serve();
  for (const Way way : {Way::rdma_first, Way::stream_first}) {
    const auto peer = bring_up(port(), way);
    const rdmap::RemoteMemory wrapping{rdmap::Stag{0x78}, UINT64_MAX - 255};
    ASSERT_TRUE(
        peer->send(block_command(kWrite10, 0x70, peer->next_cmd_sn(), 0, 8), {.write = wrapping}));
    const auto segment = peer->iwarp.next();
    if (!segment || segment->opcode != rdmap::Opcode::read_request) continue;  // refused
    const auto request = rdmap::parse_read_request(segment->payload);
    ASSERT_TRUE(request);
    EXPECT_GE(request->source_offset, wrapping.offset);
  }
}

// What was declared holds (RFC 7145 section 6.7).
TEST_F(HostileTest, MoreUnexpectedPdusThanDeclaredEndTheConnection) {
  serve();
  RawIser peer(port());
  ASSERT_EQ(peer.stream_first(names(kRfc7145Keys)), 0);
  const std::string declared = value_in(peer.socket.text_answer, "MaxOutstandingUnexpectedPDUs");
  ASSERT_NE(declared, "-");
  const int limit = std::stoi(declared);
  // Immediate PDUs, and nothing numbered that would retire them.
  for (int i = 0; i < limit; ++i) {
    ASSERT_TRUE(peer.send(ping(static_cast<std::uint32_t>(i), 100)));
    ASSERT_TRUE(peer.receive()) << i;
  }
  ASSERT_TRUE(peer.send(ping(0x7fff, 100)));
  EXPECT_EQ(peer.iwarp.fate(), "closed");
}

INSTANTIATE_TEST_SUITE_P(Ways, StagTest, ::testing::ValuesIn(kAllWays),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace openiser::test
