// Both machines against each other: every combination of preferences, and every step failing.
#include "tests/support/login.h"

namespace openiser::test {
namespace {

using iscsi::InitiatorLogin;
using iscsi::Parameters;
using iscsi::Preferences;
using iscsi::TargetLogin;

// What both sides must agree on, whatever it is.
Lines shared(const Parameters& p) {
  Lines lines = lines_of(p);
  for (const char* own : {"max_send_data_segment_length", "max_recv_data_segment_length",
                          "peer_max_outstanding_unexpected_pdus", "peer_max_ahs_length",
                          "own_max_outstanding_unexpected_pdus"})
    lines.erase(own);
  return lines;
}

void expect_agreement(const Parameters& initiator, const Parameters& target) {
  EXPECT_EQ(shared(initiator), shared(target));
  EXPECT_EQ(initiator.max_send_data_segment_length, target.max_recv_data_segment_length);
  EXPECT_EQ(initiator.max_recv_data_segment_length, target.max_send_data_segment_length);
  EXPECT_EQ(initiator.own_max_outstanding_unexpected_pdus,
            target.peer_max_outstanding_unexpected_pdus);
  EXPECT_LE(initiator.first_burst_length, initiator.max_burst_length);
}

// Bits of `choice` switch the preferences of one side.
Preferences preferences_of(unsigned choice) {
  Preferences p;
  p.rdma_extensions = (choice & 1) != 0;
  p.rfc7145 = (choice & 2) == 0;
  p.header_digest_crc32c = (choice & 4) != 0;
  p.data_digest_crc32c = (choice & 4) != 0;
  p.immediate_data = (choice & 8) == 0;
  p.initial_r2t = (choice & 16) != 0;
  if ((choice & 32) != 0) {
    p.max_burst_length = 1024;
    p.first_burst_length = 512;
    p.max_recv_data_segment_length = 512;
    p.target_recv_data_segment_length = 1024;
    p.initiator_recv_data_segment_length = 2048;
    p.max_outstanding_unexpected_pdus = 10;
    p.iser_hello_required = true;
  }
  return p;
}

class Matrix : public testing::TestWithParam<unsigned> {};

TEST_P(Matrix, BothSidesEndWithTheSameParameters) {
  for (unsigned other = 0; other < 64; ++other) {
    SCOPED_TRACE("target choice " + std::to_string(other));
    InitiatorLogin initiator(identity(), preferences_of(GetParam()), false, kStart);
    Authority authority;
    TargetLogin target(preferences_of(other), authority, false, kStart);
    const Ends ends = converse(initiator, target);
    ASSERT_EQ(ends.initiator.outcome, Outcome::succeeded) << ends.initiator.detail;
    ASSERT_EQ(ends.target.outcome, Outcome::succeeded) << ends.target.detail;
    expect_agreement(initiator.parameters(), target.parameters());
    EXPECT_EQ(target.parameters().rdma_extensions, (GetParam() & other & 1) != 0);
    EXPECT_LE(ends.pdus, 6);
  }
}
INSTANTIATE_TEST_SUITE_P(InitiatorChoices, Matrix, testing::Range(0U, 64U));

TEST(Joined, OverRdma) {
  for (unsigned choice = 1; choice < 64; choice += 2) {
    InitiatorLogin initiator(identity(), preferences_of(choice), true, kStart);
    Authority authority;
    TargetLogin target(preferences_of(choice ^ 32), authority, true, kStart);
    const Ends ends = converse(initiator, target);
    ASSERT_EQ(ends.initiator.outcome, Outcome::succeeded) << ends.initiator.detail;
    expect_agreement(initiator.parameters(), target.parameters());
    EXPECT_TRUE(initiator.parameters().rdma_extensions);
  }
}

TEST(Joined, Discovery) {
  InitiatorLogin initiator(identity(""), preferences_of(5), false, kStart);
  Authority authority;
  TargetLogin target(preferences_of(5), authority, false, kStart);
  const Ends ends = converse(initiator, target);
  ASSERT_EQ(ends.initiator.outcome, Outcome::succeeded) << ends.initiator.detail;
  EXPECT_EQ(target.parameters().session_type, iscsi::SessionType::discovery);
  EXPECT_FALSE(target.parameters().rdma_extensions);
  expect_agreement(initiator.parameters(), target.parameters());
}

// tgt 023aaf4 and 0e23d57: what was negotiated is what holds, also at the ends of the ranges.
TEST(Joined, NegotiatedLengthsAreUsed) {
  for (const std::uint32_t length : {512U, 8192U, 16777215U}) {
    for (const bool rdma : {false, true}) {
      Preferences p;
      p.rdma_extensions = rdma;
      p.max_recv_data_segment_length = p.max_burst_length = p.first_burst_length = length;
      p.target_recv_data_segment_length = p.initiator_recv_data_segment_length = length;
      InitiatorLogin initiator(identity(), p, false, kStart);
      Authority authority;
      TargetLogin target(p, authority, false, kStart);
      ASSERT_EQ(converse(initiator, target).initiator.outcome, Outcome::succeeded);
      for (const Parameters& result : {initiator.parameters(), target.parameters()}) {
        EXPECT_EQ(result.max_send_data_segment_length, length);
        EXPECT_EQ(result.max_recv_data_segment_length, length);
        EXPECT_EQ(result.max_burst_length, length);
        EXPECT_EQ(result.first_burst_length, length);
      }
    }
  }
}

TEST(Joined, ATargetNobodyKnowsIsReportedToTheInitiator) {
  InitiatorLogin initiator(identity(), {}, false, kStart);
  Authority authority;
  authority.verdict.error = errc::login_target_not_found;
  TargetLogin target({}, authority, false, kStart);
  const Ends ends = converse(initiator, target);
  EXPECT_EQ(ends.initiator.error, errc::login_target_not_found);
  EXPECT_EQ(ends.target.error, errc::login_target_not_found);
}

// --- every step failing ---

constexpr int kPdus = 4;

TEST(FailureAtEveryStep, TheConversationHasThatManyPdus) {
  InitiatorLogin initiator(identity(), preferences_of(1), false, kStart);
  Authority authority;
  TargetLogin target(preferences_of(1), authority, false, kStart);
  EXPECT_EQ(converse(initiator, target).pdus, kPdus);
}

TEST(FailureAtEveryStep, TimeRunsOut) {
  for (int cut = 0; cut < kPdus; ++cut) {
    InitiatorLogin initiator(identity(), preferences_of(1), false, kStart);
    Authority authority;
    TargetLogin target(preferences_of(1), authority, false, kStart);
    converse(initiator, target, cut);
    const Time late = kStart + std::chrono::seconds(15);
    EXPECT_EQ(initiator.expired(late).error, errc::login_timeout) << cut;
    EXPECT_FALSE(initiator.deadline());
    // The target has granted by its last PDU.
    EXPECT_EQ(target.expired(late).error == errc::login_timeout, cut < kPdus - 1) << cut;
    EXPECT_FALSE(target.deadline());
  }
}

TEST(FailureAtEveryStep, AMachineMayDieAtAnyTime) {
  for (int cut = 0; cut <= kPdus; ++cut) {
    InitiatorLogin initiator(identity(), preferences_of(1), false, kStart);
    Authority authority;
    TargetLogin target(preferences_of(1), authority, false, kStart);
    EXPECT_EQ(converse(initiator, target, cut).pdus, cut);
  }
}

// Each bit of a PDU turned over, one at a time: header and text. Nothing may fall over, and
// whoever succeeds has sane parameters.
ControlPdu with_flipped_bit(const ControlPdu& pdu, std::size_t bit) {
  ControlPdu copy{pdu.bhs, {}, Buffer::copy_of(pdu.data.bytes())};
  const auto mask = static_cast<std::byte>(1U << bit % 8);
  const std::size_t at = bit / 8;
  (at < iscsi::kBhsSize ? copy.bhs.raw[at] : copy.data.data()[at - iscsi::kBhsSize]) ^= mask;
  return copy;
}

std::size_t bits_of(const ControlPdu& pdu) {
  return (iscsi::kBhsSize + pdu.data.size()) * 8;
}

TEST(FailureAtEveryStep, TargetTakesAnyBitThatIsWrong) {
  for (const int before : {0, 2}) {
    InitiatorLogin script(identity(), preferences_of(1), false, kStart);
    Authority authority;
    TargetLogin partner(preferences_of(1), authority, false, kStart);
    const Ends ends = converse(script, partner, before);
    const ControlPdu& good = *ends.initiator.send;
    for (std::size_t bit = 0; bit < bits_of(good); ++bit) {
      InitiatorLogin initiator(identity(), preferences_of(1), false, kStart);
      TargetLogin target(preferences_of(1), authority, false, kStart);
      converse(initiator, target, before);
      LoginStep step = target.receive(with_flipped_bit(good, bit), kStart);
      if (step.outcome == Outcome::authorize) step = target.grant(1, 1);
      if (step.outcome == Outcome::failed) {
        EXPECT_TRUE(step.error);
        EXPECT_FALSE(step.send && status_of(response_in(step)) == 0);
      } else {
        EXPECT_LE(target.parameters().first_burst_length, 0xffffffU);
      }
    }
  }
}

TEST(FailureAtEveryStep, InitiatorTakesAnyBitThatIsWrong) {
  for (const int before : {1, 3}) {
    InitiatorLogin script(identity(), preferences_of(1), false, kStart);
    Authority authority;
    TargetLogin partner(preferences_of(1), authority, false, kStart);
    const Ends ends = converse(script, partner, before);
    const ControlPdu& good = *ends.target.send;
    for (std::size_t bit = 0; bit < bits_of(good); ++bit) {
      InitiatorLogin initiator(identity(), preferences_of(1), false, kStart);
      TargetLogin target(preferences_of(1), authority, false, kStart);
      converse(initiator, target, before);
      const LoginStep step = initiator.receive(with_flipped_bit(good, bit), kStart);
      EXPECT_EQ(step.outcome == Outcome::failed, static_cast<bool>(step.error));
      if (step.outcome == Outcome::succeeded) {
        EXPECT_LE(initiator.parameters().first_burst_length, 1048576U);
      }
    }
  }
}

}  // namespace
}  // namespace openiser::test
