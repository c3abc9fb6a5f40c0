#include "iscsi/login/chap.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "iscsi/login/binary_value.h"
#include "iscsi/login/key_table.h"

namespace openiser::iscsi {

namespace {

struct AlgorithmRow {
  ChapAlgorithm algorithm;
  const char* openssl;
  std::size_t size;
};
// Strongest first.
constexpr std::array kAlgorithms{
    AlgorithmRow{ChapAlgorithm::sha3_256, "SHA3-256", 32},
    AlgorithmRow{ChapAlgorithm::sha256, "SHA256", 32},
    AlgorithmRow{ChapAlgorithm::sha1, "SHA1", 20},
    AlgorithmRow{ChapAlgorithm::md5, "MD5", 16},
};

const AlgorithmRow& row_of(ChapAlgorithm algorithm) {
  return *std::ranges::find(kAlgorithms, algorithm, &AlgorithmRow::algorithm);
}

using DigestHandle = std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)>;
DigestHandle fetch(const AlgorithmRow& row) {
  return {EVP_MD_fetch(nullptr, row.openssl, nullptr), EVP_MD_free};
}

ChapStep failed(std::string detail, errc error = errc::login_authentication_failed) {
  return {{}, error, std::move(detail)};
}

std::string number_of(ChapAlgorithm algorithm) {
  return std::to_string(static_cast<unsigned>(algorithm));
}

// A name the peer chose, fit for a line of a log.
std::string shown(std::string_view name) {
  constexpr std::size_t kShown = 64;
  std::string text =
      "'" + std::string(name.substr(0, kShown)) + (name.size() > kShown ? "..." : "");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text + "'";
}

// The keys of a text by name. A key that does not belong to the step stays behind in extra().
class Taken {
 public:
  explicit Taken(const ChapKeys& keys) : keys_(keys) {}

  // Null if it is not there.
  const std::string* take(std::string_view name) {
    const auto found = std::ranges::find(keys_, name, &ChapKeys::value_type::first);
    if (found == keys_.end()) return nullptr;
    ++taken_;
    return &found->second;
  }
  bool extra() const { return taken_ != keys_.size(); }
  bool nothing() const { return keys_.empty(); }

 private:
  const ChapKeys& keys_;
  std::size_t taken_ = 0;
};

// What is wrong with a text that did not have, or not only, the keys of its step.
ChapStep wrong_keys(const Taken& taken, const char* expected) {
  if (taken.nothing()) return failed(std::string("CHAP was left out: expected ") + expected);
  if (taken.extra())
    return failed(std::string("CHAP keys out of order: expected ") + expected,
                  errc::protocol_error);
  return failed(std::string("CHAP keys are missing: expected ") + expected,
                errc::login_missing_parameter);
}

std::optional<std::uint8_t> parse_identifier(std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number > 255) return {};
  return static_cast<std::uint8_t>(*number);
}

std::optional<std::vector<std::byte>> parse_challenge(std::string_view text) {
  auto bytes = parse_binary(text, kLongestChapValue);
  if (bytes && bytes->size() < kLeastChallenge) return {};
  return bytes;
}

std::optional<ChapChallenge> make_challenge(const RandomSource& random, ChapAlgorithm algorithm) {
  ChapChallenge challenge;
  challenge.bytes.resize(std::max(digest_size(algorithm), kLeastChallenge));
  std::byte identifier;
  if (!random({&identifier, 1}) || !random(challenge.bytes)) return {};
  challenge.identifier = static_cast<std::uint8_t>(identifier);
  return challenge;
}

void add_challenge(ChapKeys& keys, const ChapChallenge& challenge) {
  keys.emplace_back("CHAP_I", std::to_string(challenge.identifier));
  keys.emplace_back("CHAP_C", format_binary(challenge.bytes));
}

void add_response(ChapKeys& keys, const ChapAccount& account, Bytes response) {
  keys.emplace_back("CHAP_N", account.name);
  keys.emplace_back("CHAP_R", format_binary(response));
}

}  // namespace

std::size_t digest_size(ChapAlgorithm algorithm) {
  return row_of(algorithm).size;
}

const std::vector<ChapAlgorithm>& chap_algorithms() {
  static const auto all = [] {
    std::vector<ChapAlgorithm> found;
    for (const AlgorithmRow& row : kAlgorithms)
      if (fetch(row)) found.push_back(row.algorithm);
    return found;
  }();
  return all;
}

std::optional<std::vector<std::uint64_t>> parse_chap_algorithms(std::string_view list) {
  std::vector<std::uint64_t> numbers;
  for (bool more = true; more;) {
    const auto comma = list.find(',');
    const auto number = parse_number(list.substr(0, comma));
    if (!number) return {};
    numbers.push_back(*number);
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return numbers;
}

std::vector<std::byte> chap_response(ChapAlgorithm algorithm, std::uint8_t identifier,
                                     const Secret& secret, Bytes challenge) {
  const DigestHandle digest = fetch(row_of(algorithm));
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  const auto update = [&](Bytes bytes) {
    return EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1;
  };
  const std::byte first{identifier};
  std::vector<std::byte> response(digest_size(algorithm));
  const bool good =
      digest && context && EVP_DigestInit_ex(context.get(), digest.get(), nullptr) == 1 &&
      update({&first, 1}) && update(secret.bytes()) && update(challenge) &&
      EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(response.data()),
                         nullptr) == 1;
  return good ? response : std::vector<std::byte>();
}

bool same_response(Bytes a, Bytes b) {
  return !a.empty() && a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool system_random(MutableBytes bytes) {
  return RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size())) == 1;
}

// --- target ---

ChapStep ChapTarget::receive(const ChapKeys& keys) {
  switch (phase_) {
    case Phase::algorithms:
      return take_algorithms(keys);
    case Phase::response:
      return take_response(keys);
    case Phase::done:
      break;
  }
  return failed("CHAP keys after the end of the exchange", errc::protocol_error);
}

ChapStep ChapTarget::take_algorithms(const ChapKeys& keys) {
  Taken taken(keys);
  const std::string* offered = taken.take("CHAP_A");
  if (!offered || taken.extra()) return wrong_keys(taken, "CHAP_A");
  const auto numbers = parse_chap_algorithms(*offered);
  if (!numbers) return failed("CHAP_A is no list of numbers");
  const auto& ours = chap_algorithms();
  const auto chosen = std::ranges::find_if(ours, [&](ChapAlgorithm algorithm) {
    return std::ranges::count(*numbers, static_cast<std::uint64_t>(algorithm)) != 0;
  });
  if (chosen == ours.end()) return failed("none of the algorithms in CHAP_A is known here");
  algorithm_ = *chosen;
  auto challenge = make_challenge(settings_->random, algorithm_);
  if (!challenge) return failed("no random numbers for a challenge", errc::login_target_error);
  challenge_ = std::move(*challenge);
  phase_ = Phase::response;
  ChapStep step;
  step.keys.emplace_back("CHAP_A", number_of(algorithm_));
  add_challenge(step.keys, challenge_);
  return step;
}

const ChapAccount* ChapTarget::account(std::string_view name) const {
  const auto found = std::ranges::find(settings_->initiators, name, &ChapAccount::name);
  return found == settings_->initiators.end() ? nullptr : &*found;
}

ChapStep ChapTarget::take_response(const ChapKeys& keys) {
  Taken taken(keys);
  const std::string* name = taken.take("CHAP_N");
  const std::string* response = taken.take("CHAP_R");
  const std::string* identifier = taken.take("CHAP_I");
  const std::string* challenge = taken.take("CHAP_C");
  if (!name || !response || !identifier != !challenge || taken.extra())
    return wrong_keys(taken, "CHAP_N and CHAP_R, and with CHAP_I also CHAP_C");
  const auto received = parse_binary(*response, kLongestChapValue);
  if (!received || received->size() != digest_size(algorithm_))
    return failed("CHAP_R is no response of algorithm " + number_of(algorithm_));
  // A name that nobody has takes as long as a wrong secret.
  const ChapAccount* user = account(*name);
  const Secret nobody(challenge_.bytes);
  const auto expected = chap_response(algorithm_, challenge_.identifier,
                                      user ? user->secret : nobody, challenge_.bytes);
  if (!same_response(expected, *received) || !user)
    return failed(user ? "the CHAP response of " + shown(*name) + " is wrong"
                       : "there is no CHAP user " + shown(*name) + " here");
  // RFC 7143 section 9.2.1: one secret for both directions would prove nothing.
  if (settings_->target &&
      same_response(*received, chap_response(algorithm_, challenge_.identifier,
                                             settings_->target->secret, challenge_.bytes)))
    return failed("the secret of " + shown(*name) + " is that of the target");
  user_ = *name;
  if (challenge) return prove(*identifier, *challenge);
  phase_ = Phase::done;
  return {};
}

// The initiator wants to know who we are.
ChapStep ChapTarget::prove(std::string_view identifier, std::string_view challenge) {
  if (!settings_->target)
    return failed("the initiator wants this target to prove itself, which has no secret for it");
  const auto number = parse_identifier(identifier);
  const auto bytes = parse_challenge(challenge);
  if (!number || !bytes) return failed("the initiator's CHAP_I or CHAP_C has no such value");
  // RFC 7143 section 9.2.1: our own challenge, sent back
  if (std::ranges::equal(*bytes, challenge_.bytes))
    return failed("the initiator's challenge is the one it was sent");
  const auto response = chap_response(algorithm_, *number, settings_->target->secret, *bytes);
  if (response.empty()) return failed("no response to be had", errc::login_target_error);
  phase_ = Phase::done;
  ChapStep step;
  add_response(step.keys, *settings_->target, response);
  return step;
}

// --- initiator ---

ChapStep ChapInitiator::start() {
  const auto weak = [](const ChapAccount& a) { return a.secret.size() < kLeastChapSecret; };
  if (settings_->initiators.size() != 1 || weak(settings_->initiators.front()) ||
      (settings_->target && weak(*settings_->target)))
    return failed("a CHAP secret has at least " + std::to_string(kLeastChapSecret) + " bytes");
  std::string list;
  for (const ChapAlgorithm algorithm : settings_->offer)
    list += (list.empty() ? "" : ",") + number_of(algorithm);
  phase_ = Phase::challenge;
  ChapStep step;
  step.keys.emplace_back("CHAP_A", std::move(list));
  return step;
}

ChapStep ChapInitiator::receive(const ChapKeys& keys) {
  if (phase_ == Phase::challenge) return take_challenge(keys);
  if (phase_ == Phase::proof) return take_proof(keys);
  return failed("CHAP keys that were not asked for", errc::protocol_error);
}

ChapStep ChapInitiator::take_challenge(const ChapKeys& keys) {
  Taken taken(keys);
  const std::string* chosen = taken.take("CHAP_A");
  const std::string* identifier = taken.take("CHAP_I");
  const std::string* challenge = taken.take("CHAP_C");
  if (!chosen || !identifier || !challenge || taken.extra())
    return wrong_keys(taken, "CHAP_A, CHAP_I and CHAP_C");
  const auto& ours = settings_->offer;
  const auto algorithm = parse_number(*chosen);
  const auto known = std::ranges::find_if(
      ours, [&](ChapAlgorithm a) { return algorithm == static_cast<std::uint64_t>(a); });
  if (known == ours.end()) return failed("the target chose a CHAP algorithm that was not offered");
  algorithm_ = *known;
  const auto number = parse_identifier(*identifier);
  const auto bytes = parse_challenge(*challenge);
  if (!number || !bytes) return failed("the target's CHAP_I or CHAP_C has no such value");
  return respond(*number, *bytes);
}

ChapStep ChapInitiator::respond(std::uint8_t identifier, Bytes challenge) {
  const ChapAccount& self = settings_->initiators.front();
  const auto response = chap_response(algorithm_, identifier, self.secret, challenge);
  if (response.empty()) return failed("no response to be had: OpenSSL failed");
  ChapStep step;
  add_response(step.keys, self, response);
  phase_ = settings_->target ? Phase::proof : Phase::done;
  if (!settings_->target) return step;
  auto own = make_challenge(settings_->random, algorithm_);
  // RFC 7143 section 9.2.1: never the challenge we were sent.
  if (!own || std::ranges::equal(own->bytes, challenge))
    return failed("no random numbers for a challenge");
  challenge_ = std::move(*own);
  add_challenge(step.keys, challenge_);
  return step;
}

ChapStep ChapInitiator::take_proof(const ChapKeys& keys) {
  Taken taken(keys);
  const std::string* name = taken.take("CHAP_N");
  const std::string* response = taken.take("CHAP_R");
  if (!name || !response || taken.extra()) return wrong_keys(taken, "the target's CHAP_N, CHAP_R");
  const auto received = parse_binary(*response, kLongestChapValue);
  if (!received || received->size() != digest_size(algorithm_))
    return failed("the target's CHAP_R is no response of algorithm " + number_of(algorithm_));
  if (!settings_->target->name.empty() && *name != settings_->target->name)
    return failed("the target calls itself " + shown(*name));
  const auto response_of = [&](const ChapAccount& account) {
    return chap_response(algorithm_, challenge_.identifier, account.secret, challenge_.bytes);
  };
  if (!same_response(*received, response_of(*settings_->target)))
    return failed("the target did not prove that it knows its secret");
  // RFC 7143 section 9.2.1: it may have had us answer our own challenge on another connection.
  if (same_response(*received, response_of(settings_->initiators.front())))
    return failed("the target's secret is our own");
  phase_ = Phase::done;
  return {};
}

}  // namespace openiser::iscsi
