#include "iser/unexpected_pdus.h"

#include "base/serial.h"
#include "iser/message.h"

namespace openiser::iser {
namespace {

using iscsi::Bhs;
using iscsi::kReservedTag;
using iscsi::Opcode;

// A Reject may come in the place of an answer, for which the initiator has provided.
bool rejects_request(const iscsi::ControlPdu& reject) {
  const auto rejected = rejected_header(reject);
  return rejected && awaits_answer(rejected->opcode());
}

// PDUs that take part in CmdSN numbering (RFC 7143 section 4.2.2.1).
bool carries_cmd_sn(Opcode opcode) {
  return awaits_answer(opcode);
}

bool is_unexpected_of_initiator(const Bhs& bhs) {
  if (!bhs.immediate() || !carries_cmd_sn(bhs.opcode())) return false;
  // The answer to a NOP-In ping is expected (section 8.1.1.2 b).
  return bhs.opcode() != Opcode::nop_out || target_transfer_tag(bhs) == kReservedTag;
}

bool is_unexpected_of_target(const iscsi::ControlPdu& pdu) {
  switch (pdu.bhs.opcode()) {
    case Opcode::async_message:
      return true;
    case Opcode::nop_in:
      return pdu.bhs.initiator_task_tag() == kReservedTag;
    case Opcode::reject:
      return !rejects_request(pdu);
    default:
      return false;
  }
}

}  // namespace

bool is_unexpected(const iscsi::ControlPdu& pdu, Role sender) {
  return sender == Role::initiator ? is_unexpected_of_initiator(pdu.bhs)
                                   : is_unexpected_of_target(pdu);
}

bool is_nop_in_ping(const Bhs& bhs) {
  return bhs.opcode() == Opcode::nop_in && bhs.initiator_task_tag() == kReservedTag &&
         target_transfer_tag(bhs) != kReservedTag;
}

bool UnexpectedPdus::room_to_send(const iscsi::ControlPdu& pdu) const {
  if (limit_ == 0) return true;
  const bool keep_last = sender_ == Role::target && !is_nop_in_ping(pdu.bhs);
  return outstanding_ < limit_ - (keep_last ? 1 : 0);
}

bool UnexpectedPdus::passes(const iscsi::ControlPdu& pdu) {
  if (limit_ == 0) return true;
  if (sender_ == Role::initiator) close_run(pdu.bhs);
  if (!is_unexpected(pdu, sender_)) return true;
  if (outstanding_ >= limit_) return false;
  note(pdu.bhs);
  return true;
}

void UnexpectedPdus::answered(const Bhs& bhs) {
  if (outstanding_ == 0) return;
  if (sender_ == Role::initiator) {
    retire_runs(bhs.exp_cmd_sn());
  } else {
    retire_statuses(bhs);
  }
}

// A non-immediate PDU with CmdSN y: what came before has CmdSN x <= y and waits for ExpCmdSN > y.
void UnexpectedPdus::close_run(const Bhs& bhs) {
  if (open_run_ == 0 || bhs.immediate() || !carries_cmd_sn(bhs.opcode())) return;
  if (runs_.size() >= kFollowed) {
    runs_.back().cmd_sn = bhs.cmd_sn();
    runs_.back().count += open_run_;
  } else {
    runs_.push_back({bhs.cmd_sn(), open_run_});
  }
  open_run_ = 0;
}

void UnexpectedPdus::note(const Bhs& bhs) {
  if (sender_ == Role::initiator) {
    ++open_run_;
  } else if (statuses_.size() < kFollowed) {
    statuses_.push_back(
        {bhs.stat_sn(), is_nop_in_ping(bhs) ? target_transfer_tag(bhs) : kReservedTag});
  } else {
    return;
  }
  ++outstanding_;
}

void UnexpectedPdus::retire_runs(std::uint32_t exp_cmd_sn) {
  while (!runs_.empty() && serial_less(runs_.front().cmd_sn, exp_cmd_sn)) {
    outstanding_ -= runs_.front().count;
    runs_.pop_front();
  }
}

void UnexpectedPdus::retire_statuses(const Bhs& bhs) {
  const bool pong = bhs.opcode() == Opcode::nop_out && target_transfer_tag(bhs) != kReservedTag;
  std::erase_if(statuses_, [&](const Status& status) {
    return serial_less(status.stat_sn, bhs.exp_stat_sn()) ||
           (pong && status.target_transfer_tag == target_transfer_tag(bhs));
  });
  outstanding_ = static_cast<std::uint32_t>(statuses_.size());
}

}  // namespace openiser::iser
