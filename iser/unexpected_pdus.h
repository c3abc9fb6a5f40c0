// Unexpected control-type PDUs (RFC 7145 sections 8.1.1.3 and 8.1.2): those the receiver has not
// asked for, of which no more than the receiver's MaxOutstandingUnexpectedPDUs may be outstanding.
// One object follows one direction of a connection; sender and receiver use it alike, the one to
// hold back, the other to catch a peer that does not.
#pragma once

#include <cstdint>
#include <deque>

#include "iscsi/pdu/pdu.h"
#include "iser/iser_datamover.h"

namespace openiser::iser {

// Whether a PDU that `sender` sends is unexpected.
bool is_unexpected(const iscsi::ControlPdu& pdu, Role sender);
// A NOP-In that asks for a NOP-Out.
bool is_nop_in_ping(const iscsi::Bhs& bhs);

class UnexpectedPdus {
 public:
  // `limit`: what the receiver declared; 0 for none.
  UnexpectedPdus(Role sender, std::uint32_t limit) : sender_(sender), limit_(limit) {}

  // Whether one more is within the limit. A target keeps its last slot for a ping, so that the
  // initiator gets a chance to say what it has seen (section 8.1.2, second implementation note).
  bool room_to_send(const iscsi::ControlPdu& pdu) const;
  // A PDU of the sender's passes, in the order sent. False when it exceeds the limit.
  bool passes(const iscsi::ControlPdu& pdu);
  // A PDU of the other side's passes, which may retire some.
  void answered(const iscsi::Bhs& bhs);

  std::uint32_t outstanding() const { return outstanding_; }

 private:
  // Immediate PDUs of an initiator, in runs: retired when the target's ExpCmdSN passes the CmdSN of
  // the non-immediate PDU sent behind them.
  struct Run {
    std::uint32_t cmd_sn;
    std::uint32_t count;
  };
  // PDUs of a target: retired when the initiator's ExpStatSN passes StatSN, pings by their answer.
  struct Status {
    std::uint32_t stat_sn;
    std::uint32_t target_transfer_tag;
  };
  // More than this many are no longer followed one by one.
  static constexpr std::size_t kFollowed = 1024;

  void close_run(const iscsi::Bhs& bhs);
  void note(const iscsi::Bhs& bhs);
  void retire_runs(std::uint32_t exp_cmd_sn);
  void retire_statuses(const iscsi::Bhs& bhs);

  Role sender_;
  std::uint32_t limit_;
  std::uint32_t outstanding_ = 0;
  std::uint32_t open_run_ = 0;
  std::deque<Run> runs_;
  std::deque<Status> statuses_;
};

}  // namespace openiser::iser
