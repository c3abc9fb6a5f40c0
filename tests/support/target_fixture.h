// A target session over a FakeDatamover, with a handler that does what a test says.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "iscsi/pdu/ahs.h"
#include "iscsi/session/condition.h"
#include "iscsi/session/target_session.h"
#include "tests/support/fake_datamover.h"
#include "tests/support/sequence_monitor.h"

namespace openiser::test {

// Records tasks; tests answer them later, or set what happens at once.
class FakeHandler final : public TaskHandler {
 public:
  std::function<void(TargetTask&)> on_execute;
  std::function<void(TargetTask&, DataPieces&)> on_data;
  std::function<void(TargetTask&)> on_abort = [](TargetTask& task) { task.release(); };
  std::function<void(TaskManagementFunction, std::function<void(TaskManagementAnswer)>)> on_manage =
      [](TaskManagementFunction, const auto& done) { done(TaskManagementAnswer::complete); };

  std::vector<TargetTask*> executed;
  std::vector<TargetTask*> aborted;
  std::map<std::uint32_t, std::vector<std::byte>> data;  // by tag
  std::vector<TaskManagementFunction> managed;
  int memory_freed_calls = 0;

  void execute(TargetTask& task) override {
    executed.push_back(&task);
    if (on_execute) on_execute(task);
  }
  void data_received(TargetTask& task, DataPieces& pieces) override {
    auto& whole = data[task.initiator_task_tag];
    EXPECT_TRUE(whole.empty());
    for (const Buffer& piece : pieces)
      whole.insert(whole.end(), piece.bytes().begin(), piece.bytes().end());
    if (on_data) on_data(task, pieces);
  }
  void abort(TargetTask& task) override {
    aborted.push_back(&task);
    if (on_abort) on_abort(task);
  }
  void manage(TaskManagementFunction function, const Lun&,
              std::function<void(TaskManagementAnswer)> done) override {
    managed.push_back(function);
    on_manage(function, std::move(done));
  }
  void nexus_lost() override {
    if (on_nexus_lost) on_nexus_lost();
  }
  void memory_freed() override {
    ++memory_freed_calls;
    if (on_memory_freed) on_memory_freed();
  }
  std::function<void()> on_memory_freed;
  std::function<void()> on_nexus_lost;
};

class FakeSessionHost final : public SessionHost {
 public:
  ManualClock clock;
  std::vector<TargetRecord> records;
  std::vector<std::string> asked;
  std::vector<ErrorCode> ended;
  int deadline_changes = 0;

  std::vector<TargetRecord> send_targets(const std::string& name) override {
    asked.push_back(name);
    return records;
  }
  void session_ended(ErrorCode why) override { ended.push_back(why); }
  Time now() const override { return clock.now(); }
  void deadline_changed() override { ++deadline_changes; }
};

inline Lun lun_of(std::uint8_t number) {
  Lun lun{};
  store_u8(&lun[1], number);
  return lun;
}

inline std::vector<std::byte> random_bytes(std::size_t size, unsigned seed = 1) {
  std::vector<std::byte> bytes(size);
  unsigned state = seed * 2654435761u + 1;
  for (std::byte& b : bytes) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

inline Parameters session_parameters() {
  Parameters parameters;
  parameters.target_name = "iqn.2024-01.net.example:disk";
  parameters.initiator_name = "iqn.2024-01.net.example:host";
  parameters.cid = 7;
  parameters.initial_r2t = false;
  parameters.max_burst_length = 65536;
  parameters.first_burst_length = 16384;
  parameters.max_outstanding_r2t = 2;
  // Near the end of the number space, so that every test sees it wrap.
  parameters.next_cmd_sn = 0xfffffffe;
  parameters.next_stat_sn = 0xfffffffd;
  parameters.max_cmd_sn = parameters.next_cmd_sn + 31;
  return parameters;
}

class TargetFixture : public ::testing::Test {
 protected:
  explicit TargetFixture(Parameters p = session_parameters()) : parameters(std::move(p)) {
    limits.command_window = 32;
    limits.nop_interval = Duration::zero();
  }

  void start() {
    cmd_sn = parameters.next_cmd_sn;
    monitor = std::make_unique<TargetMonitor>(parameters);
    monitor->attach(datamover);
    session = TargetSession::create(
        parameters, datamover, parameters.session_type == SessionType::normal ? &handler : nullptr,
        host, limits);
  }

  // The next command in order.
  ScsiCommand command(std::uint32_t tag) {
    ScsiCommand pdu;
    pdu.initiator_task_tag = tag;
    pdu.cmd_sn = cmd_sn++;
    pdu.lun = lun_of(3);
    return pdu;
  }
  ScsiCommand read_command(std::uint32_t tag, std::uint32_t length) {
    ScsiCommand pdu = command(tag);
    pdu.read = true;
    pdu.expected_data_transfer_length = length;
    return pdu;
  }
  ScsiCommand write_command(std::uint32_t tag, std::uint32_t length, bool final = true) {
    ScsiCommand pdu = command(tag);
    pdu.write = true;
    pdu.final = final;
    pdu.expected_data_transfer_length = length;
    return pdu;
  }
  DataOut data_out(std::uint32_t tag, std::uint32_t sn, std::uint32_t offset, bool final) {
    DataOut pdu;
    pdu.initiator_task_tag = tag;
    pdu.data_sn = sn;
    pdu.buffer_offset = offset;
    pdu.final = final;
    return pdu;
  }
  TaskManagementRequest manage(TaskManagementFunction function, std::uint32_t tag,
                               std::uint32_t referenced = kReservedTag) {
    TaskManagementRequest pdu;
    pdu.function = static_cast<std::uint8_t>(function);
    pdu.initiator_task_tag = tag;
    pdu.referenced_task_tag = referenced;
    pdu.cmd_sn = cmd_sn;
    pdu.lun = lun_of(3);
    return pdu;
  }
  // The sense key, ASC and ASCQ of the response just taken.
  std::array<unsigned, 3> sense() const {
    const auto& data = datamover.last.data;
    if (data.size() < 2 + 14) return {};
    EXPECT_EQ(load_be16(data.data()), data.size() - 2);
    return {load_u8(&data[4]), load_u8(&data[14]), load_u8(&data[15])};
  }
  void expect_reject(RejectReason reason, const Bhs& of) {
    const auto pdu = datamover.take<Reject>();
    EXPECT_EQ(pdu.reason, reason);
    ASSERT_EQ(datamover.last.data.size(), kBhsSize);
    EXPECT_EQ(std::memcmp(&datamover.last.data[16], &of.raw[16], 32), 0);
    EXPECT_EQ(datamover.last.data[0], of.raw[0]);
  }

  Parameters parameters;
  TargetSessionLimits limits;
  FakeDatamover datamover;
  FakeHandler handler;
  FakeSessionHost host;
  std::unique_ptr<TargetMonitor> monitor;
  std::unique_ptr<TargetSession> session;
  std::uint32_t cmd_sn = 0;
};

}  // namespace openiser::test
