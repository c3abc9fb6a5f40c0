// A target by hand: listens, takes one initiator through its login, then does what a test says.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "tests/support/raw_iser.h"

namespace openiser::test {

// Of a SCSI command that came: where its data is at the initiator.
struct RawCommand {
  iscsi::ScsiCommand command;
  iser::ControlHeader memory;
};

class RawTarget {
 public:
  RawTarget() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback_address(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listening_.fd(), generic, size), 0);
    EXPECT_EQ(listen(listening_.fd(), 4), 0);
    EXPECT_EQ(getsockname(listening_.fd(), generic, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  std::uint16_t port() const { return port_; }

  // Takes a connection that logs in rdma-first. False if it does not come to that.
  bool accept() { return accept_connection() && log_in(); }
  // As far as RDMA: its login is the test's.
  bool accept_connection() {
    pollfd waiting{.fd = listening_.fd(), .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 20000) != 1) return false;
    peer_ = std::make_unique<RawIser>(
        rdmap::Socket(accept4(listening_.fd(), nullptr, nullptr, SOCK_CLOEXEC)));
    return peer_->iwarp.answer_start();
  }
  RawIser& peer() { return *peer_; }

  std::optional<RawCommand> command() {
    const auto message = peer_->receive();
    if (!message) return {};
    const auto command = iscsi::decode<iscsi::ScsiCommand>(message->pdu.bhs);
    const auto header = iser::decode_control_header(message->bytes, Dialect::rfc7145);
    EXPECT_TRUE(command && header);
    if (!command || !header) return {};
    return RawCommand{*command, *header};
  }
  // The answer to it: GOOD.
  iscsi::ScsiResponse good(const RawCommand& command) {
    return answer<iscsi::ScsiResponse>(command.command.initiator_task_tag, command.command.cmd_sn);
  }
  // An answer to any request, with its numbers filled in.
  template <class Response>
  Response answer(std::uint32_t tag, std::uint32_t cmd_sn) {
    Response response;
    response.initiator_task_tag = tag;
    response.stat_sn = stat_sn_++;
    response.exp_cmd_sn = cmd_sn + 1;
    response.max_cmd_sn = cmd_sn + 32;
    return response;
  }
  template <class Response>
  Response answer(const iscsi::Bhs& request) {
    return answer<Response>(request.initiator_task_tag(), request.cmd_sn());
  }

 private:
  bool log_in() {
    Authority authority;
    iscsi::Preferences preferences;
    preferences.rdma_extensions = true;
    // All of a write is asked for: every write has an STag.
    preferences.immediate_data = false;
    preferences.initial_r2t = true;
    iscsi::TargetLogin login(preferences, authority, true, kStart);
    while (const auto message = peer_->receive()) {
      auto step = login.receive(message->pdu, kStart);
      if (step.outcome == Outcome::authorize) step = login.grant(0x77, 32);
      if (!step.send || !peer_->send(*step.send)) return false;
      stat_sn_ = step.send->bhs.stat_sn() + 1;
      if (step.outcome == Outcome::succeeded) return true;
    }
    return false;
  }

  rdmap::Socket listening_;
  std::uint16_t port_ = 0;
  std::unique_ptr<RawIser> peer_;
  std::uint32_t stat_sn_ = 0;
};

}  // namespace openiser::test
