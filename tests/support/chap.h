// For tests of CHAP: two accounts, the settings of both sides, and the steps of a peer that does
// everything by hand, in either encoding.
#pragma once

#include <string>

#include "iscsi/login/binary_value.h"
#include "iscsi/login/chap.h"
#include "tests/support/login.h"

namespace openiser::test {

inline iscsi::ChapAccount alice() {
  return {"alice", Secret(as_bytes("alice-has-a-secret"))};
}
inline iscsi::ChapAccount storage() {
  return {"storage", Secret(as_bytes("the-target's-secret"))};
}

// Of a target that lets alice in, or of an initiator that is alice; `mutual`: and of the target.
inline iscsi::SharedChapSettings chap_settings(bool mutual, iscsi::ChapAccount user = test::alice(),
                                               iscsi::ChapAccount target = test::storage()) {
  iscsi::ChapSettings settings;
  settings.initiators.push_back(std::move(user));
  if (mutual) settings.target = std::move(target);
  return std::make_shared<const iscsi::ChapSettings>(std::move(settings));
}

inline std::string base64_of(Bytes bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned triple = 0;
    for (std::size_t j = i; j < i + 3; ++j)
      triple = triple << 8 | (j < bytes.size() ? load_u8(&bytes[j]) : 0U);
    for (int shift = 18; shift >= 0; shift -= 6) text += kDigits[triple >> shift & 63];
  }
  for (std::size_t n = bytes.size() % 3; n % 3 != 0; ++n) text[text.size() - (3 - n)] = '=';
  return text;
}

enum class Encoding : std::uint8_t { hex, base64 };
inline std::string encoded(Bytes bytes, Encoding encoding) {
  return encoding == Encoding::hex ? iscsi::format_binary(bytes) : "0b" + base64_of(bytes);
}

inline std::vector<std::byte> binary_in(const std::string& text, const std::string& key) {
  const auto value = iscsi::parse_binary(value_in(text, key), 1024);
  EXPECT_TRUE(value.has_value()) << key << " in " << text;
  return value.value_or(std::vector<std::byte>{});
}

// The response of `account` to the challenge in the text.
inline std::vector<std::byte> response_to(const std::string& text, iscsi::ChapAlgorithm algorithm,
                                          const iscsi::ChapAccount& account) {
  const auto identifier = std::atoi(value_in(text, "CHAP_I").c_str());
  return iscsi::chap_response(algorithm, static_cast<std::uint8_t>(identifier), account.secret,
                              binary_in(text, "CHAP_C"));
}

inline std::string named_response(const iscsi::ChapAccount& account, Bytes response,
                                  Encoding encoding = Encoding::hex) {
  return "CHAP_N=" + account.name + "|CHAP_R=" + encoded(response, encoding) + "|";
}

}  // namespace openiser::test
