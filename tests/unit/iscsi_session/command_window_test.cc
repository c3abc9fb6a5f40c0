#include "iscsi/session/command_window.h"

#include <gtest/gtest.h>

namespace openiser::iscsi {
namespace {

using Verdict = CommandWindow::Verdict;

TEST(CommandWindow, GrantsItsPlaces) {
  const CommandWindow window(10, 4, 0);
  EXPECT_EQ(window.exp_cmd_sn(), 10u);
  EXPECT_EQ(window.max_cmd_sn(), 13u);
}

TEST(CommandWindow, DoesNotTakeBackWhatLoginGranted) {
  EXPECT_EQ(CommandWindow(10, 4, 20).max_cmd_sn(), 20u);
  EXPECT_EQ(CommandWindow(10, 4, 12).max_cmd_sn(), 13u);
}

TEST(CommandWindow, JudgesEveryNumberAroundTheWindow) {
  const CommandWindow window(0xfffffffe, 4, 0xfffffffe);
  EXPECT_EQ(window.judge(0xfffffffd), Verdict::drop);
  EXPECT_EQ(window.judge(0xfffffffe), Verdict::deliver);
  EXPECT_EQ(window.judge(0xffffffff), Verdict::hold);
  EXPECT_EQ(window.judge(1), Verdict::hold);
  EXPECT_EQ(window.judge(2), Verdict::drop);
}

TEST(CommandWindow, StaysWhereItEndsUntilATaskEnds) {
  CommandWindow window(1, 2, 0);
  window.advance();
  window.advance();
  EXPECT_EQ(window.max_cmd_sn(), 2u);
  EXPECT_EQ(window.judge(3), Verdict::drop);
  window.retire();
  EXPECT_EQ(window.judge(3), Verdict::deliver);
}

TEST(CommandWindow, GivesHeldCommandsInOrder) {
  CommandWindow window(1, 8, 0);
  ControlPdu three;
  store_be32(&three.bhs.raw[24], 3);
  window.hold(3, std::move(three));
  window.hold(2, {});
  EXPECT_EQ(window.judge(2), Verdict::drop) << "a duplicate";
  EXPECT_FALSE(window.next_held());
  window.advance();
  EXPECT_TRUE(window.next_held());
  window.advance();
  const auto last = window.next_held();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->bhs.cmd_sn(), 3u);
}

TEST(CommandWindow, PluggedNumbersCountAsReceivedAndEnded) {
  CommandWindow window(1, 4, 0);
  window.plug(2);
  EXPECT_EQ(window.judge(2), Verdict::drop);
  EXPECT_EQ(window.exp_cmd_sn(), 1u);
  window.advance();
  EXPECT_EQ(window.exp_cmd_sn(), 3u);
  EXPECT_EQ(window.max_cmd_sn(), 5u);
}

TEST(CommandWindow, PlugDropsAHeldCommand) {
  CommandWindow window(1, 4, 0);
  window.hold(2, {});
  window.plug(2);
  window.advance();
  EXPECT_FALSE(window.next_held());
  EXPECT_EQ(window.exp_cmd_sn(), 3u);
}

TEST(CommandWindow, PlugsEverythingBefore) {
  CommandWindow window(0xffffffff, 4, 0);
  window.hold(0, {});
  window.plug(1);
  window.plug_before(2);
  EXPECT_EQ(window.exp_cmd_sn(), 2u);
  EXPECT_EQ(window.max_cmd_sn(), 2u + 3u);
  EXPECT_FALSE(window.next_held());
}

}  // namespace
}  // namespace openiser::iscsi
