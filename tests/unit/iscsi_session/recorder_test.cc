#include "iscsi/recorder.h"

#include <gtest/gtest.h>

#include "tests/support/fake_datamover.h"

namespace openiser::iscsi {
namespace {

// Hears what the recorder lets through.
struct Heard final : DatamoverClient {
  std::vector<Opcode> pdus;
  int puts = 0, acks = 0, ends = 0, turns = 0;
  void control_notify(ControlPdu pdu) override { pdus.push_back(pdu.bhs.opcode()); }
  void data_completion_notify(DataCompletion) override { ++puts; }
  void data_ack_notify(std::uint32_t, std::uint32_t) override { ++acks; }
  void connection_terminate_notify(ErrorCode) override { ++ends; }
  void turn_ended() override { ++turns; }
  std::uint32_t exp_stat_sn() const override { return 77; }
};

ControlPdu nop_in(std::uint32_t tag) {
  NopIn pdu;
  pdu.initiator_task_tag = tag;
  return {.bhs = encode(pdu), .ahs = {}, .data = {}};
}

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() { recorder.set_client(&heard); }
  bool has(const std::string& words) { return recorder.events().find(words) != std::string::npos; }

  ManualClock clock;
  test::FakeDatamover below;
  Heard heard;
  Recorder recorder{below, clock};
};

TEST_F(RecorderTest, PassesEverythingOn) {
  recorder.send_control(nop_in(7), nullptr);
  recorder.flush();
  recorder.deallocate_task_resources(9);
  recorder.connection_terminate(ErrorCode());
  EXPECT_EQ(below.sent.size(), 1u);
  EXPECT_EQ(below.flushes, 1);
  EXPECT_EQ(below.deallocated, std::vector<std::uint32_t>{9});
  EXPECT_EQ(below.terminations.size(), 1u);
  EXPECT_EQ(recorder.max_send_data_segment(), below.max_send_data_segment());

  DatamoverClient& from_below = recorder;
  from_below.control_notify(nop_in(8));
  from_below.data_completion_notify({});
  from_below.data_ack_notify(1, 2);
  from_below.turn_ended();
  from_below.connection_terminate_notify({});
  EXPECT_EQ(heard.pdus, std::vector<Opcode>{Opcode::nop_in});
  EXPECT_EQ(heard.puts + heard.acks + heard.turns + heard.ends, 4);
  EXPECT_EQ(from_below.exp_stat_sn(), 77u);
}

TEST_F(RecorderTest, KeepsWhatHappenedWithItsTask) {
  recorder.send_control(nop_in(7), nullptr);
  static_cast<DatamoverClient&>(recorder).control_notify(nop_in(8));
  recorder.deallocate_task_resources(9);
  EXPECT_TRUE(has("sent NOP-In  7 0")) << recorder.events();
  EXPECT_TRUE(has("received NOP-In  8 0")) << recorder.events();
  EXPECT_TRUE(has("Deallocate_Task_Resources  9"));
}

TEST_F(RecorderTest, SaysHowLongAgo) {
  recorder.deallocate_task_resources(9);
  clock.advance(std::chrono::milliseconds(1500));
  EXPECT_TRUE(has("1500.000 ms ago  Deallocate_Task_Resources")) << recorder.events();
}

}  // namespace
}  // namespace openiser::iscsi
