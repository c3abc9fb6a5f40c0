// Command numbering at the initiator (RFC 7143 section 4.2.2.1): the next CmdSN, and how far the
// target lets us go.
#pragma once

#include <cstdint>

#include "base/serial.h"

namespace openiser::iscsi {

class CommandCredit {
 public:
  CommandCredit(std::uint32_t next_cmd_sn, std::uint32_t max_cmd_sn)
      : cmd_sn_(next_cmd_sn), exp_(next_cmd_sn), max_(max_cmd_sn) {}

  std::uint32_t cmd_sn() const { return cmd_sn_; }
  // Whether a numbered command may be sent.
  bool is_open() const { return serial_less_equal(cmd_sn_, max_); }
  // The CmdSN of a numbered command that is being sent.
  std::uint32_t take() { return cmd_sn_++; }

  // The fields of a PDU; stale ones, which come when PDUs overtake each other, change nothing.
  void update(std::uint32_t exp_cmd_sn, std::uint32_t max_cmd_sn) {
    if (serial_less(max_cmd_sn, exp_cmd_sn - 1)) return;
    if (serial_less(max_, max_cmd_sn)) max_ = max_cmd_sn;
    if (serial_less(exp_, exp_cmd_sn)) exp_ = exp_cmd_sn;
  }

 private:
  std::uint32_t cmd_sn_;
  std::uint32_t exp_;
  std::uint32_t max_;
};

}  // namespace openiser::iscsi
