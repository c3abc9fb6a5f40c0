// Several FPDUs of an RDMA Read Response received at once, each payload in its place before its
// header has been seen.
#include "tests/unit/rdmap/core_support.h"

namespace openiser::rdmap::core_test {
namespace {

constexpr std::size_t kSegment = 50'000;
constexpr std::size_t kBeginning = 1'000;  // of the first FPDU: enough to know where it goes
// What is staged between two payloads: padding and CRC, length and header.
constexpr std::size_t kBetween = 4 + 16;

class CoreResponseGuess : public CoreReads {
 protected:
  void begin(std::size_t size) {
    data_ = noise(size);
    request(size);
  }
  void TearDown() override { peer_.reset(); }

  ByteVector segment(std::size_t at, std::size_t size) {
    const bool last = at + size == data_.size();
    return peer_->fpdu(hex(response(at, last)) +
                       ByteVector(data_.begin() + static_cast<std::ptrdiff_t>(at),
                                  data_.begin() + static_cast<std::ptrdiff_t>(at + size)));
  }
  // The whole response in segments of these sizes.
  ByteVector segments(const std::vector<std::size_t>& sizes) {
    ByteVector stream;
    std::size_t at = 0;
    for (const std::size_t size : sizes) {
      stream = stream + segment(at, size);
      at += size;
    }
    return stream;
  }
  ByteVector send_of(std::uint32_t msn, std::size_t size) {
    receive(4096);
    return peer_->fpdu(hex(send_header(msn)) + noise(size, msn));
  }
  void give_after_the_beginning(const ByteVector& stream, std::size_t chunk = SIZE_MAX) {
    peer_->give(Bytes(stream).first(kBeginning));
    peer_->give(Bytes(stream).subspan(kBeginning), chunk);
  }
  void expect_read() {
    EXPECT_EQ(pair_->close_wish(), CloseWish::none);
    ASSERT_EQ(client().count(Kind::read), 1u);
    EXPECT_TRUE(std::ranges::equal(client().at(Kind::read, 0).buffer.bytes(), data_));
  }
  void again() {
    peer_.reset();
    pair_.reset();
  }

  ByteVector data_;
};

TEST_F(CoreResponseGuess, PayloadsThatFollowHaveTheirPlacesToo) {
  begin(4 * kSegment);
  const ByteVector stream = segments({kSegment, kSegment, kSegment, kSegment});
  peer_->give(Bytes(stream).first(kBeginning));
  std::array<MutableBytes, 16> into;
  ASSERT_EQ(pair_->receive_space(into), 8u);
  EXPECT_EQ(into[0].size(), kSegment - (kBeginning - 16));
  const std::byte* next = into[0].data() + into[0].size();
  for (std::size_t i = 1; i < 7; i += 2) {
    EXPECT_EQ(into[i].size(), kBetween);
    EXPECT_EQ(into[i + 1].data(), next);
    EXPECT_EQ(into[i + 1].size(), kSegment);
    next += kSegment;
  }
  peer_->give(Bytes(stream).subspan(kBeginning));
  expect_read();
}

TEST_F(CoreResponseGuess, NothingIsGuessedBeyondTheReadNorWithoutRoom) {
  begin(kSegment + 20'000);
  const ByteVector stream = segments({kSegment, 20'000});
  peer_->give(Bytes(stream).first(kBeginning));
  std::array<MutableBytes, 16> into;
  EXPECT_EQ(pair_->receive_space(into), 4u);
  EXPECT_EQ(into[2].size(), 20'000u);
  for (const std::size_t room : {1u, 2u, 3u})
    EXPECT_LE(pair_->receive_space(std::span(into).first(room)), 2u);
  peer_->give(Bytes(stream).subspan(kBeginning));
  expect_read();
}

TEST_F(CoreResponseGuess, FollowsEqualSegmentsThatDoNotDivideEvenly) {
  begin(200'020);
  const ByteVector stream = segments({50'008, 50'004, 50'004, 50'004});
  peer_->give(Bytes(stream).first(kBeginning));
  std::array<MutableBytes, 16> into;
  ASSERT_EQ(pair_->receive_space(into), 8u);
  for (const std::size_t i : {2u, 4u, 6u}) EXPECT_EQ(into[i].size(), 50'004u);
  peer_->give(Bytes(stream).subspan(kBeginning));
  expect_read();
}

TEST_F(CoreResponseGuess, LearnsHowThePeerCutsItsResponses) {
  const std::vector<std::size_t> full = {50'000, 50'000, 50'000, 20'000};
  begin(170'000);
  give_after_the_beginning(segments(full));
  expect_read();
  client().completions.clear();
  ask(170'000, 2);
  const ByteVector stream = segments(full);
  peer_->give(Bytes(stream).first(kBeginning));
  std::array<MutableBytes, 16> into;
  ASSERT_EQ(pair_->receive_space(into), 8u);
  EXPECT_EQ(into[2].size(), 50'000u);
  EXPECT_EQ(into[6].size(), 20'000u);
  peer_->give(Bytes(stream).subspan(kBeginning));
  expect_read();
}

TEST_F(CoreResponseGuess, TheStreamMayBeCutAnywhere) {
  constexpr std::size_t kFpdu = kSegment + kBetween;
  for (std::size_t boundary = kFpdu; boundary <= 3 * kFpdu; boundary += kFpdu) {
    for (std::size_t cut = boundary - 6; cut < boundary + 24; ++cut) {
      begin(4 * kSegment);
      const ByteVector stream = segments({kSegment, kSegment, kSegment, kSegment});
      peer_->give(Bytes(stream).first(kBeginning));
      peer_->give(Bytes(stream).first(cut).subspan(kBeginning));
      peer_->give(Bytes(stream).subspan(cut));
      expect_read();
      again();
    }
  }
}

TEST_F(CoreResponseGuess, SegmentsOfOtherSizesArriveAllTheSame) {
  const std::vector<std::vector<std::size_t>> rows = {{50'000, 40'000, 50'000, 60'000},
                                                      {50'000, 50'000, 1'000, 60'000, 39'000},
                                                      {50'000, 49'999, 50'001, 50'000},
                                                      {50'000, 1, 149'999 - 90'000, 30'000, 60'000},
                                                      {50'000, 50'000, 50'000, 49'996, 4}};
  for (const auto& sizes : rows) {
    for (const std::size_t chunk : {SIZE_MAX, std::size_t{70'001}, std::size_t{50'030}}) {
      begin(4 * kSegment);
      give_after_the_beginning(segments(sizes), chunk);
      expect_read();
      again();
    }
  }
}

TEST_F(CoreResponseGuess, SendsMayComeBetweenSegments) {
  for (std::size_t sends_at = 1; sends_at <= 3; ++sends_at) {
    begin(4 * kSegment);
    ByteVector stream;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i == sends_at) stream = stream + send_of(1, 3000) + send_of(2, 100);
      stream = stream + segment(i * kSegment, kSegment);
    }
    give_after_the_beginning(stream);
    expect_read();
    ASSERT_EQ(client().count(Kind::receive), 2u);
    EXPECT_TRUE(std::ranges::equal(client().at(Kind::receive, 0).buffer.bytes(), noise(3000, 1)));
    EXPECT_TRUE(std::ranges::equal(client().at(Kind::receive, 1).buffer.bytes(), noise(100, 2)));
    again();
  }
}

// Its ULPDU is as large as the one that was guessed.
TEST_F(CoreResponseGuess, ASendOfTheSizeOfASegmentIsNotTakenForOne) {
  begin(4 * kSegment);
  receive(kSegment);
  ByteVector stream = segment(0, kSegment);
  stream = stream + peer_->fpdu(hex(send_header(1)) + noise(kSegment - 4, 7));
  for (std::size_t at = kSegment; at < 4 * kSegment; at += kSegment)
    stream = stream + segment(at, kSegment);
  give_after_the_beginning(stream);
  expect_read();
  ASSERT_EQ(client().count(Kind::receive), 1u);
  EXPECT_TRUE(
      std::ranges::equal(client().at(Kind::receive, 0).buffer.bytes(), noise(kSegment - 4, 7)));
}

TEST_F(CoreResponseGuess, AWrongCrcIsFoundInEachOfThem) {
  constexpr std::size_t kFpdu = kSegment + kBetween;
  for (const std::size_t wrong : {kFpdu + 30'000, 2 * kFpdu + 5, 3 * kFpdu - 1, 4 * kFpdu - 2}) {
    begin(4 * kSegment);
    ByteVector stream = segments({kSegment, kSegment, kSegment, kSegment});
    stream[wrong] ^= std::byte{1};
    give_after_the_beginning(stream);
    expect_terminate("20020000", errc::mpa_crc);
    again();
  }
}

TEST_F(CoreResponseGuess, AResponseThatEndsEarlyIsRefused) {
  begin(4 * kSegment);
  const ByteVector first = segment(0, kSegment);
  const std::string early = response(kSegment, true);
  const ByteVector stream = first + peer_->fpdu(hex(early) + noise(kSegment)) +
                            peer_->fpdu(hex(response(2 * kSegment, false)) + noise(kSegment));
  give_after_the_beginning(stream);
  expect_terminate("0207c000c35e" + early, errc::rdmap_stream_catastrophic);
  EXPECT_EQ(client().at(Kind::read, 0).status, errc::flushed);
}

}  // namespace
}  // namespace openiser::rdmap::core_test
