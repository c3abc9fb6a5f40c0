// Whose request is under way, when there are more than places.
#include "target/store/file_turns.h"

#include <gtest/gtest.h>

#include <vector>

namespace openiser::target {
namespace {

class Request final : public StoreRequest {
 public:
  void done() override {}
};

class FileTurnsTest : public ::testing::Test {
 protected:
  // How many of `count` requests to `fd` begin at once.
  int begin(int fd, int count) {
    int begun = 0;
    for (int i = 0; i < count; ++i) begun += turns.begins({fd, &request});
    return begun;
  }
  // The files whose requests start as `count` requests to `fd` end; -1 for none.
  std::vector<int> end(int fd, int count) {
    std::vector<int> started;
    for (int i = 0; i < count; ++i) {
      const auto turn = turns.ended(fd);
      started.push_back(turn ? turn->fd : -1);
    }
    return started;
  }

  Request request;
  FileTurns turns{12};
};

TEST_F(FileTurnsTest, OneFileLeavesPlacesToOthers) {
  EXPECT_EQ(begin(3, 100), 6);
}

// Each is first heard of when all before it have come to a stand.
TEST_F(FileTurnsTest, FilesThatComeToAStandOneAfterTheOtherHoldUpNoNewcomer) {
  EXPECT_EQ(begin(3, 100), 6);
  EXPECT_EQ(begin(4, 100), 4);
  EXPECT_GE(begin(5, 1), 1);
}

TEST_F(FileTurnsTest, FilesKnownBeforeHoldUpNobody) {
  for (int fd = 0; fd < 11; ++fd) {
    begin(fd, 1);
    end(fd, 1);
  }
  for (int fd = 0; fd < 11; ++fd) EXPECT_EQ(begin(fd, 100), 1) << fd;
}

TEST_F(FileTurnsTest, AnEndStartsTheNextOfTheSameFile) {
  begin(3, 8);
  EXPECT_EQ(end(3, 8), (std::vector<int>{3, 3, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(begin(3, 1), 1);
}

TEST_F(FileTurnsTest, NobodyOvertakesInAFile) {
  Request first, second;
  begin(3, 6);
  EXPECT_FALSE(turns.begins({3, &first}));
  EXPECT_FALSE(turns.begins({3, &second}));
  EXPECT_EQ(turns.ended(3)->request, &first);
  EXPECT_EQ(turns.ended(3)->request, &second);
}

// File 4 got what file 3 had left, and its fair share only as file 3 goes on.
TEST_F(FileTurnsTest, AFileOverItsShareGivesPlacesAway) {
  begin(3, 100);
  begin(4, 100);
  begin(5, 100);
  const std::vector<int> started = end(3, 6);
  EXPECT_EQ(std::vector<int>(started.begin(), started.begin() + 3), (std::vector<int>{5, -1, -1}));
  EXPECT_EQ(std::vector<int>(started.begin() + 3, started.end()), (std::vector<int>{3, 3, 3}));
}

TEST_F(FileTurnsTest, WithMoreFilesThanPlacesAllGetTheirTurn) {
  int begun = 0;
  for (int fd = 0; fd < 30; ++fd) begun += begin(fd, 1);
  EXPECT_EQ(begun, 12);
  int started = 0;
  for (int fd = 0; fd < 30; ++fd) started += end(fd, 1) != std::vector<int>{-1};
  EXPECT_EQ(started, 18);
}

}  // namespace
}  // namespace openiser::target
