// What the loopback pair does beyond the conformance suite: steps, failures on demand, lifetimes.
#include <gtest/gtest.h>

#include <optional>

#include "rdmap/errors.h"
#include "rdmap/loopback/loopback.h"
#include "tests/support/rcap_client.h"

namespace openiser::rdmap {
namespace {

using test::noise;
using Kind = Completion::Kind;

class LoopbackTest : public ::testing::Test {
 protected:
  LoopbackTest() : a_(pair_->first()), b_(pair_->second()) {}

  static void send(QueuePair& from, std::size_t size = 4) {
    from.post_send(
        {.id = 1, .head = Buffer::copy_of(noise(size)), .body = {}, .invalidate = std::nullopt});
    from.flush();
  }

  std::optional<LoopbackPair> pair_{std::in_place};
  test::RecordingClient a_;
  test::RecordingClient b_;
};

TEST_F(LoopbackTest, EachStepIsOneOperation) {
  pair_->establish();
  for (int n = 0; n < 3; ++n) pair_->second().post_receive(Buffer::allocate(10), 1);
  for (int n = 0; n < 3; ++n) send(pair_->first());
  EXPECT_EQ(b_.count(Kind::receive), 0u);
  for (std::size_t n = 1; n <= 3; ++n) {
    EXPECT_TRUE(pair_->step());
    EXPECT_EQ(b_.count(Kind::receive), n);
  }
  EXPECT_FALSE(pair_->step());
}

TEST_F(LoopbackTest, NothingMovesBeforeItIsEstablished) {
  pair_->second().post_receive(Buffer::allocate(10), 1);
  send(pair_->first());
  EXPECT_FALSE(pair_->step());
  pair_->establish();
  EXPECT_EQ(pair_->run(), 1u);
  EXPECT_EQ(b_.count(Kind::receive), 1u);
}

TEST_F(LoopbackTest, TheNthOperationFailsAsAsked) {
  pair_->establish();
  for (int n = 0; n < 4; ++n) pair_->second().post_receive(Buffer::allocate(10), 1);
  for (int n = 0; n < 4; ++n) send(pair_->first());
  pair_->fail_after(2, errc::mpa_crc);
  pair_->run();
  EXPECT_EQ(*a_.why(), errc::mpa_crc);
  EXPECT_EQ(*b_.why(), errc::mpa_crc);
  ASSERT_EQ(a_.count(Kind::send), 4u);
  EXPECT_EQ(a_.at(Kind::send, 1).status, ErrorCode());
  EXPECT_EQ(a_.at(Kind::send, 2).status, errc::mpa_crc);
  EXPECT_EQ(a_.at(Kind::send, 3).status, errc::flushed);
  EXPECT_EQ(b_.at(Kind::receive, 1).status, ErrorCode());
  EXPECT_EQ(b_.at(Kind::receive, 2).status, errc::flushed);
}

TEST_F(LoopbackTest, TheResponseOfAReadMayFailToo) {
  pair_->establish();
  pair_->first().post_read({.id = 3, .sink = Buffer::allocate(0), .source = {}});
  pair_->first().flush();
  pair_->fail_after(1, errc::mpa_crc);
  pair_->run();
  ASSERT_EQ(a_.count(Kind::read), 1u);
  EXPECT_EQ(a_.at(Kind::read, 0).status, errc::mpa_crc);
}

TEST_F(LoopbackTest, AnEndThatGoesAwayIsALostTransportToTheOther) {
  pair_->establish();
  auto first = pair_->take_first();
  first.reset();
  pair_->run();
  ASSERT_TRUE(b_.why());
  EXPECT_EQ(*b_.why(), errc::transport_closed);
}

TEST_F(LoopbackTest, EndsMayOutliveThePair) {
  auto first = pair_->take_first();
  pair_->establish();
  pair_.reset();
  send(*first);
  first->disconnect();
}

TEST_F(LoopbackTest, WithoutRemoteInvalidateTheCapabilityIsOff) {
  LoopbackPair pair({.remote_invalidate = false}, {});
  EXPECT_FALSE(pair.first().capabilities().remote_invalidate);
  EXPECT_FALSE(pair.second().capabilities().remote_invalidate);
}

}  // namespace
}  // namespace openiser::rdmap
