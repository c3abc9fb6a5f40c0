// Command numbering at the target (RFC 7143 section 4.2.2.1): which numbered command may be
// delivered now, which waits for an earlier one, and what ExpCmdSN and MaxCmdSN say.
//
// The window is credit: every numbered command takes a place when it is delivered and gives it back
// when its task has ended, so no more tasks are open than the window has places. MaxCmdSN is
// therefore "first CmdSN + places - 1 + tasks ended", and it can only grow.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/serial.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi {

class CommandWindow {
 public:
  // `granted`: the MaxCmdSN of the login; it is not taken back if it is more than `places` give.
  CommandWindow(std::uint32_t first_cmd_sn, std::uint32_t places, std::uint32_t granted);

  std::uint32_t exp_cmd_sn() const { return exp_; }
  std::uint32_t max_cmd_sn() const { return max_; }
  bool contains(std::uint32_t cmd_sn) const {
    return serial_less_equal(exp_, cmd_sn) && serial_less_equal(cmd_sn, max_);
  }

  enum class Verdict : std::uint8_t { deliver, hold, drop };
  // What becomes of a numbered command that has come. Outside of the window, or there already:
  // drop.
  Verdict judge(std::uint32_t cmd_sn) const;
  // The command with CmdSN ExpCmdSN is delivered.
  void advance();
  // The task of a delivered command has ended.
  void retire() { ++max_; }

  // A command that has overtaken an earlier one, kept until next_held() gives it. At most as many
  // as the window has places.
  void hold(std::uint32_t cmd_sn, ControlPdu pdu) { held_.emplace(cmd_sn, std::move(pdu)); }
  std::optional<ControlPdu> next_held();
  // Every command below `cmd_sn` has been delivered.
  bool all_before(std::uint32_t cmd_sn) const { return serial_less_equal(cmd_sn, exp_); }

  // ABORT TASK for a command that has not come: it counts as received, and ended (section 11.6.1
  // b). `cmd_sn` is in the window. A held command of that number is dropped.
  void plug(std::uint32_t cmd_sn);
  // The same for everything below `cmd_sn` (section 4.2.3.3 b); `cmd_sn` is at most MaxCmdSN + 1.
  void plug_before(std::uint32_t cmd_sn);

  // The commands held now are dropped.
  void clear() { held_.clear(); }

 private:
  struct SerialOrder {
    bool operator()(std::uint32_t a, std::uint32_t b) const { return serial_less(a, b); }
  };
  void skip_plugged();

  std::uint32_t exp_;
  std::uint32_t max_;
  std::map<std::uint32_t, ControlPdu, SerialOrder> held_;
  std::set<std::uint32_t, SerialOrder> plugged_;
};

}  // namespace openiser::iscsi
