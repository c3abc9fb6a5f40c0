// RDMA Writes of whole regions received straight into these, several at once, before their headers
// have been seen.
#include <functional>
#include <list>
#include <random>
#include <utility>

#include "tests/unit/rdmap/core_support.h"

namespace openiser::rdmap::core_test {
namespace {

constexpr std::size_t kRegion = 4096;
constexpr std::size_t kStart = 16;  // length and header of a tagged FPDU

class CoreWriteGuess : public CoreTest {
 protected:
  struct Region {
    std::vector<std::byte> memory;
    MemoryRegion registered;
    ByteVector expected;
  };

  void SetUp() override { open_responder(); }
  void TearDown() override {
    regions_.clear();
    peer_.reset();
  }

  Region& region(std::size_t size = kRegion, Access access = Access::remote_write_fresh) {
    Region& made = regions_.emplace_back();
    made.memory.resize(size, std::byte{0xee});
    made.expected = made.memory;
    made.registered = *pair_->register_memory(made.memory, access);
    return made;
  }
  // Writes part of a region.
  ByteVector write(Region& to, std::size_t at, std::size_t size) {
    const ByteVector data = noise(size, ++seed_);
    std::ranges::copy(data, to.expected.begin() + static_cast<std::ptrdiff_t>(at));
    return peer_->fpdu(hex(write_header(to.registered.stag(), to.registered.base_offset() + at)) +
                       data);
  }
  ByteVector write(Region& to) { return write(to, 0, to.memory.size()); }
  ByteVector send_of(std::size_t size) {
    receive(4096);
    sizes_.push_back(size);
    return peer_->fpdu(hex(send_header(static_cast<std::uint32_t>(sizes_.size()))) +
                       noise(size, static_cast<std::uint32_t>(sizes_.size())));
  }
  // What is given next, in this order.
  void add(const ByteVector& bytes) { stream_ = stream_ + bytes; }
  void add_answer(Region& to) {
    add(write(to));
    add(send_of(76));
  }
  void give_added(std::size_t chunk = SIZE_MAX) { peer_->give(std::exchange(stream_, {}), chunk); }
  void give_answer(Region& to) {
    add_answer(to);
    give_added();
  }
  // Three writes and what comes with them show the rhythm.
  void settle() {
    for (int n = 0; n != 3; ++n) give_answer(region());
  }
  std::vector<MutableBytes> places() {
    std::array<MutableBytes, 256> into;
    return {into.begin(), into.begin() + static_cast<std::ptrdiff_t>(pair_->receive_space(into))};
  }
  bool is_offered(const Region& wanted) {
    return std::ranges::any_of(places(), [&wanted](MutableBytes place) {
      return place.data() == wanted.memory.data() && place.size() == wanted.memory.size();
    });
  }
  void expect_all() {
    EXPECT_EQ(pair_->close_wish(), CloseWish::none);
    std::size_t n = 0;
    for (const Region& each : regions_) EXPECT_TRUE(each.memory == each.expected) << n++;
    ASSERT_EQ(client().count(Kind::receive), sizes_.size());
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const Buffer& message = client().at(Kind::receive, i).buffer;
      EXPECT_TRUE(
          std::ranges::equal(message.bytes(), noise(sizes_[i], static_cast<std::uint32_t>(i + 1))));
    }
  }
  // A second connection.
  void again() {
    TearDown();
    pair_.reset();
    sizes_.clear();
    SetUp();
  }

  std::list<Region> regions_;
  std::vector<std::size_t> sizes_;
  ByteVector stream_;
  std::uint32_t seed_ = 1000;
};

TEST_F(CoreWriteGuess, FreshRegionsAreOfferedInTheirOrder) {
  settle();
  Region& first = region();
  Region& second = region(8192);
  const auto offered = places();
  ASSERT_EQ(offered.size(), 5u);
  EXPECT_EQ(offered[0].size(), kStart);
  EXPECT_EQ(offered[1].data(), first.memory.data());
  EXPECT_EQ(offered[1].size(), kRegion);
  EXPECT_EQ(offered[2].data(), offered[0].data() + kStart);
  EXPECT_EQ(offered[2].size(), 4 + peer_->fpdu(hex(send_header(1)) + noise(76)).size() + kStart);
  EXPECT_EQ(offered[3].data(), second.memory.data());
  EXPECT_EQ(offered[3].size(), 8192u);
  EXPECT_EQ(offered[4].data(), offered[2].data() + offered[2].size());
  again();
  settle();
  Region& one = region();
  Region& other = region();
  add_answer(one);
  add_answer(other);
  give_added();
  expect_all();
}

TEST_F(CoreWriteGuess, NothingIsOfferedBeforeTheRhythmIsKnown) {
  for (int n = 0; n != 2; ++n) {
    Region& next = region();
    EXPECT_FALSE(is_offered(next));
    give_answer(next);
  }
  EXPECT_FALSE(is_offered(region()));
  expect_all();
}

TEST_F(CoreWriteGuess, NorMemoryWhoseContentMatters) {
  settle();
  EXPECT_FALSE(is_offered(region(kRegion, Access::remote_write)));
  EXPECT_FALSE(is_offered(region(kRegion, Access::remote_read_write)));
  EXPECT_TRUE(is_offered(region()));
}

TEST_F(CoreWriteGuess, NorARegionThatHasBeenWrittenTo) {
  Region& first = region();
  peer_->give(write(first, 100, 200));
  settle();
  EXPECT_FALSE(is_offered(first));
  expect_all();
}

TEST_F(CoreWriteGuess, NorOneThatIsTooSmallOrTooLarge) {
  settle();
  EXPECT_FALSE(is_offered(region(1023)));
  again();
  settle();
  EXPECT_FALSE(is_offered(region(16 << 10)));
}

TEST_F(CoreWriteGuess, NotMoreIsOfferedThanOneReadTakes) {
  settle();
  for (int n = 0; n != 40; ++n) region();
  std::size_t total = 0;
  for (const MutableBytes place : places()) total += place.size();
  EXPECT_LE(total, std::size_t{96} << 10);
  EXPECT_GT(total, std::size_t{80} << 10);
}

TEST_F(CoreWriteGuess, TheStreamMayBeCutAnywhere) {
  const std::size_t fpdu = kStart + kRegion + 4;
  for (std::size_t cut = 1; cut < 2 * fpdu + 300; cut += cut % fpdu < 200 ? 1 : 127) {
    settle();
    for (int n = 0; n != 3; ++n) add_answer(region());
    const ByteVector stream = std::exchange(stream_, {});
    peer_->give(Bytes(stream).first(cut));
    peer_->give(Bytes(stream).subspan(cut));
    expect_all();
    again();
  }
}

TEST_F(CoreWriteGuess, WhatComesInsteadArrivesAllTheSame) {
  using Add = std::function<void(Region&, Region&, Region&)>;
  const std::vector<Add> rows = {// Another order.
                                 [this](Region& a, Region& b, Region& c) {
                                   for (Region* each : {&b, &a, &c}) add_answer(*each);
                                 },
                                 [this](Region& a, Region& b, Region& c) {
                                   for (Region* each : {&c, &b, &a}) add_answer(*each);
                                 },
                                 // Less than a region, or one in two.
                                 [this](Region& a, Region& b, Region& c) {
                                   add(write(a, 0, 4000));
                                   add(send_of(76));
                                   add(write(b, 0, 96));
                                   add(write(b, 96, 4000));
                                   add(send_of(76));
                                   add_answer(c);
                                 },
                                 [this](Region& a, Region& b, Region& c) {
                                   add_answer(a);
                                   add(write(b, 96, 4000));
                                   add(send_of(76));
                                   add_answer(c);
                                 },
                                 // Other Sends.
                                 [this](Region& a, Region& b, Region& c) {
                                   for (Region* each : {&a, &b, &c}) {
                                     add(write(*each));
                                     add(send_of(each == &b ? 60 : 80));
                                   }
                                 },
                                 [this](Region& a, Region& b, Region& c) {
                                   for (Region* each : {&a, &b, &c}) add(write(*each));
                                   for (const std::size_t size : {76u, 76u, 0u}) add(send_of(size));
                                 },
                                 [this](Region& a, Region&, Region&) {
                                   for (const std::size_t size : {3000u, 2000u, 0u})
                                     add(send_of(size));
                                   add(write(a));
                                   add(send_of(4000));
                                 },
                                 // A Send of the size of the write.
                                 [this](Region& a, Region&, Region&) {
                                   add(send_of(kRegion - 4));
                                   add(send_of(76));
                                   add_answer(a);
                                 }};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const std::size_t chunk : {SIZE_MAX, std::size_t{5000}, std::size_t{100}}) {
      SCOPED_TRACE(row);
      settle();
      Region& a = region();
      Region& b = region();
      Region& c = region();
      rows[row](a, b, c);
      give_added(chunk);
      // What a guess has left where nothing was to be written is of no account.
      for (Region* each : {&a, &b, &c}) add_answer(*each);
      give_added();
      expect_all();
      again();
    }
  }
}

TEST_F(CoreWriteGuess, AfterAWrongGuessThereIsNoneForAWhile) {
  settle();
  Region& never = region();
  Region& other = region();
  give_answer(other);
  EXPECT_TRUE(other.memory == other.expected);
  for (int n = 0; n != 63; ++n) {
    Region& next = region();
    EXPECT_FALSE(is_offered(next)) << n;
    give_answer(next);
  }
  Region& then = region();
  EXPECT_TRUE(is_offered(then));
  EXPECT_FALSE(is_offered(never)) << "it stood in the way once";
}

TEST_F(CoreWriteGuess, AWrongCrcIsFound) {
  const std::size_t fpdu = kStart + kRegion + 4;
  for (const std::size_t wrong : {kStart + 5, fpdu - 1, std::size_t{1200}}) {
    settle();
    for (int n = 0; n != 2; ++n) add_answer(region());
    stream_[wrong] ^= std::byte{1};
    give_added();
    expect_terminate("20020000", errc::mpa_crc);
    again();
  }
}

// Half of a payload is there when the region ends.
TEST_F(CoreWriteGuess, ARegionThatHasEndedIsNotTouched) {
  settle();
  Region& ended = region();
  add_answer(ended);
  const ByteVector stream = std::exchange(stream_, {});
  peer_->give(Bytes(stream).first(2000));
  ended.registered.invalidate();
  const std::vector<std::byte> then = ended.memory;
  peer_->give(Bytes(stream).subspan(2000));
  EXPECT_TRUE(ended.memory == then);
  EXPECT_EQ(pair_->close_wish(), CloseWish::after_sending);
}

TEST_F(CoreWriteGuess, AnyMixtureArrives) {
  for (unsigned seed = 1; seed != 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto chance = [&random](unsigned n) { return random() % n == 0; };
    for (int round = 0; round != 6; ++round) {
      settle();
      std::vector<Region*> open;
      for (int n = 0; n != 8; ++n)
        open.push_back(&region(chance(5) ? 1000 + random() % 3000 : kRegion));
      if (chance(2)) std::swap(open[random() % 8], open[random() % 8]);
      for (Region* each : open) {
        if (chance(8)) add(write(*each, 0, each->memory.size() / 2));
        add(write(*each));
        if (!chance(10)) add(send_of(chance(10) ? random() % 300 : 76));
      }
      give_added(chance(2) ? SIZE_MAX : 1 + random() % 9000);
    }
    expect_all();
    again();
  }
}

}  // namespace
}  // namespace openiser::rdmap::core_test
