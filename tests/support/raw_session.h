// A raw peer in full feature phase, whichever way it came there: what tests of the session need,
// the same for plain iSCSI and iSER.
#pragma once

#include <memory>

#include "tests/support/raw_ways.h"

namespace openiser::test {

enum class Carrier { plain, rdma_first, stream_first, stream_first_5046 };

inline constexpr Carrier kCarriers[] = {Carrier::plain, Carrier::rdma_first, Carrier::stream_first,
                                        Carrier::stream_first_5046};

inline const char* name_of(Carrier carrier) {
  switch (carrier) {
    case Carrier::plain:
      return "Plain";
    case Carrier::rdma_first:
      return "RdmaFirst";
    case Carrier::stream_first:
      return "StreamFirst";
    case Carrier::stream_first_5046:
      return "StreamFirst5046";
  }
  return "?";
}

inline void PrintTo(Carrier carrier, std::ostream* out) {
  *out << name_of(carrier);
}

class RawSession {
 public:
  RawSession(std::uint16_t port, Carrier carrier, std::uint8_t initiator_port = 5) {
    switch (carrier) {
      case Carrier::plain:
        plain_ = std::make_unique<RawIscsi>(port);
        plain_->requests.header.isid[5] = std::byte{initiator_port};
        EXPECT_EQ(plain_->log_in(names("InitialR2T=Yes|ImmediateData=Yes|")), 0);
        break;
      case Carrier::rdma_first:
        iser_ = bring_up(port, Way::rdma_first, initiator_port);
        return;
      case Carrier::stream_first:
        iser_ = bring_up(port, Way::stream_first, initiator_port);
        return;
      case Carrier::stream_first_5046:
        iser_ = bring_up(port, Way::stream_first_5046, initiator_port);
        return;
    }
    EXPECT_TRUE(send(test_unit_ready(0x10, next_cmd_sn())));
    EXPECT_TRUE(receive());
  }

  bool is_iser() const { return iser_ != nullptr; }
  RawIser& iser() { return *iser_; }
  RawIscsi& socket() { return is_iser() ? iser_->socket : *plain_; }
  std::uint32_t next_cmd_sn() { return is_iser() ? iser_->next_cmd_sn() : 100 + numbered_++; }

  bool send(const ControlPdu& pdu, const iser::ControlHeader& header = {}) {
    return is_iser() ? iser_->send(pdu, header) : plain_->send(pdu);
  }
  template <class Pdu>
  bool send(const Pdu& pdu, const iser::ControlHeader& header = {}) {
    return send(ControlPdu{encode(pdu), {}, {}}, header);
  }
  std::optional<ControlPdu> receive() {
    if (!is_iser()) return plain_->receive();
    auto message = iser_->receive();
    if (!message) return {};
    return std::move(message->pdu);
  }
  // Sends and expects a PDU of this kind back.
  template <class Answer, class Pdu>
  std::optional<Answer> ask(const Pdu& pdu, const iser::ControlHeader& header = {}) {
    EXPECT_TRUE(send(pdu, header));
    last = receive();
    if (!last) return {};
    const auto answer = iscsi::decode<Answer>(last->bhs);
    EXPECT_TRUE(answer) << "opcode " << static_cast<int>(last->bhs.opcode());
    if (!answer) return {};
    return *answer;
  }
  // Whether a ping comes back: the session goes on.
  bool answers() {
    const auto echo = ask<iscsi::NopIn>(ping(0x7777, next_cmd_sn_));
    return echo && echo->initiator_task_tag == 0x7777;
  }
  // Ends without a Terminate, or with a close of the plain connection.
  bool is_closed() { return is_iser() ? iser_->iwarp.fate() == "closed" : plain_->sees_end(); }

  std::optional<ControlPdu> last;

 private:
  std::unique_ptr<RawIscsi> plain_;
  std::unique_ptr<RawIser> iser_;
  std::uint32_t numbered_ = 0;
  std::uint32_t next_cmd_sn_ = 0;  // of immediate PDUs: not looked at
};

}  // namespace openiser::test
