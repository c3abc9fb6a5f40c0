// CHAP without a login around it: digests, values, lists; then the exchange in both machines, and
// what must not pass for one.
#include "tests/support/chap.h"

#include <array>
#include <set>

#include "base/hex.h"

namespace openiser::test {
namespace {

using iscsi::ChapAlgorithm;
using enum iscsi::ChapAlgorithm;

constexpr ChapAlgorithm kAll[] = {md5, sha1, sha256, sha3_256};

std::string number_of(ChapAlgorithm algorithm) {
  return std::to_string(static_cast<int>(algorithm));
}

std::vector<std::byte> counting_from(int first, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(first) + i);
  return bytes;
}

// --- responses ---

// Python: hashlib.new(NAME, b"\xc7" + b"alice-has-a-secret" + bytes(range(0x80, 0xa0))).hexdigest()
TEST(ChapResponse, IsTheDigestOfIdentifierSecretAndChallenge) {
  const std::pair<ChapAlgorithm, const char*> rows[] = {
      {md5, "417f2e8cfdf030e362f5736e3b028a3e"},
      {sha1, "4713c13118ad43f7c58b1822af9f94fdae345879"},
      {sha256, "ec2720824353b9c4df1977cdd23570cd1f1bc3d552de446ef9c16ba9cf1a6a4c"},
      {sha3_256, "fcbd6d9b609faef80d9d41f53b6a9c973dac43f8baf1c117343bf6273b7fa9ad"}};
  for (const auto& [algorithm, digest] : rows)
    EXPECT_EQ(
        to_hex(iscsi::chap_response(algorithm, 0xc7, alice().secret, counting_from(0x80, 32))),
        digest);
}

TEST(ChapResponse, EqualsOnlyItself) {
  const auto a = counting_from(0x70, 16);
  auto b = a;
  EXPECT_TRUE(iscsi::same_response(a, b));
  b.back() ^= std::byte{0x80};
  EXPECT_FALSE(iscsi::same_response(a, b));
  EXPECT_FALSE(iscsi::same_response(a, Bytes(a).first(15)));
  EXPECT_FALSE(iscsi::same_response({}, {})) << "a digest that could not be had";
}

// --- values ---

TEST(BinaryValue, IsReadInBothEncodings) {
  const std::pair<const char*, const char*> rows[] = {
      {"0x00", "00"},       {"0XaBcDeF", "abcdef"}, {"0bAA==", "00"},    {"0B//8=", "ffff"},
      {"0bAQID", "010203"}, {"0bgIGC", "808182"},   {"0b+/+/", "fbffbf"}};
  for (const auto& [text, bytes] : rows) {
    const auto value = iscsi::parse_binary(text, 1024);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(to_hex(*value), bytes) << text;
  }
}

TEST(BinaryValue, IsNothingElse) {
  for (const char* text :
       {"",       "0",      "x00",     "00",     "5",      "0x",     "0x0",
        "0x000",  "0x0g",   "0x 0",    "0x00 ",  "0b",     "0bA",    "0bAA",
        "0bAA=",  "0bAAA",  "0bA===",  "0b====", "0bAB==", "0bAAB=", "0bAA==AA==",
        "0bAA=A", "0bAA-_", "0bAA\n=", "0y00",   "-0x00"})
    EXPECT_FALSE(iscsi::parse_binary(text, 1024)) << text;
}

TEST(BinaryValue, HasAMostItMayBe) {
  for (const std::size_t size : {15U, 16U, 17U, 18U}) {
    const auto bytes = counting_from(1, size);
    for (const Encoding encoding : {Encoding::hex, Encoding::base64})
      EXPECT_EQ(iscsi::parse_binary(encoded(bytes, encoding), 16).has_value(), size <= 16)
          << encoded(bytes, encoding);
  }
}

TEST(BinaryValue, SurvivesEveryLengthAndByte) {
  for (std::size_t size = 1; size < 70; ++size) {
    const auto bytes = counting_from(static_cast<int>(7 * size), size);
    for (const Encoding encoding : {Encoding::hex, Encoding::base64})
      EXPECT_EQ(iscsi::parse_binary(encoded(bytes, encoding), 1024), bytes);
  }
}

TEST(ChapAlgorithms, AreAListOfNumbers) {
  using Numbers = std::vector<std::uint64_t>;
  EXPECT_EQ(iscsi::parse_chap_algorithms("5"), Numbers{5});
  EXPECT_EQ(iscsi::parse_chap_algorithms("7,0x5,300"), (Numbers{7, 5, 300}));
  for (const char* list : {"", ",", "5,", ",5", "5,,7", "5 ,7", "05", "MD5", "-5", "5;7"})
    EXPECT_FALSE(iscsi::parse_chap_algorithms(list)) << list;
}

TEST(ChapAlgorithms, AreOfferedStrongestFirst) {
  EXPECT_EQ(iscsi::chap_algorithms(), (std::vector{sha3_256, sha256, sha1, md5}));
}

// --- a target, and a peer by hand ---

struct ChapTargetMachine : Target {
  explicit ChapTargetMachine(bool mutual = false, bool rdma_connection = false)
      : ChapTargetMachine(chap_settings(mutual), rdma_connection) {}
  explicit ChapTargetMachine(iscsi::SharedChapSettings settings, bool rdma_connection = false)
      : Target(preferences(rdma_connection), rdma_connection) {
    authority.verdict.chap = std::move(settings);
  }
  ChapTargetMachine(bool mutual, bool rdma_connection, bool rdma)
      : Target(preferences(rdma), rdma_connection) {
    authority.verdict.chap = chap_settings(mutual);
  }
  static iscsi::Preferences preferences(bool rdma) {
    iscsi::Preferences p;
    p.rdma_extensions = rdma;
    return p;
  }

  // Up to the challenge, which it gives.
  std::string challenge(const std::string& algorithms, bool discovery = false) {
    const std::string offer = "AuthMethod=CHAP,None|";
    const std::string first =
        discovery ? "InitiatorName=iqn.2026-11.org.example:host|SessionType=Discovery|" + offer
                  : names(offer);
    EXPECT_EQ(value_in(text_in(take(0, {}, first)), "AuthMethod"), "CHAP");
    return text_in(take(0, {}, "CHAP_A=" + algorithms + "|"));
  }
  LoginStep respond(const std::string& text) { return take(0, 1, text); }
};

enum class Over : std::uint8_t { plain, stream_first, rdma_first };

struct Cell {
  bool discovery;
  Over over;
  bool mutual;
  ChapAlgorithm algorithm;
  Encoding encoding;
};
class Chap : public testing::TestWithParam<Cell> {};

std::vector<Cell> cells() {
  std::vector<Cell> all;
  for (const bool discovery : {false, true})
    for (const Over over : {Over::plain, Over::stream_first, Over::rdma_first})
      for (const bool mutual : {false, true})
        for (const ChapAlgorithm algorithm : kAll)
          for (const Encoding encoding : {Encoding::hex, Encoding::base64})
            all.push_back({discovery, over, mutual, algorithm, encoding});
  return all;
}
std::string cell_name(const testing::TestParamInfo<Cell>& info) {
  const Cell& cell = info.param;
  constexpr std::array kOver{"Plain", "StreamFirst", "RdmaFirst"};
  return std::string(cell.discovery ? "Discovery" : "Normal") +
         kOver[static_cast<std::size_t>(cell.over)] + (cell.mutual ? "Mutual" : "OneWay") +
         number_of(cell.algorithm) + (cell.encoding == Encoding::hex ? "Hex" : "Base64");
}
INSTANTIATE_TEST_SUITE_P(Cells, Chap, testing::ValuesIn(cells()), cell_name);

TEST_P(Chap, LetsAnInitiatorInThatKnowsTheSecret) {
  const auto [discovery, over, mutual, algorithm, encoding] = GetParam();
  ChapTargetMachine target(mutual, over == Over::rdma_first, over != Over::plain);
  const std::string challenge = target.challenge(number_of(algorithm), discovery);
  EXPECT_EQ(value_in(challenge, "CHAP_A"), number_of(algorithm));
  EXPECT_GE(binary_in(challenge, "CHAP_C").size(), iscsi::digest_size(algorithm));
  std::string answer =
      named_response(alice(), response_to(challenge, algorithm, alice()), encoding);
  const std::string ours = "CHAP_I=200|CHAP_C=" + encoded(counting_from(0x79, 33), encoding) + "|";
  if (mutual) answer += ours;
  const LoginStep step = target.respond(answer);
  EXPECT_EQ(step.outcome, Outcome::going_on) << step.detail;
  EXPECT_TRUE(response_in(step).transit);
  EXPECT_EQ(text_in(step),
            mutual ? named_response(storage(), response_to(ours, algorithm, storage())) : "");
  EXPECT_EQ(target.login.parameters().user, "alice");
  const bool rdma = over != Over::plain && !discovery;
  const std::string keys = rdma ? "RDMAExtensions=Yes|InitiatorRecvDataSegmentLength=8192|"
                                  "TargetRecvDataSegmentLength=8192|"
                                : "";
  LoginStep last = target.take(1, 3, keys);
  // What the target offers of itself is answered first.
  if (last.outcome == Outcome::going_on) last = target.take(1, 3, "");
  EXPECT_EQ(target.granted(std::move(last)).outcome, Outcome::succeeded);
  EXPECT_EQ(target.login.parameters().rdma_extensions, rdma || over == Over::rdma_first);
}

TEST_P(Chap, LetsNobodyInWhoDoesNot) {
  const auto [discovery, over, mutual, algorithm, encoding] = GetParam();
  ChapTargetMachine target(mutual, over == Over::rdma_first, over != Over::plain);
  const std::string challenge = target.challenge(number_of(algorithm), discovery);
  const iscsi::ChapAccount mallory{"alice", Secret(as_bytes("guessed-at-random"))};
  const LoginStep step =
      target.respond(named_response(mallory, response_to(challenge, algorithm, mallory), encoding));
  EXPECT_EQ(step.outcome, Outcome::failed);
  EXPECT_EQ(step.error, errc::login_authentication_failed);
  EXPECT_EQ(status_of(response_in(step)), 0x0201);
  EXPECT_EQ(text_in(step), "");
  EXPECT_TRUE(target.login.parameters().user.empty());
}

TEST(ChapTarget, ChoosesTheStrongestOfTheAlgorithmsItKnows) {
  const std::pair<const char*, const char*> rows[] = {
      {"5", "5"}, {"5,6,7,8", "8"}, {"8,7,6,5", "8"}, {"6,5", "6"}, {"9,300,7,5", "7"}};
  for (const auto& [offered, chosen] : rows)
    EXPECT_EQ(value_in(ChapTargetMachine().challenge(offered), "CHAP_A"), chosen) << offered;
}

TEST(ChapTarget, RefusesAlgorithmsItDoesNotKnow) {
  for (const char* list : {"9", "4", "0", "261", "18446744073709551621", "", "MD5", "5,"}) {
    ChapTargetMachine target;
    target.take(0, {}, names("AuthMethod=CHAP|"));
    const LoginStep step = target.take(0, {}, "CHAP_A=" + std::string(list) + "|");
    EXPECT_EQ(status_of(response_in(step)), 0x0201) << list;
  }
}

TEST(ChapTarget, NeverSendsTheSameChallengeTwice) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(seen.insert(value_in(ChapTargetMachine().challenge("5"), "CHAP_C")).second);
}

TEST(ChapTarget, FailsWithoutRandomNumbers) {
  iscsi::ChapSettings settings = *chap_settings(false);
  settings.random = [](MutableBytes) { return false; };
  ChapTargetMachine target(std::make_shared<const iscsi::ChapSettings>(settings));
  target.take(0, {}, names("AuthMethod=CHAP|"));
  EXPECT_EQ(status_of(response_in(target.take(0, {}, "CHAP_A=5|"))), 0x0300);
}

// --- no way around it ---

TEST(ChapTarget, TakesNoOtherMethod) {
  for (const char* list : {"None", "KRB5,None", "", "chap", "CHAP2"}) {
    ChapTargetMachine target;
    const LoginStep step = target.take(0, 1, names("AuthMethod=" + std::string(list) + "|"));
    EXPECT_EQ(status_of(response_in(step)), 0x0201) << list;
    EXPECT_EQ(text_in(step), "AuthMethod=Reject|") << list;
  }
}

TEST(ChapTarget, LetsNobodyLeaveTheSecurityStageOut) {
  for (const bool rdma : {false, true}) {
    ChapTargetMachine target(false, rdma);
    const LoginStep step = target.take(1, 3, names("RDMAExtensions=Yes|"));
    EXPECT_EQ(step.error, errc::login_authentication_failed);
    EXPECT_EQ(status_of(response_in(step)), 0x0201);
  }
}

TEST(ChapTarget, LetsNobodyLeaveItEarly) {
  for (const int next : {1, 3}) {
    ChapTargetMachine silent;
    EXPECT_EQ(status_of(response_in(silent.take(0, next, names()))), 0x0201);
    ChapTargetMachine hasty;
    EXPECT_FALSE(response_in(hasty.take(0, next, names("AuthMethod=CHAP|"))).transit);
    EXPECT_FALSE(response_in(hasty.take(0, next, "CHAP_A=5|")).transit);
    EXPECT_EQ(status_of(response_in(hasty.take(0, next, ""))), 0x0201);
  }
}

TEST(ChapTarget, LetsAMethodComeLater) {
  ChapTargetMachine target;
  EXPECT_EQ(target.take(0, {}, names()).outcome, Outcome::going_on);
  EXPECT_EQ(text_in(target.take(0, {}, "AuthMethod=CHAP|")), "AuthMethod=CHAP|");
}

TEST(ChapTarget, LeadsStraightToFullFeatureIfAsked) {
  ChapTargetMachine target;
  const std::string challenge = target.challenge("8");
  const LoginStep step =
      target.take(0, 3, named_response(alice(), response_to(challenge, sha3_256, alice())));
  EXPECT_EQ(step.outcome, Outcome::authorize) << step.detail;
}

TEST(ChapTarget, WaitsWithTheStageForAnInitiatorThatTakesItsTime) {
  ChapTargetMachine target;
  const std::string challenge = target.challenge("8");
  EXPECT_FALSE(
      response_in(
          target.take(0, {}, named_response(alice(), response_to(challenge, sha3_256, alice()))))
          .transit);
  EXPECT_TRUE(response_in(target.take(0, 1, "")).transit);
}

TEST(ChapTarget, SendsNothingOfItLater) {
  ChapTargetMachine target(true);
  const std::string challenge = target.challenge("7");
  target.respond(named_response(alice(), response_to(challenge, sha256, alice())) +
                 "CHAP_I=1|CHAP_C=" + iscsi::format_binary(counting_from(1, 16)) + "|");
  const LoginStep last = target.granted(target.take(1, 3, "InitialR2T=Yes|"));
  EXPECT_EQ(text_in(last), "InitialR2T=Yes|MaxRecvDataSegmentLength=262144|");
}

TEST(ChapTarget, WithoutItsOwnChapKnowsNoneOfItsKeys) {
  Target target;
  target.take(0, {}, names("AuthMethod=None|"));
  EXPECT_EQ(target.take(0, {}, "CHAP_A=5|").error, errc::protocol_error);
}

// --- steps that are wrong ---

TEST(ChapTarget, RefusesKeysOutOfOrder) {
  struct Row {
    const char* keys;
    int status;
  };
  const std::string response = "CHAP_R=" + iscsi::format_binary(counting_from(0, 16)) + "|";
  const std::string challenge = "CHAP_C=" + iscsi::format_binary(counting_from(0, 16)) + "|";
  const std::pair<std::string, int> instead_of_algorithms[] = {
      {"CHAP_N=alice|" + response, 0x0200},
      {"CHAP_A=5|CHAP_N=alice|" + response, 0x0200},
      {"CHAP_A=5|CHAP_I=1|" + challenge, 0x0200},
      {"CHAP_A=5|CHAP_A=5|", 0x0200},
      {"MaxBurstLength=512|", 0x0200},
      {"", 0x0201}};
  for (const auto& [keys, status] : instead_of_algorithms) {
    ChapTargetMachine target(true);
    target.take(0, {}, names("AuthMethod=CHAP|"));
    EXPECT_EQ(status_of(response_in(target.take(0, {}, keys))), status) << keys;
  }
  const std::pair<std::string, int> instead_of_response[] = {
      {"CHAP_N=alice|", 0x0207},
      {response, 0x0207},
      {"CHAP_N=alice|" + response + "CHAP_I=1|", 0x0207},
      {"CHAP_N=alice|" + response + challenge, 0x0207},
      {"CHAP_I=1|" + challenge, 0x0207},
      {"CHAP_A=5|", 0x0200},
      {"", 0x0201}};
  for (const auto& [keys, status] : instead_of_response) {
    ChapTargetMachine target(true);
    target.challenge("5");
    EXPECT_EQ(status_of(response_in(target.respond(keys))), status) << keys;
  }
}

TEST(ChapTarget, RefusesKeysBeforeTheMethodAndAfterTheEnd) {
  ChapTargetMachine early;
  EXPECT_EQ(early.take(0, {}, names("AuthMethod=CHAP|CHAP_A=5|")).error, errc::protocol_error);
  ChapTargetMachine late(true);
  const std::string challenge = late.challenge("8");
  late.take(0, {}, named_response(alice(), response_to(challenge, sha3_256, alice())));
  EXPECT_EQ(
      late.respond("CHAP_I=1|CHAP_C=" + iscsi::format_binary(counting_from(0, 16)) + "|").error,
      errc::protocol_error);
}

TEST(ChapTarget, RefusesResponsesThatAreNone) {
  for (const ChapAlgorithm algorithm : kAll) {
    const auto refused = [&](const std::function<std::string(Bytes)>& made) {
      ChapTargetMachine target;
      const std::string challenge = target.challenge(number_of(algorithm));
      const auto right = response_to(challenge, algorithm, alice());
      const LoginStep step = target.respond("CHAP_N=alice|CHAP_R=" + made(right) + "|");
      return status_of(response_in(step)) == 0x0201;
    };
    for (const Encoding encoding : {Encoding::hex, Encoding::base64}) {
      EXPECT_TRUE(refused([&](Bytes r) { return encoded(r.first(r.size() - 1), encoding); }));
      EXPECT_TRUE(refused([&](Bytes r) {
        std::vector<std::byte> longer(r.begin(), r.end());
        longer.emplace_back();
        return encoded(longer, encoding);
      }));
      EXPECT_TRUE(
          refused([&](Bytes r) { return encoded(counting_from(0, 10 * r.size()), encoding); }));
      EXPECT_TRUE(refused([&](Bytes) { return encoded(counting_from(0, 1025), encoding); }));
      EXPECT_TRUE(refused([&](Bytes r) { return encoded(r, encoding) + "!"; }));
      EXPECT_TRUE(refused([&](Bytes r) { return encoded(r, encoding).substr(2); }));
    }
    EXPECT_TRUE(refused([](Bytes r) {
      const std::string text = iscsi::format_binary(r);
      return text.substr(0, text.size() - 1);
    }));
    EXPECT_TRUE(refused([](Bytes) { return std::string("0x"); }));
    EXPECT_TRUE(refused([](Bytes) { return std::string("1"); }));
  }
}

TEST(ChapTarget, RefusesAnotherAlgorithmsResponse) {
  ChapTargetMachine target;
  const std::string challenge = target.challenge("8,7");
  EXPECT_EQ(target.respond(named_response(alice(), response_to(challenge, sha256, alice()))).error,
            errc::login_authentication_failed);
}

// Names are text, compared as they are, whatever a binary value would start with.
TEST(ChapTarget, ComparesNamesVerbatim) {
  for (const char* name : {"0xabc", "0XABC", "0bQQ==", "0B", "Reject", "None", "a b", "al=ice"}) {
    const iscsi::ChapAccount user{name, alice().secret};
    ChapTargetMachine target(chap_settings(false, user));
    const std::string challenge = target.challenge("5");
    EXPECT_TRUE(response_in(target.respond(named_response(user, response_to(challenge, md5, user))))
                    .transit)
        << name;
  }
  for (const char* name : {"Alice", "alice ", "alic", "", "alice2", "bob"}) {
    const iscsi::ChapAccount user{name, alice().secret};
    ChapTargetMachine target;
    const std::string challenge = target.challenge("5");
    EXPECT_EQ(status_of(response_in(
                  target.respond(named_response(user, response_to(challenge, md5, user))))),
              0x0201)
        << name;
  }
}

TEST(ChapTarget, KnowsSeveralUsers) {
  iscsi::ChapSettings settings = *chap_settings(false);
  const iscsi::ChapAccount bob{"bob", Secret(as_bytes("bob-has-another"))};
  settings.initiators.push_back(bob);
  const auto shared = std::make_shared<const iscsi::ChapSettings>(settings);
  for (const iscsi::ChapAccount& user : settings.initiators) {
    ChapTargetMachine target(shared);
    const std::string challenge = target.challenge("5");
    target.respond(named_response(user, response_to(challenge, md5, user)));
    EXPECT_EQ(target.login.parameters().user, user.name);
  }
  ChapTargetMachine target(shared);
  const std::string challenge = target.challenge("5");
  EXPECT_EQ(target.respond(named_response(bob, response_to(challenge, md5, alice()))).error,
            errc::login_authentication_failed)
      << "alice's secret under bob's name";
}

// --- a target that proves itself ---

LoginStep ask_proof(ChapTargetMachine& target, const std::string& identifier,
                    const std::string& challenge) {
  const std::string theirs = target.challenge("5");
  return target.respond(named_response(alice(), response_to(theirs, md5, alice())) +
                        "CHAP_I=" + identifier + "|CHAP_C=" + challenge + "|");
}

TEST(ChapTarget, ProvesItselfOnlyWithASecretOfItsOwn) {
  ChapTargetMachine target(false);
  const LoginStep step = ask_proof(target, "1", iscsi::format_binary(counting_from(0, 16)));
  EXPECT_EQ(step.error, errc::login_authentication_failed);
  EXPECT_EQ(text_in(step), "");
}

TEST(ChapTarget, RefusesChallengesThatAreNone) {
  const auto hex = [](std::size_t size) { return iscsi::format_binary(counting_from(3, size)); };
  const std::tuple<std::string, std::string, bool> rows[] = {
      {"0", hex(16), true},       {"255", hex(1024), true}, {"0xff", hex(17), true},
      {"256", hex(16), false},    {"-1", hex(16), false},   {"", hex(16), false},
      {"1", hex(15), false},      {"1", hex(1025), false},  {"1", hex(2000), false},
      {"1", "0x", false},         {"1", "", false},         {"1", "12345", false},
      {"1", hex(16) + "0", false}};
  for (const auto& [identifier, challenge, good] : rows) {
    ChapTargetMachine target(true);
    const LoginStep step = ask_proof(target, identifier, challenge);
    EXPECT_EQ(step.outcome == Outcome::going_on, good) << identifier << " " << challenge;
    if (good) continue;
    EXPECT_EQ(status_of(response_in(step)), 0x0201) << identifier << " " << challenge;
  }
}

// RFC 7143 section 9.2.1
TEST(ChapTarget, RefusesItsOwnChallengeReflected) {
  for (const Encoding encoding : {Encoding::hex, Encoding::base64}) {
    ChapTargetMachine target(true);
    const std::string theirs = target.challenge("8");
    const LoginStep step =
        target.respond(named_response(alice(), response_to(theirs, sha3_256, alice())) +
                       "CHAP_I=77|CHAP_C=" + encoded(binary_in(theirs, "CHAP_C"), encoding) + "|");
    EXPECT_EQ(status_of(response_in(step)), 0x0201);
    EXPECT_EQ(text_in(step), "");
  }
}

TEST(ChapTarget, RefusesAUserWithItsOwnSecret) {
  const iscsi::ChapAccount user{"alice", storage().secret};
  ChapTargetMachine target(chap_settings(true, user));
  const std::string challenge = target.challenge("5");
  EXPECT_EQ(target.respond(named_response(user, response_to(challenge, md5, user))).error,
            errc::login_authentication_failed);
}

}  // namespace
}  // namespace openiser::test
