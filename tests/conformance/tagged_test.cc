// RDMA Writes and Reads, memory regions and ordering (RFC 5040 sections 5.1, 5.2 and 5.5).
#include <algorithm>

#include "tests/conformance/fixture.h"

namespace openiser::conformance {
namespace {

using test::noise;
using Octets = std::vector<std::byte>;

RCAP_SUITE(Write);
RCAP_SUITE(Read);
RCAP_SUITE(Region);

TEST_P(Write, FillsExactlyTheMemoryNamed) {
  open();
  Octets memory(large() + 200, std::byte{0xee});
  auto region = second_pair().register_memory(MutableBytes(memory).subspan(100, large()),
                                              Access::remote_write);
  const auto data = noise(large());
  write(first_pair(), data, at(*region));
  run();
  EXPECT_TRUE(std::ranges::equal(Bytes(memory).subspan(100, large()), data));
  EXPECT_TRUE(
      std::ranges::all_of(Bytes(memory).first(100), [](auto b) { return b == std::byte{0xee}; }));
  EXPECT_TRUE(
      std::ranges::all_of(Bytes(memory).last(100), [](auto b) { return b == std::byte{0xee}; }));
  ASSERT_EQ(a_->count(Kind::write), 1u);
  EXPECT_EQ(a_->at(Kind::write, 0).buffer.size(), large());
}

TEST_P(Write, AtAnOffsetInEverySize) {
  open();
  Octets memory(70'000);
  auto region = open_memory(memory, Access::remote_write);
  for (const std::size_t size : {1, 2, 3, 5, 122, 123, 1439, 1440, 1441, 16'383, 16'384, 64'754}) {
    std::ranges::fill(memory, std::byte{});
    const auto data = noise(size, 3);
    write(first_pair(), data, at(region, 1001));
    run();
    EXPECT_TRUE(std::ranges::equal(Bytes(memory).subspan(1001, size), data)) << size;
    EXPECT_EQ(memory[1000], std::byte{});
    EXPECT_EQ(memory[1001 + size], std::byte{});
  }
}

TEST_P(Write, OfNoBytesNamesNoMemory) {
  open();
  write(first_pair(), {}, {Stag{0x55555555}, 77});
  run();
  EXPECT_EQ(a_->count(Kind::write), 1u);
  EXPECT_FALSE(a_->why());
  EXPECT_FALSE(b_->why());
}

TEST_P(Write, OneByteBeyondTheEndEndsTheConnection) {
  open();
  Octets memory(1000);
  auto region = open_memory(memory, Access::remote_write);
  write(first_pair(), noise(10), at(region, 991));
  expect_both_ended(errc::ddp_tagged_bounds);
}

TEST_P(Write, LargeAndOneByteBeyondTheEndWritesNothingBehindIt) {
  open();
  Octets memory(large());
  auto region =
      second_pair().register_memory(MutableBytes(memory).first(large() - 1), Access::remote_write);
  write(first_pair(), noise(large()), at(*region));
  expect_both_ended(errc::ddp_tagged_bounds);
  EXPECT_EQ(memory.back(), std::byte{});
}

TEST_P(Write, BeforeTheStartEndsTheConnection) {
  open();
  Octets memory(1000);
  auto region = open_memory(memory, Access::remote_write);
  if (region.base_offset() == 0) GTEST_SKIP() << "nothing lies before Tagged Offset 0";
  write(first_pair(), noise(10), {region.stag(), region.base_offset() - 1});
  expect_both_ended(errc::ddp_tagged_bounds);
}

TEST_P(Write, WhoseOffsetWrapsEndsTheConnection) {
  open();
  Octets memory(1000);
  auto region = open_memory(memory, Access::remote_write);
  write(first_pair(), noise(10), {region.stag(), UINT64_MAX - 5});
  expect_both_ended(errc::ddp_tagged_wrap);
}

TEST_P(Write, ToReadOnlyMemoryEndsTheConnection) {
  open();
  Octets memory(1000);
  auto region = open_memory(memory, Access::remote_read);
  write(first_pair(), noise(10), at(region));
  expect_both_ended(errc::rdmap_access);
  EXPECT_EQ(memory, Octets(1000));
}

TEST_P(Write, ToAnUnknownStagEndsTheConnection) {
  open();
  write(first_pair(), noise(10), {Stag{0xdeadbeef}, 0});
  expect_both_ended(errc::ddp_tagged_invalid_stag);
}

TEST_P(Write, IsPlacedBeforeALaterSendIsDelivered) {
  open();
  Octets memory(large());
  auto region = open_memory(memory, Access::remote_write);
  const auto data = noise(large());
  bool placed = false;
  b_->on_completions = [&] { placed = memory == data; };
  receive(second_pair(), 10);
  write(first_pair(), data, at(region));
  send(first_pair(), noise(10));
  run();
  ASSERT_EQ(b_->count(Kind::receive), 1u);
  EXPECT_TRUE(placed);
}

TEST_P(Read, BringsExactlyTheMemoryNamed) {
  open();
  auto memory = noise(large() + 64);
  auto region = open_memory(memory, Access::remote_read);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{7}, std::size_t{1440}, std::size_t{16'384}, large()}) {
    read(first_pair(), size, at(region, 33));
    run();
    const Completion& done = a_->completions.back();
    EXPECT_EQ(done.kind, Kind::read);
    EXPECT_EQ(done.status, ErrorCode());
    EXPECT_TRUE(std::ranges::equal(done.buffer.bytes(), Bytes(memory).subspan(33, size))) << size;
  }
}

TEST_P(Read, OfNoBytesNamesNoMemory) {
  open();
  read(first_pair(), 0, {Stag{0x77777777}, 1});
  run();
  ASSERT_EQ(a_->count(Kind::read), 1u);
  EXPECT_EQ(a_->at(Kind::read, 0).status, ErrorCode());
  EXPECT_FALSE(b_->why());
}

TEST_P(Read, BySecondEnd) {
  open_both_ways();
  auto memory = noise(large());
  auto region = first_pair().register_memory(memory, Access::remote_read);
  read(second_pair(), large(), at(*region));
  run();
  EXPECT_TRUE(std::ranges::equal(b_->at(Kind::read, 0).buffer.bytes(), memory));
}

TEST_P(Read, BeyondTheLimitWaitsInside) {
  open({.outbound_reads = 2}, {.inbound_reads = 2});
  auto memory = noise(40 * 1000);
  auto region = open_memory(memory, Access::remote_read);
  for (std::size_t n = 0; n < 40; ++n) read(first_pair(), 1000, at(region, n * 1000));
  run();
  ASSERT_EQ(a_->count(Kind::read), 40u);
  for (std::size_t n = 0; n < 40; ++n) {
    EXPECT_TRUE(std::ranges::equal(a_->at(Kind::read, n).buffer.bytes(),
                                   Bytes(memory).subspan(n * 1000, 1000)));
  }
}

TEST_P(Read, WithoutAnyCreditFailsAlone) {
  open({.outbound_reads = 0}, {});
  receive(second_pair(), 10);
  read(first_pair(), 10, {});
  send(first_pair(), noise(10));
  run();
  ASSERT_EQ(a_->count(Kind::read), 1u);
  EXPECT_EQ(a_->at(Kind::read, 0).status, errc::mpa_insufficient_ird);
  EXPECT_EQ(b_->count(Kind::receive), 1u);
  EXPECT_FALSE(a_->why());
}

TEST_P(Read, ManyOutstandingBothWays) {
  open_both_ways();
  auto mine = noise(20'000, 1);
  auto theirs = noise(20'000, 2);
  auto first = first_pair().register_memory(mine, Access::remote_read);
  auto second = open_memory(theirs, Access::remote_read);
  for (int n = 0; n < 16; ++n) {
    read(first_pair(), 20'000, at(second));
    read(second_pair(), 20'000, at(*first));
  }
  run();
  ASSERT_EQ(a_->count(Kind::read), 16u);
  ASSERT_EQ(b_->count(Kind::read), 16u);
  for (std::size_t n = 0; n < 16; ++n) {
    EXPECT_TRUE(std::ranges::equal(a_->at(Kind::read, n).buffer.bytes(), theirs));
    EXPECT_TRUE(std::ranges::equal(b_->at(Kind::read, n).buffer.bytes(), mine));
  }
}

// RFC 5040 section 5.5 rule 12.
TEST_P(Read, SeesWhatWasWrittenBefore) {
  open();
  Octets memory(large());
  auto region = open_memory(memory, Access::remote_read_write);
  const auto data = noise(large(), 9);
  write(first_pair(), data, at(region));
  read(first_pair(), large(), at(region));
  run();
  EXPECT_TRUE(std::ranges::equal(a_->at(Kind::read, 0).buffer.bytes(), data));
}

// RFC 5040 section 5.5 rules 15 and 18: a Send behind a Read is delivered without waiting for it,
// but completes after it.
TEST_P(Read, DoesNotHoldUpALaterSendButIsCompletedBeforeIt) {
  open();
  auto memory = noise(large());
  auto region = open_memory(memory, Access::remote_read);
  receive(second_pair(), 10);
  read(first_pair(), large(), at(region));
  send(first_pair(), noise(10));
  ASSERT_TRUE(run_until([&] { return b_->count(Kind::receive) == 1; }));
  EXPECT_LE(a_->count(Kind::send), a_->count(Kind::read));
  run();
  ASSERT_EQ(a_->completions.size(), 2u);
  EXPECT_EQ(a_->completions[0].kind, Kind::read);
  EXPECT_EQ(a_->completions[1].kind, Kind::send);
}

TEST_P(Read, OneByteBeyondTheEndEndsTheConnection) {
  open();
  Octets memory(1000);
  auto region = open_memory(memory, Access::remote_read);
  read(first_pair(), 10, at(region, 991));
  expect_both_ended(errc::rdmap_bounds);
}

TEST_P(Read, WhoseOffsetWrapsEndsTheConnection) {
  open();
  Octets memory(1000);
  auto region = open_memory(memory, Access::remote_read);
  read(first_pair(), 10, {region.stag(), UINT64_MAX - 5});
  expect_both_ended(errc::rdmap_wrap);
}

TEST_P(Read, OfWriteOnlyMemoryEndsTheConnection) {
  open();
  if (!provider_->checks_read_access())
    GTEST_SKIP() << "this device lets the peer read what is open for writing alone";
  Octets memory(1000);
  auto region = open_memory(memory, Access::remote_write);
  read(first_pair(), 10, at(region));
  expect_both_ended(errc::rdmap_access);
}

TEST_P(Read, OfAnUnknownStagEndsTheConnection) {
  open();
  read(first_pair(), 10, {Stag{0xdeadbeef}, 0});
  expect_both_ended(errc::rdmap_invalid_stag);
}

TEST_P(Read, OutstandingAtAGracefulEndIsFlushed) {
  open();
  auto memory = noise(large());
  auto region = open_memory(memory, Access::remote_read);
  read(first_pair(), large(), at(region));
  step();
  first_pair().disconnect();
  run();
  ASSERT_EQ(a_->count(Kind::read), 1u);
  EXPECT_EQ(*a_->why(), ErrorCode());
}

TEST_P(Region, IsFoundNoMoreAfterItsEnd) {
  open();
  Octets memory(1000);
  auto region = open_memory(memory, Access::remote_write);
  const RemoteMemory stale = at(region);
  region.invalidate();
  EXPECT_FALSE(region);
  auto next = open_memory(memory, Access::remote_write);
  EXPECT_NE(next.stag(), stale.stag);
  write(first_pair(), noise(10), stale);
  expect_both_ended(errc::ddp_tagged_invalid_stag);
  EXPECT_EQ(memory, Octets(1000));
}

TEST_P(Region, TheTableIsBounded) {
  open();
  std::vector<MemoryRegion> regions;
  std::byte byte{};
  while (regions.size() < 100'000) {
    auto region = second_pair().register_memory({&byte, 1}, Access::remote_read);
    if (!region) {
      EXPECT_EQ(region.error(), errc::too_many_regions);
      break;
    }
    regions.push_back(std::move(*region));
  }
  ASSERT_LT(regions.size(), 100'000u);
  regions.pop_back();
  EXPECT_TRUE(second_pair().register_memory({&byte, 1}, Access::remote_read));
}

TEST_P(Region, ZeroBasedOffsetsStartAtZero) {
  open({}, {.zero_based_offsets = true});
  if (!provider_->has_zero_based_offsets())
    GTEST_SKIP() << "this device's regions start at their address";
  ASSERT_TRUE(second_pair().capabilities().zero_based_offsets);
  Octets memory(10);
  auto region = open_memory(memory, Access::remote_write);
  EXPECT_EQ(region.base_offset(), 0u);
  write(first_pair(), noise(10), at(region));
  run();
  EXPECT_EQ(memory, noise(10));
}

TEST_P(Region, DestroyedWhileBeingWrittenIsNotTouchedAfterwards) {
  for (int steps = 1; steps < 400; steps = steps * 3 / 2 + 1) {
    open();
    auto memory = std::make_unique<Octets>(large());
    auto region = open_memory(*memory, Access::remote_write);
    for (int n = 0; n < 3; ++n) write(first_pair(), noise(large()), at(region));
    int left = steps;
    while (left > 0 && step()) --left;
    region.invalidate();
    memory.reset();  // a sanitizer sees any further access
    run();
    if (left == 0 && b_->why() && provider_->tells_reasons()) {
      EXPECT_EQ(*b_->why(), errc::ddp_tagged_invalid_stag);
    }
    TearDown();
    posted_ = 0;
  }
  provider_.reset();
}

TEST_P(Region, DestroyedWhileBeingReadIsNotTouchedAfterwards) {
  for (int steps = 1; steps < 400; steps = steps * 3 / 2 + 1) {
    open();
    auto memory = std::make_unique<Octets>(noise(large()));
    auto region = open_memory(*memory, Access::remote_read);
    for (int n = 0; n < 3; ++n) read(first_pair(), large(), at(region));
    int left = steps;
    while (left > 0 && step()) --left;
    region.invalidate();
    std::ranges::fill(*memory, std::byte{0xaa});
    memory.reset();
    run();
    if (a_->why() && provider_->tells_reasons()) {
      EXPECT_EQ(*a_->why(), errc::rdmap_invalid_stag);
    }
    const auto expected = noise(large());
    for (const Completion* done : a_->of(Kind::read)) {
      EXPECT_TRUE(done->status || !provider_->ends_reads_with_region() ||
                  std::ranges::equal(done->buffer.bytes(), expected));
    }
    TearDown();
    posted_ = 0;
  }
  provider_.reset();
}

TEST_P(Region, MayEndAfterTheConnectionHas) {
  open();
  Octets memory(10);
  auto region = open_memory(memory, Access::remote_write);
  first_pair().disconnect();
  run();
  EXPECT_TRUE(b_->why());
  region.invalidate();
}

}  // namespace
}  // namespace openiser::conformance
