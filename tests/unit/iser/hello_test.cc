#include "iser/hello.h"

#include <gtest/gtest.h>

#include "iscsi/errors.h"
#include "tests/support/bytes.h"

namespace openiser::iser {
namespace {

using iscsi::errc;
using test::hex;
using Required = iscsi::Parameters::HelloRequired;

const std::string kRest(48, '0');

std::vector<std::byte> rfc7145(std::string_view front) {
  return hex(std::string(front) + kRest);
}
std::vector<std::byte> rfc5046(std::string_view front) {
  return hex(std::string(front) + std::string(16, '0'));
}
const std::vector<std::byte> kControl = rfc7145("10000000");

HelloExchange target(HelloRule rule, std::uint32_t ord = 16) {
  return {Role::target, Dialect::rfc7145, rule, ord};
}
HelloExchange initiator(HelloRule rule, std::uint32_t ird = 16) {
  return {Role::initiator, Dialect::rfc7145, rule, ird};
}

TEST(HelloRule, FollowsDialectAndKey) {
  EXPECT_EQ(hello_rule(Dialect::rfc5046, Required::not_negotiated), HelloRule::required);
  EXPECT_EQ(hello_rule(Dialect::rfc5046, Required::no), HelloRule::required);
  EXPECT_EQ(hello_rule(Dialect::rfc7145, Required::yes), HelloRule::required);
  EXPECT_EQ(hello_rule(Dialect::rfc7145, Required::no), HelloRule::forbidden);
  EXPECT_EQ(hello_rule(Dialect::rfc7145, Required::not_negotiated), HelloRule::optional);
}

TEST(HelloOfInitiator, IsSentOnlyWhenRequired) {
  const auto hello = initiator(HelloRule::required, 8).to_send();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->max_version, 10);
  EXPECT_EQ(hello->min_version, 10);
  EXPECT_EQ(hello->inbound_reads, 8);
  EXPECT_FALSE(initiator(HelloRule::optional).to_send());
  EXPECT_FALSE(initiator(HelloRule::forbidden).to_send());
  EXPECT_FALSE(target(HelloRule::required).to_send());
}

TEST(HelloOfInitiator, HasVersionOneInRfc5046) {
  const auto hello =
      HelloExchange(Role::initiator, Dialect::rfc5046, HelloRule::required, 8).to_send();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->max_version, 1);
  EXPECT_EQ(hello->min_version, 1);
}

TEST(HelloOfInitiator, SaysNoMoreReadsThanTheFieldHolds) {
  EXPECT_EQ(initiator(HelloRule::required, 70000).to_send()->inbound_reads, 0xffff);
}

TEST(HelloOfInitiator, OpensWithTheReply) {
  auto exchange = initiator(HelloRule::required);
  EXPECT_FALSE(exchange.open());
  const auto step = exchange.received(rfc7145("30aa0004"));
  EXPECT_FALSE(step.error);
  EXPECT_FALSE(step.control);
  EXPECT_FALSE(step.reply);
  EXPECT_TRUE(exchange.open());
  EXPECT_EQ(exchange.reads(), 4U);
}

struct Refused {
  const char* what;
  std::vector<std::byte> message;
  errc error;
};

TEST(HelloOfInitiator, EndsOnAnyOtherFirstMessage) {
  const Refused cases[] = {
      {"the reply is missing", kControl, errc::iser_hello},
      {"rejected", rfc7145("31aa0004"), errc::iser_hello},
      {"a Hello", rfc7145("20aa0004"), errc::iser_hello},
      {"current version 1", rfc7145("30a10004"), errc::iser_format},
      {"maximum below current", rfc7145("309a0004"), errc::iser_format},
      {"more reads than we allowed", rfc7145("30aa0011"), errc::iser_format},
      {"too short", rfc5046("30aa0004"), errc::iser_format},
      {"too long", hex("30aa0004" + kRest + "00"), errc::iser_format},
      {"empty", {}, errc::iser_format},
      {"unassigned opcode", rfc7145("40aa0004"), errc::iser_format},
  };
  for (const Refused& c : cases) {
    auto exchange = initiator(HelloRule::required);
    EXPECT_EQ(exchange.received(c.message).error, c.error) << c.what;
    EXPECT_FALSE(exchange.open()) << c.what;
  }
}

TEST(HelloOfInitiator, ReplyComesOnceAndOnlyWhenAsked) {
  auto asked = initiator(HelloRule::required);
  EXPECT_FALSE(asked.received(rfc7145("30aa0004")).error);
  EXPECT_EQ(asked.received(rfc7145("30aa0004")).error, errc::iser_hello);
  for (const HelloRule rule : {HelloRule::optional, HelloRule::forbidden})
    EXPECT_EQ(initiator(rule).received(rfc7145("30aa0004")).error, errc::iser_hello);
}

TEST(HelloOfInitiator, IsOpenAtOnceWithoutExchange) {
  for (const HelloRule rule : {HelloRule::optional, HelloRule::forbidden}) {
    auto exchange = initiator(rule);
    EXPECT_TRUE(exchange.open());
    EXPECT_TRUE(exchange.received(kControl).control);
    EXPECT_EQ(exchange.reads(), 16U);
  }
}

TEST(HelloOfTarget, AnswersWithTheLesserNumberOfReads) {
  const struct {
    std::uint32_t ord;
    const char* hello;
    std::uint16_t settled;
  } cases[] = {{16, "20aa0008", 8}, {4, "20aa0008", 4}, {8, "20aa0008", 8}, {16, "20aa0000", 0}};
  for (const auto& c : cases) {
    auto exchange = target(HelloRule::required, c.ord);
    const auto step = exchange.received(rfc7145(c.hello));
    ASSERT_TRUE(step.reply);
    EXPECT_FALSE(step.error);
    EXPECT_FALSE(step.reply->reject);
    EXPECT_EQ(step.reply->outbound_reads, c.settled);
    EXPECT_EQ(step.reply->max_version, 10);
    EXPECT_EQ(step.reply->current_version, 10);
    EXPECT_EQ(exchange.reads(), c.settled);
    EXPECT_TRUE(exchange.open());
  }
}

TEST(HelloOfTarget, RejectsReadsItCannotMake) {
  auto exchange = target(HelloRule::required, 0);
  const auto step = exchange.received(rfc7145("20aa0008"));
  ASSERT_TRUE(step.reply);
  EXPECT_TRUE(step.reply->reject);
  EXPECT_EQ(step.reply->outbound_reads, 0);
  EXPECT_EQ(step.error, errc::iser_hello);
  EXPECT_FALSE(exchange.open());
}

TEST(HelloOfTarget, NoReadsOnEitherSideIsFine) {
  auto exchange = target(HelloRule::required, 0);
  const auto step = exchange.received(rfc7145("20aa0000"));
  ASSERT_TRUE(step.reply);
  EXPECT_FALSE(step.reply->reject);
  EXPECT_FALSE(step.error);
}

TEST(HelloOfTarget, TakesARangeThatContainsItsVersion) {
  for (unsigned max = 0; max < 16; ++max) {
    for (unsigned min = 0; min <= max; ++min) {
      auto exchange = target(HelloRule::required);
      auto message = rfc7145("20000008");
      message[1] = static_cast<std::byte>(max << 4 | min);
      const auto step = exchange.received(message);
      ASSERT_TRUE(step.reply);
      const bool overlap = min <= 10 && 10 <= max;
      EXPECT_EQ(step.reply->reject, !overlap) << max << ' ' << min;
      EXPECT_EQ(step.error, overlap ? ErrorCode() : make_error_code(errc::iser_hello));
    }
  }
}

TEST(HelloOfTarget, ARangeTheWrongWayRoundIsAFormatError) {
  auto exchange = target(HelloRule::required);
  const auto step = exchange.received(rfc7145("209a0008"));
  EXPECT_EQ(step.error, errc::iser_format);
  EXPECT_FALSE(step.reply);
}

TEST(HelloOfTarget, EndsOnAnyOtherFirstMessageWhenRequired) {
  const Refused cases[] = {
      {"the Hello is missing", kControl, errc::iser_hello},
      {"a HelloReply", rfc7145("30aa0004"), errc::iser_hello},
      {"too short", rfc5046("20110008"), errc::iser_format},
      {"too long", hex("20aa0008" + kRest + "00"), errc::iser_format},
      {"unassigned opcode", rfc7145("00aa0008"), errc::iser_format},
      {"empty", {}, errc::iser_format},
  };
  for (const Refused& c : cases) {
    auto exchange = target(HelloRule::required);
    const auto step = exchange.received(c.message);
    EXPECT_EQ(step.error, c.error) << c.what;
    EXPECT_FALSE(step.reply) << c.what;
  }
}

TEST(HelloOfTarget, LateHelloIsAProtocolError) {
  for (const HelloRule rule : {HelloRule::optional, HelloRule::forbidden}) {
    auto exchange = target(rule);
    EXPECT_TRUE(exchange.received(kControl).control);
    EXPECT_EQ(exchange.received(rfc7145("20aa0008")).error, errc::iser_hello);
  }
}

TEST(HelloOfTarget, SecondHelloIsAProtocolError) {
  auto exchange = target(HelloRule::required);
  EXPECT_FALSE(exchange.received(rfc7145("20aa0008")).error);
  EXPECT_EQ(exchange.received(rfc7145("20aa0008")).error, errc::iser_hello);
}

// Section 5.1.3, "old" initiator and "new" target; wire-facts section 11 item 3.
TEST(HelloOfTarget, AnswersOneThatWasNeverNegotiatedButNotOneThatWasDeclined) {
  auto never = target(HelloRule::optional);
  EXPECT_TRUE(never.received(rfc7145("20aa0008")).reply);
  auto declined = target(HelloRule::forbidden);
  const auto step = declined.received(rfc7145("20aa0008"));
  EXPECT_FALSE(step.reply);
  EXPECT_EQ(step.error, errc::iser_hello);
}

TEST(HelloOfTarget, Rfc5046PeerHasVersionOne) {
  HelloExchange old(Role::target, Dialect::rfc5046, HelloRule::required, 4);
  const auto step = old.received(rfc5046("20110008"));
  ASSERT_TRUE(step.reply);
  EXPECT_FALSE(step.error);
  EXPECT_EQ(step.reply->current_version, 1);
  HelloExchange mixed(Role::target, Dialect::rfc5046, HelloRule::required, 4);
  EXPECT_EQ(mixed.received(rfc7145("20aa0008")).error, errc::iser_format);
}

}  // namespace
}  // namespace openiser::iser
