// Sends that are lent from the memory they were read into.
#include "tests/unit/rdmap/core_support.h"

namespace openiser::rdmap::core_test {
namespace {

class CoreLending : public CoreTest {
 protected:
  void SetUp() override { open_responder(); }
  void TearDown() override { peer_.reset(); }

  // The nth message, from 1 on: 2,000 octets.
  static ByteVector message(std::uint32_t n) { return noise(2000, n); }
  ByteVector send_of(std::uint32_t n) { return peer_->fpdu(hex(send_header(n)) + message(n)); }
  // Gives the `count` messages that come next, in one piece.
  void give_messages(std::uint32_t count) {
    ByteVector stream;
    for (; count > 0; --count) {
      receive(4096, ++given_);
      const ByteVector next = send_of(given_);
      stream.insert(stream.end(), next.begin(), next.end());
    }
    peer_->give(stream);
  }
  Completion& received(std::uint32_t n) { return client().completions.at(n - 1); }
  bool is_lent(std::uint32_t n) { return static_cast<bool>(received(n).body); }
  void expect_intact() {
    for (std::uint32_t n = 1; n <= client().completions.size(); ++n) {
      const Buffer& buffer = received(n).buffer;
      if (!buffer) continue;
      EXPECT_TRUE(std::ranges::equal(buffer.bytes(), message(n))) << n;
    }
  }

  std::uint32_t given_ = 0;
};

TEST_F(CoreLending, APostedBufferComesBackBesideTheMessage) {
  give_messages(3);
  ASSERT_EQ(client().completions.size(), 3u);
  for (std::uint32_t n = 1; n <= 3; ++n) {
    EXPECT_TRUE(is_lent(n));
    EXPECT_EQ(received(n).id, 4 - n) << "the last posted first";
    EXPECT_EQ(received(n).body.size(), 4096u);
    EXPECT_EQ(received(n).buffer.room(), 2000u) << "nothing but the message";
  }
  expect_intact();
}

TEST_F(CoreLending, ButForAnEmptyOneHoweverShort) {
  receive(4096);
  peer_->give(peer_->fpdu(hex(send_header(1)) + noise(1)));
  EXPECT_TRUE(is_lent(1));
  EXPECT_TRUE(std::ranges::equal(received(1).buffer.bytes(), noise(1)));
  receive(4096);
  peer_->give(peer_->fpdu(hex(send_header(2))));
  EXPECT_FALSE(is_lent(2));
  EXPECT_TRUE(received(2).buffer.empty());
}

TEST_F(CoreLending, OneInSegmentsIsCopied) {
  receive(8192);
  peer_->give(peer_->fpdu(hex(send_header(1, 0, false)) + noise(3000, 1)));
  ASSERT_TRUE(client().completions.empty());
  peer_->give(peer_->fpdu(hex(send_header(1, 3000)) + noise(3000, 2)));
  ASSERT_EQ(client().completions.size(), 1u);
  EXPECT_FALSE(is_lent(1));
  EXPECT_TRUE(std::ranges::equal(received(1).buffer.bytes(), noise(3000, 1) + noise(3000, 2)));
}

TEST_F(CoreLending, WhatIsKeptStaysAndTheNextAreCopied) {
  give_messages(3);
  received(2).buffer.reset();
  give_messages(100);
  for (std::uint32_t n = 4; n <= 103; ++n) ASSERT_FALSE(is_lent(n)) << n;
  expect_intact();
  received(1).buffer.reset();
  received(3).buffer.reset();
  give_messages(2);
  EXPECT_TRUE(is_lent(104));
  EXPECT_TRUE(is_lent(105));
  give_messages(100);
  expect_intact();
}

TEST_F(CoreLending, ThoseThatComeBackInTimeTakeNoSecondBuffer) {
  const auto memory = [this] {
    std::array<MutableBytes, 8> into;
    pair_->receive_space(into);
    return into[0].data();
  };
  const std::byte* const first = memory();
  for (int turn = 0; turn != 20; ++turn) {
    give_messages(10);
    EXPECT_TRUE(is_lent(given_));
    for (Completion& completion : client().completions) completion.buffer.reset();
    EXPECT_EQ(memory(), first);
  }
}

// What comes behind a lent message, and not yet whole, moves to the second buffer.
TEST_F(CoreLending, TheStreamGoesOnWhereverItIsCut) {
  const std::size_t size = send_of(1).size();
  for (std::size_t cut = 0; cut <= size; cut += 7) {
    receive(4096);
    receive(4096);
    const ByteVector stream = send_of(given_ + 1) + send_of(given_ + 2);
    given_ += 2;
    peer_->give(Bytes(stream).first(size + cut));
    peer_->give(Bytes(stream).subspan(size + cut));
    ASSERT_EQ(client().completions.size(), given_);
    expect_intact();
    if (cut % 3 == 0) {
      for (Completion& completion : client().completions) completion.buffer.reset();
    }
  }
}

TEST_F(CoreLending, WhatIsKeptOutlivesTheConnection) {
  give_messages(2);
  Buffer kept = std::move(received(1).buffer);
  peer_.reset();
  pair_.reset();
  EXPECT_TRUE(std::ranges::equal(kept.bytes(), message(1)));
}

}  // namespace
}  // namespace openiser::rdmap::core_test
