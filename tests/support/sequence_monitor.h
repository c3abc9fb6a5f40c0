// Checks the numbers of every PDU that one side sends, as a strict peer would
// (RFC 7143 section 4.2.2).
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "base/serial.h"
#include "iscsi/errors.h"
#include "iscsi/login/parameters.h"
#include "iscsi/pdu/pdu.h"
#include "tests/support/fake_datamover.h"

namespace openiser::test {

using namespace iscsi;  // NOLINT: tests speak of little else

// What a target sends.
class TargetMonitor {
 public:
  explicit TargetMonitor(const Parameters& parameters)
      : parameters_(parameters),
        next_stat_sn_(parameters.next_stat_sn),
        exp_cmd_sn_(parameters.next_cmd_sn),
        max_cmd_sn_(parameters.max_cmd_sn) {}

  void attach(FakeDatamover& datamover) {
    datamover.on_control = [this](const auto& control) { control_pdu(control.bhs); };
    datamover.on_put = [this, &datamover](const auto& put) {
      data_in(put.pdu, put.data.size(),
              datamover.data_in_pdus(static_cast<std::uint32_t>(put.data.size())));
    };
    datamover.on_get = [this](const R2t& pdu) { r2t(pdu); };
  }

  void control_pdu(const Bhs& bhs) {
    window(bhs.exp_cmd_sn(), bhs.max_cmd_sn());
    EXPECT_EQ(bhs.stat_sn(), next_stat_sn_);
    const bool counts = bhs.opcode() != Opcode::nop_in || bhs.initiator_task_tag() != kReservedTag;
    if (counts) ++next_stat_sn_;
    if (bhs.opcode() == Opcode::scsi_response) {
      const auto response = decode<ScsiResponse>(bhs);
      ASSERT_TRUE(response);
      EXPECT_EQ(response->exp_data_sn, tasks_[response->initiator_task_tag].data_ins);
      tasks_.erase(response->initiator_task_tag);
    }
  }
  void data_in(const DataIn& pdu, std::size_t size, std::uint32_t count) {
    window(pdu.exp_cmd_sn, pdu.max_cmd_sn);
    EXPECT_FALSE(pdu.acknowledge);
    EXPECT_FALSE(pdu.has_status) << "phase collapse";
    EXPECT_GT(size, 0u);
    Task& task = tasks_[pdu.initiator_task_tag];
    EXPECT_EQ(pdu.data_sn, task.next_sn);
    EXPECT_GE(pdu.buffer_offset, task.read_offset);
    task.read_offset = pdu.buffer_offset + static_cast<std::uint32_t>(size);
    task.next_sn += count;
    task.data_ins += count;
    task.sequence += size;
    EXPECT_LE(task.sequence, parameters_.max_burst_length) << "F is missing";
    if (pdu.final) task.sequence = 0;
  }
  void r2t(const R2t& pdu) {
    window(pdu.exp_cmd_sn, pdu.max_cmd_sn);
    EXPECT_EQ(pdu.stat_sn, next_stat_sn_);
    EXPECT_NE(pdu.target_transfer_tag, kReservedTag);
    EXPECT_GT(pdu.desired_data_transfer_length, 0u);
    EXPECT_LE(pdu.desired_data_transfer_length, parameters_.max_burst_length);
    EXPECT_EQ(pdu.r2t_sn, tasks_[pdu.initiator_task_tag].next_sn++);
  }

 private:
  struct Task {
    std::uint32_t next_sn = 0;
    std::uint32_t data_ins = 0;
    std::uint32_t read_offset = 0;
    std::uint64_t sequence = 0;
  };
  void window(std::uint32_t exp, std::uint32_t max) {
    EXPECT_TRUE(serial_less_equal(exp_cmd_sn_, exp)) << "ExpCmdSN went back";
    EXPECT_TRUE(serial_less_equal(max_cmd_sn_, max)) << "MaxCmdSN went back";
    EXPECT_TRUE(serial_less_equal(exp - 1, max)) << "MaxCmdSN below ExpCmdSN - 1";
    exp_cmd_sn_ = exp;
    max_cmd_sn_ = max;
  }

  Parameters parameters_;
  std::uint32_t next_stat_sn_;
  std::uint32_t exp_cmd_sn_;
  std::uint32_t max_cmd_sn_;
  std::map<std::uint32_t, Task> tasks_;
};

// What an initiator sends, given the window the target has granted.
class InitiatorMonitor {
 public:
  explicit InitiatorMonitor(const Parameters& parameters)
      : parameters_(parameters),
        cmd_sn_(parameters.next_cmd_sn),
        max_cmd_sn_(parameters.max_cmd_sn),
        exp_stat_sn_(parameters.next_stat_sn) {}

  void granted(std::uint32_t max_cmd_sn) {
    if (serial_less(max_cmd_sn_, max_cmd_sn)) max_cmd_sn_ = max_cmd_sn;
  }
  // The target has used StatSN `stat_sn`.
  void status_received(std::uint32_t stat_sn) { exp_stat_sn_ = stat_sn + 1; }

  void control_pdu(const FakeDatamover::Control& control) {
    const Bhs& bhs = control.bhs;
    EXPECT_EQ(bhs.exp_stat_sn(), exp_stat_sn_);
    if (bhs.opcode() == Opcode::data_out)
      return data_out(control.as<DataOut>(), control.data.size());
    EXPECT_EQ(bhs.cmd_sn(), cmd_sn_);
    if (!bhs.immediate()) {
      EXPECT_TRUE(serial_less_equal(cmd_sn_, max_cmd_sn_)) << "beyond the window";
      ++cmd_sn_;
    }
    if (bhs.opcode() == Opcode::scsi_command) command(control);
  }

 private:
  struct Burst {
    std::uint32_t offset = 0;
    std::uint32_t data_sn = 0;
    std::uint32_t limit = 0;
    std::uint32_t segment = 0;
    bool open = false;
  };
  void command(const FakeDatamover::Control& control) {
    const auto pdu = control.as<ScsiCommand>();
    const auto immediate = static_cast<std::uint32_t>(control.data.size());
    EXPECT_TRUE(parameters_.immediate_data || immediate == 0);
    EXPECT_TRUE(!parameters_.initial_r2t || pdu.final);
    const std::uint32_t limit =
        std::min(parameters_.first_burst_length, pdu.expected_data_transfer_length);
    EXPECT_LE(immediate, limit);
    bursts_[pdu.initiator_task_tag] = {immediate, 0, limit,
                                       parameters_.max_send_data_segment_length, !pdu.final};
  }
  void data_out(const DataOut& pdu, std::size_t size) {
    Burst& burst = bursts_[pdu.initiator_task_tag];
    EXPECT_TRUE(burst.open) << "unsolicited data after F";
    EXPECT_EQ(pdu.target_transfer_tag, kReservedTag);
    EXPECT_EQ(pdu.data_sn, burst.data_sn++);
    EXPECT_EQ(pdu.buffer_offset, burst.offset);
    burst.offset += static_cast<std::uint32_t>(size);
    EXPECT_LE(burst.offset, burst.limit);
    EXPECT_TRUE(pdu.final || size == burst.segment) << "all but the last are full";
    EXPECT_TRUE(!pdu.final || burst.offset == burst.limit) << "RFC 7143 section 4.2.5.2";
    burst.open = !pdu.final;
  }

  Parameters parameters_;
  std::uint32_t cmd_sn_;
  std::uint32_t max_cmd_sn_;
  std::uint32_t exp_stat_sn_;
  std::map<std::uint32_t, Burst> bursts_;
};

}  // namespace openiser::test
