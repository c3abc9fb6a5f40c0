// CHAP (RFC 7143 section 12.1.3, RFC 1994), both sides of one exchange: the peer's keys in, ours
// out.
//
//   initiator                                target
//   CHAP_A=8,7,6,5                  -->
//                                   <--      CHAP_A=8  CHAP_I  CHAP_C
//   CHAP_N  CHAP_R [CHAP_I CHAP_C]  -->                                    (target: done)
//                                   <--      [CHAP_N  CHAP_R]              (initiator: done)
//
// What is in brackets proves the target to the initiator, which asks for it. An object lives for
// one login.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/secret.h"
#include "iscsi/errors.h"

namespace openiser::iscsi {

// RFC 7143 section 9.2.1: 96 bits, where no IPsec protects the connection.
inline constexpr std::size_t kLeastChapSecret = 12;
// Section 12.1.3, of a challenge or response in binary.
inline constexpr std::size_t kLongestChapValue = 1024;
// A challenge that could come again could be answered from memory.
inline constexpr std::size_t kLeastChallenge = 16;

// Numbers that IANA gave out ("PPP Authentication Algorithms").
enum class ChapAlgorithm : std::uint8_t { md5 = 5, sha1 = 6, sha256 = 7, sha3_256 = 8 };

std::size_t digest_size(ChapAlgorithm algorithm);
// What OpenSSL has here, strongest first; configurations of it leave out MD5 and SHA-1.
const std::vector<ChapAlgorithm>& chap_algorithms();
// The numbers in a CHAP_A value; nothing if it is no list of numbers.
std::optional<std::vector<std::uint64_t>> parse_chap_algorithms(std::string_view list);

// RFC 1994 section 4.1. Empty if OpenSSL fails.
std::vector<std::byte> chap_response(ChapAlgorithm algorithm, std::uint8_t identifier,
                                     const Secret& secret, Bytes challenge);
// In a time that does not depend on where they differ. An empty response equals none.
bool same_response(Bytes a, Bytes b);

struct ChapAccount {
  std::string name;
  Secret secret;
};

// Fills with random bytes; false if there are none to be had.
using RandomSource = std::function<bool(MutableBytes)>;
bool system_random(MutableBytes bytes);

struct ChapSettings {
  // Target: who may log in. Initiator: who it is, one account.
  std::vector<ChapAccount> initiators;
  // Target: who it is to initiators that ask. Initiator: who the target has to prove to be, with an
  // empty name for whatever it calls itself.
  std::optional<ChapAccount> target;
  // What the initiator offers, of those there are.
  std::vector<ChapAlgorithm> offer = chap_algorithms();
  RandomSource random = system_random;
};

// Null: AuthMethod=None.
using SharedChapSettings = std::shared_ptr<const ChapSettings>;

using ChapKeys = std::vector<std::pair<std::string, std::string>>;
struct ChapStep {
  ChapKeys keys;  // to be sent
  ErrorCode error;
  std::string detail;  // of the error, in words; has no secret in it
};

// A challenge of ours.
struct ChapChallenge {
  std::uint8_t identifier = 0;
  std::vector<std::byte> bytes;
};

class ChapTarget {
 public:
  explicit ChapTarget(SharedChapSettings settings) : settings_(std::move(settings)) {}

  // The keys of one text; not once done() is true.
  ChapStep receive(const ChapKeys& keys);
  // The initiator has proved who it is.
  bool done() const { return phase_ == Phase::done; }
  // Its name, once done.
  const std::string& user() const { return user_; }

 private:
  enum class Phase : std::uint8_t { algorithms, response, done };

  ChapStep take_algorithms(const ChapKeys& keys);
  ChapStep take_response(const ChapKeys& keys);
  ChapStep prove(std::string_view identifier, std::string_view challenge);
  const ChapAccount* account(std::string_view name) const;

  SharedChapSettings settings_;
  Phase phase_ = Phase::algorithms;
  ChapAlgorithm algorithm_{};
  ChapChallenge challenge_;
  std::string user_;
};

class ChapInitiator {
 public:
  explicit ChapInitiator(SharedChapSettings settings) : settings_(std::move(settings)) {}

  // The first step; then one for each text of the target, until done().
  ChapStep start();
  ChapStep receive(const ChapKeys& keys);
  // Our part is sent, or is what receive() just gave: the stage may end with it.
  bool responded() const { return phase_ >= Phase::proof; }
  // The target, where it had to, has proved who it is.
  bool done() const { return phase_ == Phase::done; }

 private:
  enum class Phase : std::uint8_t { idle, challenge, proof, done };

  ChapStep take_challenge(const ChapKeys& keys);
  ChapStep respond(std::uint8_t identifier, Bytes challenge);
  ChapStep take_proof(const ChapKeys& keys);

  SharedChapSettings settings_;
  Phase phase_ = Phase::idle;
  ChapAlgorithm algorithm_{};
  ChapChallenge challenge_;
};

}  // namespace openiser::iscsi
