// How received bytes find their place.
#include "tests/unit/rdmap/core_support.h"

namespace openiser::rdmap::core_test {
namespace {

class CoreReceive : public CoreTest {
 protected:
  void SetUp() override {
    open_responder();
    region_ = std::move(*pair_->register_memory(memory_, Access::remote_read_write));
  }
  void TearDown() override {
    region_.invalidate();
    // The peer goes first: it detaches.
    peer_.reset();
  }
  ByteVector large_write(std::uint64_t at = 0) {
    return peer_->fpdu(hex(write_header(region_.stag(), region_.base_offset() + at)) + payload_);
  }
  // Where the next bytes go.
  std::vector<MutableBytes> places() {
    std::array<MutableBytes, 8> into;
    const std::size_t count = pair_->receive_space(into);
    return {into.begin(), into.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  ByteVector payload_ = noise(60'000);
  std::vector<std::byte> memory_ = std::vector<std::byte>(100'000);
  MemoryRegion region_;
};

TEST_F(CoreReceive, TheRestOfALargePayloadIsReceivedWhereItBelongs) {
  const ByteVector fpdu = large_write(7);
  peer_->give(Bytes(fpdu).first(1000));
  const auto next = places();
  ASSERT_EQ(next.size(), 2u);
  // 2 octets of length and 14 of header are not payload.
  EXPECT_EQ(next[0].data(), memory_.data() + 7 + 1000 - 16);
  EXPECT_EQ(next[0].size(), payload_.size() - (1000 - 16));
  EXPECT_GE(next[1].size(), 7u);
  peer_->give(Bytes(fpdu).subspan(1000));
  EXPECT_TRUE(std::ranges::equal(Bytes(memory_).subspan(7, payload_.size()), payload_));
  EXPECT_EQ(pair_->close_wish(), CloseWish::none);
}

TEST_F(CoreReceive, ASmallPayloadIsGatheredWithWhatFollows) {
  const ByteVector fpdu =
      peer_->fpdu(hex(write_header(region_.stag(), region_.base_offset())) + noise(1000));
  peer_->give(Bytes(fpdu).first(100));
  const auto next = places();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_GE(next[0].size(), 64u << 10);
}

TEST_F(CoreReceive, APeerWithMuchUnderWayIsReadFromInLargerPieces) {
  const ByteVector fpdu =
      peer_->fpdu(hex(write_header(region_.stag(), region_.base_offset())) + noise(1000));
  std::size_t given = 0;
  const auto give = [&](std::size_t n) {
    ByteVector bytes;
    for (; bytes.size() < n; ++given) bytes.push_back(fpdu[given % fpdu.size()]);
    peer_->give(bytes);
  };
  const auto room = [&] { return places().front().size(); };
  const std::size_t usual = room();
  for (int full = 0; full != 3; ++full) {
    ASSERT_EQ(room(), usual);
    give(usual);
  }
  const std::size_t deep = room();
  EXPECT_EQ(deep, 2 * usual);
  give(deep);
  EXPECT_EQ(room(), deep);
  give(deep - 1);  // all that the peer had
  for (int full = 0; full != 10; ++full) {
    ASSERT_EQ(room(), usual);
    give(usual);
  }
  EXPECT_EQ(pair_->close_wish(), CloseWish::none);
}

TEST_F(CoreReceive, ALargePayloadCutAnywhereArrives) {
  const std::size_t whole = large_write().size();
  for (const std::size_t cut :
       {1u, 2u, 15u, 16u, 17u, 19u, 20u, 21u, 5000u, 60'015u, 60'016u, 60'017u, 60'019u}) {
    ASSERT_LT(cut, whole);
    std::ranges::fill(memory_, std::byte{});
    const ByteVector fpdu = large_write(1);
    peer_->give(Bytes(fpdu).first(cut));
    peer_->give(Bytes(fpdu).subspan(cut));
    EXPECT_TRUE(std::ranges::equal(Bytes(memory_).subspan(1, payload_.size()), payload_)) << cut;
  }
}

TEST_F(CoreReceive, LargeAndSmallFpdusMayFollowOneAnother) {
  receive(64);
  receive(64);
  ByteVector stream;
  for (std::uint32_t msn = 1; msn <= 2; ++msn) {
    stream = stream + large_write(msn) + peer_->fpdu(hex(send_header(msn)) + noise(64, msn));
  }
  peer_->give(stream, 20'000);
  ASSERT_EQ(client().count(Kind::receive), 2u);
  EXPECT_TRUE(std::ranges::equal(client().at(Kind::receive, 1).buffer.bytes(), noise(64, 2)));
  EXPECT_TRUE(std::ranges::equal(Bytes(memory_).subspan(2, payload_.size()), payload_));
}

TEST_F(CoreReceive, ALargeSendIsReceivedIntoItsBuffer) {
  receive(60'000);
  const ByteVector fpdu = peer_->fpdu(hex(send_header(1)) + payload_);
  peer_->give(Bytes(fpdu).first(500));
  const auto next = places();
  ASSERT_EQ(next.size(), 2u);
  EXPECT_EQ(next[0].size(), 60'000u - (500 - 20));
  peer_->give(Bytes(fpdu).subspan(500));
  ASSERT_EQ(client().count(Kind::receive), 1u);
  EXPECT_TRUE(std::ranges::equal(client().at(Kind::receive, 0).buffer.bytes(), payload_));
}

TEST_F(CoreReceive, AWrongCrcOfADirectlyPlacedPayloadIsFound) {
  peer_->give_fpdu("c140000000000000000000000000");
  for (const std::size_t wrong : {3000u, 59'000u}) {
    ByteVector fpdu = large_write();
    fpdu[wrong] ^= std::byte{4};
    peer_->give(fpdu, 1500);
    expect_terminate("20020000", errc::mpa_crc);
    region_.invalidate();
    peer_.reset();
    SetUp();
    peer_->give_fpdu("c140000000000000000000000000");
  }
}

TEST_F(CoreReceive, APayloadWhoseRegionEndsIsThrownAwayAndThenRefused) {
  for (const std::size_t cut : {200u, 30'000u, 60'015u}) {
    const std::string header = write_header(region_.stag(), region_.base_offset());
    const ByteVector fpdu = large_write();
    peer_->give(Bytes(fpdu).first(cut));
    region_.invalidate();
    std::ranges::fill(memory_, std::byte{0x5a});
    for (const MutableBytes place : places()) {
      EXPECT_TRUE(place.data() >= memory_.data() + memory_.size() ||
                  place.data() + place.size() <= memory_.data());
    }
    peer_->give(Bytes(fpdu).subspan(cut), 7000);
    EXPECT_TRUE(std::ranges::all_of(memory_, [](std::byte b) { return b == std::byte{0x5a}; }));
    expect_terminate("1100c000ea6e" + header, errc::ddp_tagged_invalid_stag);
    peer_.reset();
    SetUp();
  }
}

TEST_F(CoreReceive, ARegionThatIsNotBeingWrittenMayEndAnyTime) {
  std::vector<std::byte> other(10);
  auto unrelated = pair_->register_memory(other, Access::remote_write);
  const ByteVector fpdu = large_write();
  peer_->give(Bytes(fpdu).first(1000));
  unrelated->invalidate();
  peer_->give(Bytes(fpdu).subspan(1000));
  EXPECT_TRUE(std::ranges::equal(Bytes(memory_).first(payload_.size()), payload_));
}

TEST_F(CoreReceive, NothingIsReadAfterTheEndButAllIsTaken) {
  peer_->give_fpdu("c140deadbeef000000000000001001");
  peer_->give(noise(500'000), 100'000);
  std::vector<std::byte> untouched(memory_.size());
  EXPECT_EQ(memory_, untouched);
}

class CoreReceiveMarked : public CoreTest {};

TEST_F(CoreReceiveMarked, MarkersAreTakenOut) {
  MpaSettings settings = revision_1();
  settings.markers = true;
  pair_ = make_iwarp_queue_pair(MpaRole::responder, settings, clock_.now());
  peer_.emplace(*pair_, true, true);
  peer_->give(hex(kRequestKey + "40010000"));
  EXPECT_EQ(peer_->take_mpa_frame(), kReplyKey + "c0010000");
  EXPECT_TRUE(client().how()->markers_received);
  EXPECT_FALSE(client().how()->markers_sent);
  receive(40'000);
  const ByteVector payload = noise(40'000);
  const ByteVector fpdu = peer_->fpdu(hex(send_header(1)) + payload);
  peer_->give(fpdu, 3001);
  ASSERT_EQ(client().count(Kind::receive), 1u);
  EXPECT_TRUE(std::ranges::equal(client().at(Kind::receive, 0).buffer.bytes(), payload));
}

TEST_F(CoreReads, ComeInSegments) {
  request(5);
  peer_->give_fpdu(response(0, false) + "0102");
  EXPECT_EQ(client().count(Kind::read), 0u);
  peer_->give_fpdu(response(2, true) + "030405");
  ASSERT_EQ(client().count(Kind::read), 1u);
  EXPECT_EQ(to_hex(client().at(Kind::read, 0).buffer.bytes()), "0102030405");
  EXPECT_EQ(client().at(Kind::read, 0).id, 9u);
}

TEST_F(CoreReads, AResponseThatEndsEarlyIsRefused) {
  request(5);
  peer_->give_fpdu(response(0, true) + "01020304");
  expect_terminate("0207c0000012" + response(0, true), errc::rdmap_stream_catastrophic);
  EXPECT_EQ(client().at(Kind::read, 0).status, errc::flushed);
}

TEST_F(CoreReads, AResponseThatIsTooLongIsRefused) {
  request(5);
  peer_->give_fpdu(response(0, true) + "010203040506");
  expect_terminate("1101c0000014" + response(0, true), errc::ddp_tagged_bounds);
}

TEST_F(CoreReads, AResponseThatSkipsBytesIsRefused) {
  request(5);
  peer_->give_fpdu(response(1, true) + "01020304");
  expect_terminate("1101c0000012" + response(1, true), errc::ddp_tagged_bounds);
}

TEST_F(CoreReads, AResponseThatWrapsIsRefused) {
  request(5);
  const std::uint64_t last_two = UINT64_MAX - 1 - offset_;
  peer_->give_fpdu(response(last_two, true) + "01020304");
  expect_terminate("1103c0000012" + response(last_two, true), errc::ddp_tagged_wrap);
}

TEST_F(CoreReads, TheSinkCannotBeWrittenByOtherMeans) {
  request(5);
  const std::string header = "c140" + stag_ + be64_hex(offset_);
  peer_->give_fpdu(header + "0102030405");
  expect_terminate("1100c0000013" + header, errc::ddp_tagged_invalid_stag);
}

TEST_F(CoreReads, TheSinkIsClosedOnceTheReadIsDone) {
  request(1);
  peer_->give_fpdu(response(0, true) + "01");
  peer_->give_fpdu(response(0, true) + "02");
  expect_terminate("1100c000000f" + response(0, true), errc::ddp_tagged_invalid_stag);
}

TEST_F(CoreReads, OfNoBytesAreAnsweredByNone) {
  request(0);
  // STag and Tagged Offset of a zero-length message are not checked (RFC 5041 section 5.2).
  peer_->give_fpdu("c142000000000000000000000000");
  ASSERT_EQ(client().count(Kind::read), 1u);
  EXPECT_EQ(client().at(Kind::read, 0).status, ErrorCode());
}

}  // namespace
}  // namespace openiser::rdmap::core_test
