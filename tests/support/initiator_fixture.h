// An initiator session over a FakeDatamover.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "iscsi/session/condition.h"
#include "iscsi/session/initiator_session.h"
#include "tests/support/fake_datamover.h"
#include "tests/support/sequence_monitor.h"
#include "tests/support/target_fixture.h"

namespace openiser::test {

class TestTask final : public InitiatorTask {
 public:
  std::function<void()> on_done;
  int times_done = 0;
  void done() override {
    ++times_done;
    // It may destroy the task.
    if (const auto call = std::move(on_done)) call();
  }
};

class FakeInitiatorHost final : public InitiatorSessionHost {
 public:
  ManualClock clock;
  std::vector<ErrorCode> ended;
  std::vector<AsyncMessage> messages;
  std::function<void()> on_ended;
  int deadline_changes = 0;

  void session_ended(ErrorCode why) override {
    ended.push_back(why);
    if (on_ended) on_ended();
  }
  void async_message(const AsyncMessage& message, Bytes) override { messages.push_back(message); }
  Time now() const override { return clock.now(); }
  void deadline_changed() override { ++deadline_changes; }
};

class InitiatorFixture : public ::testing::Test {
 protected:
  explicit InitiatorFixture(Parameters p = session_parameters()) : parameters(std::move(p)) {
    limits.nop_interval = Duration::zero();
    parameters.max_send_data_segment_length = datamover.max_segment;
  }

  void start() {
    stat_sn = parameters.next_stat_sn;
    exp_cmd_sn = parameters.next_cmd_sn;
    max_cmd_sn = parameters.max_cmd_sn;
    monitor = std::make_unique<InitiatorMonitor>(parameters);
    datamover.on_control = [this](const auto& control) { monitor->control_pdu(control); };
    session = InitiatorSession::create(parameters, datamover, host, limits);
  }

  // Fills the numbers of a response that counts.
  template <class Response>
  Response numbered(Response response) {
    response.stat_sn = stat_sn++;
    response.exp_cmd_sn = exp_cmd_sn;
    response.max_cmd_sn = max_cmd_sn;
    monitor->status_received(response.stat_sn);
    monitor->granted(response.max_cmd_sn);
    return response;
  }
  // Answers a command and gives its place in the window back.
  void answer(std::uint32_t tag, std::uint8_t status = 0, Bytes data = {}) {
    ScsiResponse response;
    response.initiator_task_tag = tag;
    response.status = status;
    ++exp_cmd_sn;
    ++max_cmd_sn;
    datamover.deliver(numbered(response), data);
  }
  void answer_management(std::uint32_t tag, TaskManagementAnswer a) {
    TaskManagementResponse response;
    response.initiator_task_tag = tag;
    response.response = a;
    datamover.deliver(numbered(response));
  }
  void reject(const Bhs& bhs, RejectReason reason) {
    Reject pdu;
    pdu.reason = reason;
    datamover.deliver(numbered(pdu), bhs.raw);
  }
  // The target's text in answer to the request just taken.
  void answer_text(std::uint32_t tag, std::string_view text, bool final,
                   std::uint32_t target_transfer_tag) {
    TextResponse response;
    response.initiator_task_tag = tag;
    response.final = final;
    response.continues = !final;
    response.target_transfer_tag = target_transfer_tag;
    datamover.deliver(numbered(response), as_bytes(text));
  }
  void expect_ended(ErrorCode why) {
    ASSERT_TRUE(datamover.terminated());
    EXPECT_TRUE(host.ended.empty());
    datamover.drop();
    EXPECT_EQ(host.ended, std::vector<ErrorCode>{why});
  }

  Parameters parameters;
  InitiatorSessionLimits limits;
  FakeDatamover datamover;
  FakeInitiatorHost host;
  std::unique_ptr<InitiatorMonitor> monitor;
  std::unique_ptr<InitiatorSession> session;
  std::uint32_t stat_sn = 0;
  std::uint32_t exp_cmd_sn = 0;
  std::uint32_t max_cmd_sn = 0;
};

}  // namespace openiser::test
