// The Hello exchange (RFC 5046 and RFC 7145 section 5.1.3), both roles, as a machine that sees the
// first byte of every message: it settles how many RDMA Reads the target may have outstanding and
// catches a Hello that is missing, late or forbidden (section 10.1.3.4).
#pragma once

#include <cstdint>
#include <optional>

#include "iscsi/login/parameters.h"
#include "iser/header.h"

namespace openiser::iser {

enum class HelloRule : std::uint8_t {
  required,   // RFC 5046, or iSERHelloRequired=Yes
  optional,   // the key was never negotiated: the target answers a Hello, the initiator sends none
  forbidden,  // iSERHelloRequired=No
};
HelloRule hello_rule(Dialect dialect, iscsi::Parameters::HelloRequired negotiated);

class HelloExchange {
 public:
  // `reads`: the initiator's iSER-IRD, or the target's iSER-ORD.
  HelloExchange(Role role, Dialect dialect, HelloRule rule, std::uint32_t reads);

  // The Hello that an initiator has to send first, if it has to.
  std::optional<Hello> to_send() const;

  struct Step {
    // The message is a control-type PDU, to be looked at further; else it is dealt with.
    bool control = false;
    std::optional<HelloReply> reply{};
    // The connection ends with this, after `reply` if there is one.
    ErrorCode error{};
  };
  Step received(Bytes message);

  // Control-type PDUs may be sent: no Hello, or its reply, is awaited.
  bool open() const { return open_; }
  // The first message of the peer's has come.
  bool heard() const { return heard_; }
  // What both sides know now: iSER-ORD after an exchange, else what this side came with.
  std::uint32_t reads() const { return reads_; }

 private:
  Step answer(Bytes message);
  Step conclude(Bytes message);

  Role role_;
  Dialect dialect_;
  HelloRule rule_;
  std::uint32_t reads_;
  bool open_;
  bool heard_ = false;
};

}  // namespace openiser::iser
