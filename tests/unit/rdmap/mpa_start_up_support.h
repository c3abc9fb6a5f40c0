// Frames in short hand for the tests of the MPA start-up, and two machines talking to each other.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "rdmap/core/mpa_start_up.h"
#include "tests/support/bytes.h"

namespace openiser::rdmap::mpa_test {

using State = MpaStartUp::State;
using test::ByteVector;
using test::exact;
using test::hex;
using test::to_hex;

inline const std::string kRequestKey = "4d504120494420526571204672616d65";
inline const std::string kReplyKey = "4d504120494420526570204672616d65";
inline const Time kStart{std::chrono::hours(1)};

// `rest`: flags, revision, PD_Length and private data in hexadecimal.
inline ByteVector request(const std::string& rest) {
  return exact(hex(kRequestKey + rest));
}
inline ByteVector reply(const std::string& rest) {
  return exact(hex(kReplyKey + rest));
}
// What a machine sends behind the key.
inline std::string sent(MpaStartUp& start_up) {
  const std::string text = to_hex(start_up.take_output());
  return text.size() < kRequestKey.size() ? text : text.substr(kRequestKey.size());
}

inline MpaSettings settings_of_revision(std::uint8_t revision) {
  MpaSettings settings;
  settings.revision = revision;
  return settings;
}

// An initiator that has been answered.
class Initiator {
 public:
  explicit Initiator(MpaSettings settings, const ByteVector& answer = {})
      : machine(MpaRole::initiator, std::move(settings), kStart) {
    machine.take_output();
    taken = machine.received(answer);
  }
  MpaStartUp machine;
  std::size_t taken = 0;
};

// A responder that has been asked.
class Responder {
 public:
  explicit Responder(MpaSettings settings, const ByteVector& asked = {},
                     MpaDecision decision = nullptr)
      : machine(MpaRole::responder, std::move(settings), kStart, std::move(decision)) {
    taken = machine.received(asked);
  }
  MpaStartUp machine;
  std::size_t taken = 0;
};

}  // namespace openiser::rdmap::mpa_test
