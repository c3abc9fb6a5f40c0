// Sends, receives and invalidation (RFC 5040 section 5.3).
#include <set>

#include "tests/conformance/fixture.h"

namespace openiser::conformance {
namespace {

using test::noise;

RCAP_SUITE(Send);

TEST_P(Send, ArrivesWholeInEverySize) {
  open();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{4}, std::size_t{76},
        std::size_t{118}, std::size_t{119}, std::size_t{1436}, std::size_t{1437}, std::size_t{9000},
        std::size_t{64'750}, large()}) {
    if (size > large()) continue;
    const auto message = noise(size);
    receive(second_pair(), size);
    send(first_pair(), message);
    run();
    const std::size_t n = b_->count(Kind::receive);
    ASSERT_GT(n, 0u);
    EXPECT_EQ(b_->at(Kind::receive, n - 1).status, ErrorCode()) << size;
    EXPECT_EQ(received(*b_, n - 1), message) << size;
  }
}

TEST_P(Send, HeadAndBodyMakeOneMessage) {
  open();
  const auto whole = noise(large() / 2);
  for (const std::size_t head :
       {std::size_t{0}, std::size_t{1}, std::size_t{76}, std::size_t{2000}, whole.size()}) {
    receive(second_pair(), whole.size());
    send(first_pair(), Bytes(whole).first(head), Bytes(whole).subspan(head));
    run();
    const std::size_t n = b_->count(Kind::receive);
    ASSERT_GT(n, 0u);
    EXPECT_EQ(received(*b_, n - 1), whole) << head;
    EXPECT_EQ(a_->at(Kind::send, n - 1).buffer.size(), head);
    EXPECT_EQ(a_->at(Kind::send, n - 1).body.size(), whole.size() - head);
  }
}

TEST_P(Send, MessagesKeepTheirOrderAndEachTakesOneReceive) {
  open();
  for (std::size_t n = 0; n < 50; ++n) {
    second_pair().post_receive(leases_.lease(100), 1000 + n);
    ++posted_;
  }
  for (std::size_t n = 0; n < 50; ++n) send(first_pair(), noise(n, 7));
  run();
  ASSERT_EQ(b_->count(Kind::receive), 50u);
  std::set<rdmap::WorkId> used;
  for (std::size_t n = 0; n < 50; ++n) {
    EXPECT_TRUE(used.insert(b_->at(Kind::receive, n).id).second);
    EXPECT_EQ(b_->at(Kind::receive, n).buffer.size(), n);
  }
  EXPECT_EQ(*used.begin(), 1000u);
  EXPECT_EQ(*used.rbegin(), 1049u);
}

TEST_P(Send, NothingArrivesBeforeFlush) {
  open();
  receive(second_pair(), 10);
  first_pair().post_send({.id = 1, .head = filled(noise(10)), .body = {}, .invalidate = {}});
  ++posted_;
  run();
  EXPECT_EQ(b_->count(Kind::receive), 0u);
  first_pair().flush();
  run();
  EXPECT_EQ(b_->count(Kind::receive), 1u);
}

TEST_P(Send, SolicitedEventIsShown) {
  open();
  if (!provider_->tells_solicited_events())
    GTEST_SKIP() << "this device tells of no solicited events";
  receive(second_pair(), 10);
  receive(second_pair(), 10);
  send(first_pair(), noise(1), {}, {}, true);
  send(first_pair(), noise(1));
  run();
  EXPECT_TRUE(b_->at(Kind::receive, 0).solicited_event);
  EXPECT_FALSE(b_->at(Kind::receive, 1).solicited_event);
}

TEST_P(Send, BothWaysAtOnce) {
  open_both_ways();
  for (int n = 0; n < 20; ++n) {
    receive(first_pair(), 3000);
    receive(second_pair(), 3000);
    send(first_pair(), noise(2999, 1));
    send(second_pair(), noise(3000, 2));
  }
  run();
  ASSERT_EQ(a_->count(Kind::receive), 20u);
  ASSERT_EQ(b_->count(Kind::receive), 20u);
  EXPECT_EQ(received(*a_, 19), noise(3000, 2));
  EXPECT_EQ(received(*b_, 19), noise(2999, 1));
}

TEST_P(Send, InvalidateEndsTheNamedRegionAndIsReported) {
  open_both_ways();
  std::vector<std::byte> memory(100);
  std::vector<std::byte> other(100);
  auto region = open_memory(memory, Access::remote_write);
  auto untouched = open_memory(other, Access::remote_write);
  receive(second_pair(), 10);
  send(first_pair(), noise(5), {}, region.stag(), true);
  run();
  ASSERT_EQ(b_->count(Kind::receive), 1u);
  if (provider_->tells_invalidated()) {
    EXPECT_EQ(b_->at(Kind::receive, 0).invalidated, region.stag());
  }
  if (provider_->tells_solicited_events()) {
    EXPECT_TRUE(b_->at(Kind::receive, 0).solicited_event);
  }
  write(first_pair(), noise(100), at(untouched));
  run();
  EXPECT_FALSE(b_->why());
  EXPECT_EQ(other, noise(100));
  write(first_pair(), noise(1), at(region));
  expect_both_ended(errc::ddp_tagged_invalid_stag);
}

TEST_P(Send, InvalidationOfAnUnknownStagEndsTheConnection) {
  open_both_ways();
  receive(second_pair(), 10);
  send(first_pair(), noise(5), {}, Stag{0x12345678});
  expect_both_ended(errc::rdmap_cannot_invalidate);
  EXPECT_EQ(b_->at(Kind::receive, 0).status, errc::flushed);
}

TEST_P(Send, InvalidationOfARegionTwiceEndsTheConnection) {
  open_both_ways();
  if (!provider_->refuses_second_invalidation())
    GTEST_SKIP() << "this device does not refuse to invalidate an STag twice";
  std::vector<std::byte> memory(100);
  auto region = open_memory(memory, Access::remote_read);
  receive(second_pair(), 10);
  receive(second_pair(), 10);
  send(first_pair(), noise(5), {}, region.stag());
  send(first_pair(), noise(5), {}, region.stag());
  expect_both_ended(errc::rdmap_cannot_invalidate);
  EXPECT_EQ(b_->at(Kind::receive, 0).status, ErrorCode());
  EXPECT_EQ(b_->at(Kind::receive, 1).status, errc::flushed);
}

TEST_P(Send, WithoutAReceiveEndsTheConnection) {
  open();
  receive(second_pair(), 10);
  send(first_pair(), noise(10));
  send(first_pair(), noise(10));
  expect_both_ended(errc::ddp_untagged_no_buffer);
  EXPECT_EQ(b_->at(Kind::receive, 0).status, ErrorCode());
}

TEST_P(Send, OfNoBytesTakesAReceiveToo) {
  open();
  send(first_pair(), {});
  expect_both_ended(errc::ddp_untagged_no_buffer);
}

TEST_P(Send, LongerThanItsReceiveEndsTheConnection) {
  open();
  receive(second_pair(), 99);
  send(first_pair(), noise(100));
  expect_both_ended(errc::ddp_untagged_too_long);
  EXPECT_EQ(b_->at(Kind::receive, 0).status, errc::flushed);
}

TEST_P(Send, FarLongerThanItsReceiveWritesNothingBehindIt) {
  open();
  receive(second_pair(), 4000);
  send(first_pair(), noise(large()));
  expect_both_ended(errc::ddp_untagged_too_long);
}

TEST_P(Send, BeyondTheLargestFailsAlone) {
  open();
  receive(second_pair(), 10);
  Buffer huge = Buffer::allocate(std::size_t{first_pair().capabilities().max_send} + 1);
  first_pair().post_send({.id = 5, .head = std::move(huge), .body = {}, .invalidate = {}});
  ++posted_;
  send(first_pair(), noise(10));
  run();
  ASSERT_EQ(a_->count(Kind::send), 2u);
  EXPECT_EQ(a_->at(Kind::send, 0).status, errc::send_too_long);
  EXPECT_EQ(a_->at(Kind::send, 0).id, 5u);
  EXPECT_EQ(a_->at(Kind::send, 1).status, ErrorCode());
  EXPECT_EQ(received(*b_, 0), noise(10));
  EXPECT_FALSE(a_->why());
}

TEST_P(Send, PostedFromInsideACompletionGoesOut) {
  open_both_ways();
  int echoes = 0;
  for (int n = 0; n < 10; ++n) receive(second_pair(), 10);
  for (int n = 0; n < 10; ++n) receive(first_pair(), 10);
  b_->on_completions = [&] {
    while (echoes < static_cast<int>(b_->count(Kind::receive))) {
      ++echoes;
      send(second_pair(), noise(4));
    }
  };
  for (int n = 0; n < 10; ++n) send(first_pair(), noise(3));
  run();
  EXPECT_EQ(echoes, 10);
  EXPECT_EQ(a_->count(Kind::receive), 10u);
}

}  // namespace
}  // namespace openiser::conformance
