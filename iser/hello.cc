#include "iser/hello.h"

#include <algorithm>

#include "iscsi/errors.h"

namespace openiser::iser {

using iscsi::errc;

HelloRule hello_rule(Dialect dialect, iscsi::Parameters::HelloRequired negotiated) {
  if (dialect == Dialect::rfc5046) return HelloRule::required;
  switch (negotiated) {
    case iscsi::Parameters::HelloRequired::yes:
      return HelloRule::required;
    case iscsi::Parameters::HelloRequired::no:
      return HelloRule::forbidden;
    case iscsi::Parameters::HelloRequired::not_negotiated:
      break;
  }
  return HelloRule::optional;
}

HelloExchange::HelloExchange(Role role, Dialect dialect, HelloRule rule, std::uint32_t reads)
    : role_(role),
      dialect_(dialect),
      rule_(rule),
      reads_(reads),
      open_(rule != HelloRule::required) {}

std::optional<Hello> HelloExchange::to_send() const {
  if (role_ != Role::initiator || rule_ != HelloRule::required) return {};
  const std::uint8_t version = facts(dialect_).version;
  return Hello{
      .max_version = version,
      .min_version = version,
      .inbound_reads = static_cast<std::uint16_t>(std::min<std::uint32_t>(reads_, 0xffff))};
}

HelloExchange::Step HelloExchange::received(Bytes message) {
  const auto kind = message_kind(message);
  if (!kind) return {.error = kind.error()};
  const bool first = !heard_;
  heard_ = true;
  const bool due = first && rule_ == HelloRule::required;
  if (*kind == MessageKind::control) {
    if (due) return {.error = errc::iser_hello};
    return {.control = true};
  }
  if (role_ == Role::target && *kind == MessageKind::hello && first &&
      rule_ != HelloRule::forbidden)
    return answer(message);
  if (role_ == Role::initiator && *kind == MessageKind::hello_reply && due)
    return conclude(message);
  return {.error = errc::iser_hello};
}

HelloExchange::Step HelloExchange::answer(Bytes message) {
  const auto hello = decode_hello(message, dialect_);
  if (!hello) return {.error = hello.error()};
  if (hello->min_version > hello->max_version) return {.error = errc::iser_format};
  const std::uint8_t version = facts(dialect_).version;
  const bool overlap = hello->min_version <= version && version <= hello->max_version;
  const bool unreadable = hello->inbound_reads > 0 && reads_ == 0;  // section 10.1.3.2
  reads_ = std::min<std::uint32_t>(reads_, hello->inbound_reads);
  Step step{.reply = HelloReply{.reject = !overlap || unreadable,
                                .max_version = version,
                                .current_version = version,
                                .outbound_reads = static_cast<std::uint16_t>(reads_)}};
  if (step.reply->reject) {
    step.error = errc::iser_hello;
  } else {
    open_ = true;
  }
  return step;
}

HelloExchange::Step HelloExchange::conclude(Bytes message) {
  const auto reply = decode_hello_reply(message, dialect_);
  if (!reply) return {.error = reply.error()};
  if (reply->reject) return {.error = errc::iser_hello};
  if (reply->current_version != facts(dialect_).version ||
      reply->max_version < reply->current_version || reply->outbound_reads > reads_)
    return {.error = errc::iser_format};
  reads_ = reply->outbound_reads;
  open_ = true;
  return {};
}

}  // namespace openiser::iser
