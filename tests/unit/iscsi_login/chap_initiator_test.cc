// CHAP in the initiator's machine against scripted targets, and both machines against each other.
#include "tests/support/chap.h"

namespace openiser::test {
namespace {

using iscsi::ChapAlgorithm;
using enum iscsi::ChapAlgorithm;

const std::vector<std::byte> kChallenge(20, std::byte{0xe5});

iscsi::InitiatorIdentity identity_with(iscsi::SharedChapSettings chap,
                                       std::string target = kTargetName) {
  iscsi::InitiatorIdentity who = identity(std::move(target));
  who.chap = std::move(chap);
  return who;
}

// An initiator, and a target that says what the test wants it to.
struct ChapInitiatorMachine {
  iscsi::InitiatorLogin login;
  LoginStep step;
  std::uint32_t stat_sn = 0x100;

  explicit ChapInitiatorMachine(bool mutual = false)
      : ChapInitiatorMachine(chap_settings(mutual)) {}
  explicit ChapInitiatorMachine(iscsi::SharedChapSettings chap)
      : login(identity_with(std::move(chap)), {}, false, kStart), step(login.start(kStart)) {}

  const LoginStep& hear(const std::string& text, bool transit = false) {
    LoginResponse response;
    response.isid = Requests::first().isid;
    response.stat_sn = stat_sn++;
    response.transit = transit;
    response.next_stage = transit ? 1 : 0;
    step = login.receive(pdu_of(encode(response), with_nuls(text)), kStart);
    return step;
  }
  // Up to its response, which it gives.
  std::string response(const std::string& algorithm, const std::string& challenge,
                       const std::string& identifier = "155") {
    hear("AuthMethod=CHAP|TargetPortalGroupTag=1|");
    return text_in(
        hear("CHAP_A=" + algorithm + "|CHAP_I=" + identifier + "|CHAP_C=" + challenge + "|"));
  }
  std::string response() { return response("8", iscsi::format_binary(kChallenge)); }
};

// --- what it says ---

TEST(ChapInitiator, OffersNothingButChap) {
  ChapInitiatorMachine initiator;
  EXPECT_EQ(value_in(text_in(initiator.step), "AuthMethod"), "CHAP");
  EXPECT_FALSE(request_in(initiator.step).transit) << "a target may take T for leave to go on";
  EXPECT_EQ(text_in(initiator.hear("AuthMethod=CHAP|")), "CHAP_A=8,7,6,5|");
  EXPECT_FALSE(request_in(initiator.step).transit);
}

struct Cell {
  bool mutual;
  ChapAlgorithm algorithm;
  Encoding encoding;
};
class ChapResponder : public testing::TestWithParam<Cell> {};

std::vector<Cell> cells() {
  std::vector<Cell> all;
  for (const bool mutual : {false, true})
    for (const ChapAlgorithm algorithm : {md5, sha1, sha256, sha3_256})
      for (const Encoding encoding : {Encoding::hex, Encoding::base64})
        all.push_back({mutual, algorithm, encoding});
  return all;
}
std::string cell_name(const testing::TestParamInfo<Cell>& info) {
  const Cell& cell = info.param;
  return std::string(cell.mutual ? "Mutual" : "OneWay") +
         std::to_string(static_cast<int>(cell.algorithm)) +
         (cell.encoding == Encoding::hex ? "Hex" : "Base64");
}
INSTANTIATE_TEST_SUITE_P(Cells, ChapResponder, testing::ValuesIn(cells()), cell_name);

TEST_P(ChapResponder, InitiatorProvesItselfAndHasTheTargetProveItself) {
  const auto [mutual, algorithm, encoding] = GetParam();
  ChapInitiatorMachine initiator(mutual);
  const std::string text = initiator.response(std::to_string(static_cast<int>(algorithm)),
                                              encoded(kChallenge, encoding));
  const auto expected = iscsi::chap_response(algorithm, 155, alice().secret, kChallenge);
  EXPECT_TRUE(text.starts_with(named_response(alice(), expected))) << text;
  EXPECT_TRUE(request_in(initiator.step).transit);
  EXPECT_EQ(value_in(text, "CHAP_C") != "-", mutual);
  std::string proof;
  if (mutual) {
    EXPECT_GE(binary_in(text, "CHAP_C").size(), iscsi::digest_size(algorithm));
    proof = named_response(storage(), response_to(text, algorithm, storage()), encoding);
  }
  const LoginStep& step = initiator.hear(proof, true);
  EXPECT_EQ(step.outcome, Outcome::going_on) << step.detail;
  EXPECT_EQ(request_in(step).current_stage, 1);
}

TEST_P(ChapResponder, InitiatorTakesNoProofWithAWrongSecret) {
  const auto [mutual, algorithm, encoding] = GetParam();
  if (!mutual) return;
  ChapInitiatorMachine initiator(true);
  const std::string text = initiator.response(std::to_string(static_cast<int>(algorithm)),
                                              encoded(kChallenge, encoding));
  const iscsi::ChapAccount rogue{"storage", Secret(as_bytes("another-secret-it-is"))};
  const LoginStep& step =
      initiator.hear(named_response(rogue, response_to(text, algorithm, rogue), encoding), true);
  EXPECT_EQ(step.error, errc::login_authentication_failed);
  EXPECT_FALSE(step.send);
}

// --- targets that do not play by the rules ---

TEST(ChapInitiator, DoesNotGoOnWithoutAuthentication) {
  ChapInitiatorMachine none;
  EXPECT_EQ(none.hear("AuthMethod=None|").outcome, Outcome::failed);
  ChapInitiatorMachine silent;
  EXPECT_EQ(silent.hear("", true).outcome, Outcome::failed);
  ChapInitiatorMachine hasty;
  EXPECT_EQ(hasty.hear("AuthMethod=CHAP|", true).outcome, Outcome::failed);
  ChapInitiatorMachine later;
  later.hear("AuthMethod=CHAP|");
  EXPECT_EQ(later.hear("", true).outcome, Outcome::failed);
  ChapInitiatorMachine irrelevant;
  irrelevant.hear("AuthMethod=Irrelevant|");
  EXPECT_EQ(irrelevant.hear("", true).outcome, Outcome::failed);
}

TEST(ChapInitiator, WantsTheProofItAskedFor) {
  for (const bool transit : {false, true}) {
    ChapInitiatorMachine initiator(true);
    initiator.response();
    EXPECT_EQ(initiator.hear("", transit).error, errc::login_authentication_failed);
  }
  const auto proof = iscsi::format_binary(std::vector<std::byte>(32));
  for (const std::string& keys :
       {std::string("CHAP_N=storage|"), "CHAP_R=" + proof + "|", "CHAP_A=5|CHAP_R=" + proof + "|",
        "CHAP_N=storage|CHAP_R=" + proof + "|CHAP_I=1|"}) {
    ChapInitiatorMachine initiator(true);
    initiator.response();
    EXPECT_EQ(initiator.hear(keys, true).outcome, Outcome::failed) << keys;
  }
}

TEST(ChapInitiator, WantsTheNameThatGoesWithTheSecret) {
  const iscsi::ChapAccount other{"another", storage().secret};
  ChapInitiatorMachine strict(true);
  std::string text = strict.response();
  EXPECT_EQ(strict.hear(named_response(other, response_to(text, sha3_256, other)), true).error,
            errc::login_authentication_failed);
  ChapInitiatorMachine lenient(chap_settings(true, alice(), {"", storage().secret}));
  text = lenient.response();
  EXPECT_EQ(lenient.hear(named_response(other, response_to(text, sha3_256, other)), true).outcome,
            Outcome::going_on);
}

TEST(ChapInitiator, RefusesProofsThatAreNone) {
  for (const char* proof : {"0x", "0x00", "", "5", "0b", "0bAA==", "Reject"}) {
    ChapInitiatorMachine initiator(true);
    initiator.response();
    EXPECT_EQ(initiator.hear("CHAP_N=storage|CHAP_R=" + std::string(proof) + "|", true).error,
              errc::login_authentication_failed)
        << proof;
  }
  for (const std::size_t size : {31U, 33U, 1024U, 1025U, 4000U}) {
    ChapInitiatorMachine initiator(true);
    initiator.response();
    const std::string proof = iscsi::format_binary(std::vector<std::byte>(size));
    EXPECT_EQ(initiator.hear("CHAP_N=storage|CHAP_R=" + proof + "|", true).error,
              errc::login_authentication_failed)
        << size;
  }
}

TEST(ChapInitiator, AnswersNoProofItDidNotAskFor) {
  ChapInitiatorMachine initiator(false);
  initiator.response();
  EXPECT_EQ(initiator.hear("CHAP_N=storage|CHAP_R=0x00|", true).error, errc::protocol_error);
}

TEST(ChapInitiator, RefusesAlgorithmsItDidNotOffer) {
  for (const char* algorithm : {"4", "9", "5,7", "", "MD5", "261", "Reject"}) {
    ChapInitiatorMachine initiator;
    initiator.response(algorithm, iscsi::format_binary(kChallenge));
    EXPECT_EQ(initiator.step.error, errc::login_authentication_failed) << algorithm;
  }
}

TEST(ChapInitiator, RefusesChallengesThatAreNone) {
  const auto hex = [](std::size_t size) {
    return iscsi::format_binary(std::vector<std::byte>(size));
  };
  for (const auto& [identifier, challenge, good] :
       {std::tuple<std::string, std::string, bool>{"0", hex(16), true},
        {"255", hex(1024), true},
        {"256", hex(16), false},
        {"x", hex(16), false},
        {"1", hex(15), false},
        {"1", hex(1025), false},
        {"1", "0x", false},
        {"1", "7739", false},
        {"1", "0bAA", false}}) {
    ChapInitiatorMachine initiator;
    initiator.response("5", challenge, identifier);
    EXPECT_EQ(initiator.step.outcome == Outcome::going_on, good) << identifier << challenge;
  }
}

TEST(ChapInitiator, RefusesChallengesOutOfOrder) {
  for (const char* keys :
       {"CHAP_A=5|", "CHAP_A=5|CHAP_I=1|", "CHAP_I=1|CHAP_C=0x00112233445566778899aabbccddeeff|",
        "CHAP_N=storage|CHAP_R=0x00|", "CHAP_A=5|CHAP_A=5|", ""}) {
    ChapInitiatorMachine initiator;
    initiator.hear("AuthMethod=CHAP|");
    EXPECT_EQ(initiator.hear(keys).outcome, Outcome::failed) << keys;
  }
  ChapInitiatorMachine early;
  EXPECT_EQ(early.hear("AuthMethod=CHAP|CHAP_A=5|CHAP_I=1|CHAP_C=0x00|").outcome, Outcome::failed);
}

// RFC 7143 section 9.2.1: a rogue that has us answer our own challenge on another connection.
TEST(ChapInitiator, RefusesAProofMadeWithItsOwnSecret) {
  const iscsi::ChapAccount twin{"storage", alice().secret};
  ChapInitiatorMachine initiator(chap_settings(true, alice(), twin));
  const std::string text = initiator.response();
  EXPECT_EQ(initiator.hear(named_response(twin, response_to(text, sha3_256, twin)), true).error,
            errc::login_authentication_failed);
}

// RFC 7143 section 9.2.1: the challenge of the other direction is never reused.
TEST(ChapInitiator, NeverSendsTheChallengeItWasSent) {
  iscsi::ChapSettings settings = *chap_settings(true);
  settings.random = [](MutableBytes bytes) {
    std::ranges::fill(bytes, std::byte{0x42});
    return true;
  };
  ChapInitiatorMachine initiator(std::make_shared<const iscsi::ChapSettings>(settings));
  initiator.response("5", iscsi::format_binary(std::vector<std::byte>(16, std::byte{0x42})));
  EXPECT_EQ(initiator.step.outcome, Outcome::failed);
  EXPECT_FALSE(initiator.step.send);
}

TEST(ChapInitiator, DoesNotAnswerWithAWeakSecret) {
  for (const std::size_t size : {0U, 11U, 12U}) {
    const Secret secret(std::vector<std::byte>(size, std::byte{'s'}));
    ChapInitiatorMachine one(chap_settings(false, {"alice", secret}));
    one.hear("AuthMethod=CHAP|");
    EXPECT_EQ(one.step.outcome == Outcome::going_on, size >= 12) << size;
    ChapInitiatorMachine both(chap_settings(true, alice(), {"storage", secret}));
    both.hear("AuthMethod=CHAP|");
    EXPECT_EQ(both.step.outcome == Outcome::going_on, size >= 12) << size;
  }
}

// --- both machines ---

class BothEnds : public testing::TestWithParam<std::tuple<bool, bool, bool>> {};
INSTANTIATE_TEST_SUITE_P(Cells, BothEnds,
                         testing::Combine(testing::Bool(), testing::Bool(), testing::Bool()));

struct Joined {
  Authority authority;
  iscsi::TargetLogin target;
  iscsi::InitiatorLogin initiator;
  Ends ends;

  Joined(bool rdma, iscsi::SharedChapSettings ours, iscsi::SharedChapSettings theirs,
         const std::string& name = kTargetName)
      : target(preferences(rdma), authority, rdma, kStart),
        initiator(identity_with(std::move(ours), name), preferences(rdma), rdma, kStart) {
    authority.verdict.chap = std::move(theirs);
    ends = converse(initiator, target);
  }
  static iscsi::Preferences preferences(bool rdma) {
    iscsi::Preferences p;
    p.rdma_extensions = rdma;
    return p;
  }
};

TEST_P(BothEnds, AgreeOverAnyWireForAnySession) {
  const auto [rdma, mutual, discovery] = GetParam();
  const Joined joined(rdma, chap_settings(mutual), chap_settings(true),
                      discovery ? "" : kTargetName);
  EXPECT_EQ(joined.ends.initiator.outcome, Outcome::succeeded) << joined.ends.initiator.detail;
  EXPECT_EQ(joined.ends.target.outcome, Outcome::succeeded) << joined.ends.target.detail;
  EXPECT_EQ(joined.target.parameters().user, "alice");
}

TEST_P(BothEnds, PartWhereTheyDoNot) {
  const auto [rdma, mutual, discovery] = GetParam();
  const std::string name = discovery ? "" : kTargetName;
  const iscsi::ChapAccount wrong{"alice", Secret(as_bytes("not-her-secret"))};
  const Joined impostor(rdma, chap_settings(mutual, wrong), chap_settings(true), name);
  EXPECT_EQ(impostor.ends.initiator.error, errc::login_authentication_failed);
  EXPECT_EQ(impostor.ends.target.error, errc::login_authentication_failed);
  const Joined anonymous(rdma, nullptr, chap_settings(mutual), name);
  EXPECT_EQ(anonymous.ends.initiator.error, errc::login_authentication_failed);
  const Joined unasked(rdma, chap_settings(mutual), nullptr, name);
  EXPECT_EQ(unasked.ends.initiator.error, errc::login_authentication_failed);
}

TEST(BothEndsOfChap, ATargetWithoutASecretIsLeft) {
  const Joined joined(false, chap_settings(true), chap_settings(false));
  EXPECT_EQ(joined.ends.initiator.error, errc::login_authentication_failed);
  const iscsi::ChapAccount rogue{"storage", Secret(as_bytes("what-it-made-up"))};
  const Joined fooled(false, chap_settings(true), chap_settings(true, alice(), rogue));
  EXPECT_EQ(fooled.ends.initiator.error, errc::login_authentication_failed);
  EXPECT_NE(fooled.ends.target.outcome, Outcome::succeeded);
}

// Bytes above 0x7f, odd lengths, every identifier: nothing about a challenge is special.
TEST(BothEndsOfChap, AgreeEveryTime) {
  for (int round = 0; round < 300; ++round) {
    const Joined joined(false, chap_settings(true), chap_settings(true));
    ASSERT_EQ(joined.ends.initiator.outcome, Outcome::succeeded) << joined.ends.initiator.detail;
  }
}

}  // namespace
}  // namespace openiser::test
