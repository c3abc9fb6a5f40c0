#include "iscsi/session/command_window.h"

#include "base/assert.h"

namespace openiser::iscsi {

CommandWindow::CommandWindow(std::uint32_t first_cmd_sn, std::uint32_t places,
                             std::uint32_t granted)
    : exp_(first_cmd_sn), max_(first_cmd_sn + places - 1) {
  if (serial_less(max_, granted)) max_ = granted;
}

CommandWindow::Verdict CommandWindow::judge(std::uint32_t cmd_sn) const {
  if (!contains(cmd_sn) || held_.contains(cmd_sn) || plugged_.contains(cmd_sn))
    return Verdict::drop;
  return cmd_sn == exp_ ? Verdict::deliver : Verdict::hold;
}

void CommandWindow::advance() {
  ISER_ASSERT(serial_less_equal(exp_, max_));
  ++exp_;
  skip_plugged();
}

std::optional<ControlPdu> CommandWindow::next_held() {
  const auto first = held_.find(exp_);
  if (first == held_.end()) return {};
  ControlPdu pdu = std::move(first->second);
  held_.erase(first);
  return pdu;
}

void CommandWindow::plug(std::uint32_t cmd_sn) {
  ISER_ASSERT(contains(cmd_sn));
  held_.erase(cmd_sn);
  plugged_.insert(cmd_sn);
  skip_plugged();
}

void CommandWindow::plug_before(std::uint32_t cmd_sn) {
  ISER_ASSERT(serial_less_equal(cmd_sn, max_ + 1));
  const std::uint32_t end = cmd_sn;
  while (serial_less(exp_, end)) plug(exp_);
}

void CommandWindow::skip_plugged() {
  while (plugged_.erase(exp_) != 0) {
    ++exp_;
    retire();
  }
}

}  // namespace openiser::iscsi
