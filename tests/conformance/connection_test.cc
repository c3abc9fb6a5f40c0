// How a connection begins and ends.
#include <filesystem>
#include <iterator>

#include "tests/conformance/fixture.h"

namespace openiser::conformance {
namespace {

using test::noise;

RCAP_SUITE(Connection);

TEST_P(Connection, BothEndsHearOfTheirEstablishmentOnce) {
  open();
  EXPECT_FALSE(a_->why());
  EXPECT_FALSE(b_->why());
}

TEST_P(Connection, EachEndGetsThePrivateDataOfTheOther) {
  open();
  expect_private_data(*a_, "from second");
  expect_private_data(*b_, "from first");
}

TEST_P(Connection, ReadLimitsAreWhatBothEndsBear) {
  open({.outbound_reads = 4, .inbound_reads = 8}, {.outbound_reads = 8, .inbound_reads = 4});
  EXPECT_EQ(first_pair().capabilities().outbound_reads, 4u);
  EXPECT_EQ(second_pair().capabilities().inbound_reads, 4u);
  EXPECT_EQ(second_pair().capabilities().outbound_reads, 8u);
}

TEST_P(Connection, GracefulEndIsNoErrorOnEitherEnd) {
  open();
  first_pair().disconnect();
  expect_both_ended({});
}

TEST_P(Connection, GracefulEndBySecond) {
  open_both_ways();
  second_pair().disconnect();
  expect_both_ended({});
}

TEST_P(Connection, EndWithAReasonReachesThePeer) {
  open_both_ways();
  second_pair().disconnect(errc::rdmap_stream_catastrophic);
  expect_both_ended(errc::rdmap_stream_catastrophic);
  EXPECT_EQ(*b_->why(), errc::rdmap_stream_catastrophic);
}

TEST_P(Connection, TheFirstReasonStays) {
  open();
  first_pair().disconnect(errc::rdmap_stream_catastrophic);
  first_pair().disconnect(errc::rdmap_global_catastrophic);
  expect_both_ended(errc::rdmap_stream_catastrophic);
  EXPECT_EQ(*a_->why(), errc::rdmap_stream_catastrophic);
}

TEST_P(Connection, AnEndBeforeTheStartIsTheOnlyThingHeard) {
  create();
  receive(first_pair(), 10);
  first_pair().disconnect();
  provider_->establish();
  run();
  EXPECT_FALSE(a_->how());
  EXPECT_TRUE(a_->why());
  EXPECT_TRUE(b_->why());
}

TEST_P(Connection, WhatIsFlushedBeforeTheEndStillArrives) {
  open();
  const auto message = noise(large() / 2);
  receive(second_pair(), message.size());
  send(first_pair(), message);
  first_pair().disconnect();
  run();
  ASSERT_EQ(b_->count(Kind::receive), 1u);
  EXPECT_EQ(b_->at(Kind::receive, 0).status, ErrorCode());
  EXPECT_EQ(received(*b_, 0), message);
  EXPECT_EQ(a_->at(Kind::send, 0).status, ErrorCode());
}

TEST_P(Connection, WhatIsNotFlushedIsFlushedOutByTheEnd) {
  open();
  receive(second_pair(), 10);
  first_pair().post_send({.id = 77, .head = filled(noise(10)), .body = {}, .invalidate = {}});
  ++posted_;
  first_pair().disconnect();
  run();
  ASSERT_EQ(a_->count(Kind::send), 1u);
  EXPECT_EQ(a_->at(Kind::send, 0).status, errc::flushed);
  EXPECT_EQ(a_->at(Kind::send, 0).id, 77u);
  EXPECT_EQ(a_->at(Kind::send, 0).buffer.size(), 10u);
  EXPECT_EQ(b_->at(Kind::receive, 0).status, errc::flushed);
}

TEST_P(Connection, WorkPostedAfterTheEndComesBackAtOnce) {
  open();
  first_pair().disconnect();
  run();
  receive(first_pair(), 10);
  send(first_pair(), noise(10), noise(5));
  write(first_pair(), noise(10), {});
  read(first_pair(), 10, {});
  a_->poll();
  for (const Kind kind : {Kind::receive, Kind::send, Kind::write, Kind::read}) {
    ASSERT_EQ(a_->count(kind), 1u);
    EXPECT_EQ(a_->at(kind, 0).status, errc::not_connected);
    EXPECT_EQ(a_->at(kind, 0).buffer.size(), 10u);
  }
  EXPECT_EQ(a_->at(Kind::send, 0).body.size(), 5u);
}

TEST_P(Connection, AnEndInTheMiddleOfEverythingBringsAllLeasesBack) {
  for (int steps = 0; steps < 60; steps += 7) {
    open_both_ways();
    std::vector<std::byte> memory(large());
    auto region = open_memory(memory, Access::remote_read_write);
    for (int n = 0; n < 3; ++n) {
      receive(second_pair(), 5000);
      receive(first_pair(), 5000);
      write(first_pair(), noise(large()), at(region));
      send(first_pair(), noise(3000), noise(2000));
      read(first_pair(), large(), at(region));
      send(second_pair(), noise(4000));
    }
    for (int n = 0; n < steps && step(); ++n) {
    }
    if (!provider_->cut()) second_pair().disconnect(errc::rdmap_local_catastrophic);
    run();
    region.invalidate();
    TearDown();
    posted_ = 0;
  }
  provider_.reset();
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_P(Connection, LeavesNoDescriptorOpen) {
  std::size_t before = 0;
  for (int n = 0; n < 4; ++n) {
    open();
    TearDown();
    provider_.reset();
    // What a library opens once is open by then.
    if (n == 0) before = open_descriptors();
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(Connection, ABrokenTransportIsReportedToBoth) {
  open();
  if (!provider_->cut()) GTEST_SKIP() << "this provider has no transport that could break";
  EXPECT_EQ(*a_->why(), make_error_code(boost::system::errc::connection_reset));
  EXPECT_EQ(*b_->why(), make_error_code(boost::system::errc::connection_reset));
}

TEST_P(Connection, ACutInTheMiddleOfAMessageIsNotAGracefulEnd) {
  open();
  receive(second_pair(), large());
  send(first_pair(), noise(large()));
  step();
  if (!provider_->cut()) GTEST_SKIP() << "this provider has no transport that could break";
  EXPECT_TRUE(*b_->why());
  EXPECT_EQ(b_->at(Kind::receive, 0).status, errc::flushed);
}

}  // namespace
}  // namespace openiser::conformance
