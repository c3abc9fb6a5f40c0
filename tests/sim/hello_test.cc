// The Hello exchange (RFC 5046 and RFC 7145 sections 5.1.3, 9.3, 9.4 and 10.1.3): where it is due,
// where it is not, and everything that is wrong with it. What the target will not go on with ends
// the connection; there is no Terminate for errors of iSER (wire-facts of iser/README.md).
#include <gtest/gtest.h>

#include "tests/support/hostile_fixture.h"

namespace openiser::test {
namespace {

constexpr rdmap::RemoteMemory kMemory{rdmap::Stag{0x77}, 0};

// Stream-first connections on which a Hello must come first.
class HelloDueTest : public HostileCaseTest<Dialect> {
 protected:
  // A peer that has switched to RDMAP and said nothing yet.
  std::unique_ptr<RawIser> silent_peer() {
    const bool old = GetParam() == Dialect::rfc5046;
    auto peer = std::make_unique<RawIser>(port(), GetParam());
    EXPECT_EQ(peer->stream_first(names(old ? kRfc5046Keys : kHelloKeys)), 0);
    return peer;
  }
  static std::uint8_t version() { return iser::facts(GetParam()).version; }
  static std::uint8_t other_version() { return version() == 1 ? 10 : 1; }
};

TEST_P(HelloDueTest, IsAnswered) {
  serve();
  const auto peer = silent_peer();
  const auto reply = peer->greet(peer->hello(version(), version(), 8));
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->reject);
  EXPECT_EQ(reply->max_version, version());
  EXPECT_EQ(reply->current_version, version());
  EXPECT_EQ(reply->outbound_reads, 8) << "no more than our iSER-IRD";
  ASSERT_TRUE(peer->send(ping(3, peer->next_cmd_sn())));
  EXPECT_TRUE(peer->receive());
}

TEST_P(HelloDueTest, ARangeThatHasOursIsAnswered) {
  serve();
  const auto peer = silent_peer();
  const auto reply = peer->greet(peer->hello(15, 0));
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->reject);
  EXPECT_EQ(reply->current_version, version());
}

// The first message is a SCSI command.
TEST_P(HelloDueTest, Missing) {
  serve();
  const auto peer = silent_peer();
  ASSERT_TRUE(peer->send(block_command(kRead10, 1, peer->next_cmd_sn(), 0, 1), {.read = kMemory}));
  EXPECT_EQ(peer->iwarp.fate(), "closed");
}

// Neither the peer that says nothing nor the one that does not even start MPA is waited for.
TEST_P(HelloDueTest, Late) {
  serve_impatiently();
  const auto peer = silent_peer();
  RawIser no_mpa(port(), GetParam());
  no_mpa.socket.requests.header.isid[5] = std::byte{9};
  const bool old = GetParam() == Dialect::rfc5046;
  EXPECT_EQ(no_mpa.socket.log_in(names(old ? kRfc5046Keys : kHelloKeys)), 0);
  EXPECT_EQ(peer->iwarp.fate(), "closed");
  EXPECT_TRUE(no_mpa.socket.sees_end());
}

TEST_P(HelloDueTest, OfAnotherVersionIsRejected) {
  serve();
  const auto peer = silent_peer();
  const auto reply = peer->greet(peer->hello(other_version(), other_version()));
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->reject);
  EXPECT_EQ(peer->iwarp.fate(), "closed");
}

TEST_P(HelloDueTest, WithAnEmptyRangeOfVersions) {
  serve();
  const auto peer = silent_peer();
  ASSERT_TRUE(peer->iwarp.send(peer->hello(1, 10)));
  EXPECT_EQ(peer->iwarp.fate(), "closed");
}

TEST_P(HelloDueTest, OfAnyOtherLength) {
  serve();
  const std::size_t right = iser::facts(GetParam()).header_size;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4}, right - 1, right + 1,
        right == 12 ? std::size_t{28} : std::size_t{12}, right + iscsi::kBhsSize}) {
    const auto peer = silent_peer();
    ByteVector hello = peer->hello();
    hello.resize(size);
    ASSERT_TRUE(peer->iwarp.send(hello));
    EXPECT_EQ(peer->iwarp.fate(), "closed") << size;
  }
}

TEST_P(HelloDueTest, Twice) {
  serve();
  const auto peer = silent_peer();
  ASSERT_TRUE(peer->greet(peer->hello()));
  ASSERT_TRUE(peer->iwarp.send(peer->hello()));
  EXPECT_EQ(peer->iwarp.fate(), "closed");
}

TEST_P(HelloDueTest, ItsReplyIsNotAnInitiatorsToSend) {
  serve();
  const auto peer = silent_peer();
  ByteVector reply = peer->hello();
  reply[0] = std::byte{0x30};
  ASSERT_TRUE(peer->iwarp.send(reply));
  EXPECT_EQ(peer->iwarp.fate(), "closed");
}

// RFC 7145 section 5.1.3: no RDMA Reads, so no solicited data; everything else works.
TEST_P(HelloDueTest, WithoutReadsNoSolicitedWriteIsTaken) {
  serve();
  const auto peer = silent_peer();
  const auto reply = peer->greet(peer->hello(version(), version(), 0));
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->reject);
  EXPECT_EQ(reply->outbound_reads, 0);
  ASSERT_TRUE(peer->send(test_unit_ready(1, peer->next_cmd_sn())));
  ASSERT_TRUE(peer->receive());
  ASSERT_TRUE(peer->send(block_command(kRead10, 2, peer->next_cmd_sn(), 0, 1), {.read = kMemory}));
  ASSERT_TRUE(peer->receive());
  EXPECT_EQ(peer->written.size(), 1u);
  ASSERT_TRUE(
      peer->send(block_command(kWrite10, 3, peer->next_cmd_sn(), 0, 1), {.write = kMemory}));
  EXPECT_EQ(peer->iwarp.fate(), "closed");
}

INSTANTIATE_TEST_SUITE_P(Dialects, HelloDueTest,
                         ::testing::Values(Dialect::rfc5046, Dialect::rfc7145),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// --- where none is due ---

TEST_F(HostileTest, AHelloThatWasDeclinedIsAnError) {
  serve();
  RawIser peer(port());
  ASSERT_EQ(peer.stream_first(names("RDMAExtensions=Yes|iSERHelloRequired=No|")), 0);
  ASSERT_TRUE(peer.iwarp.send(peer.hello()));
  EXPECT_EQ(peer.iwarp.fate(), "closed");
}

// RFC 7145 section 5.1.3: an old initiator sends one, a new target that was not told No answers.
TEST_F(HostileTest, AHelloThatWasNotNegotiatedIsAnswered) {
  serve();
  RawIser peer(port());
  ASSERT_EQ(peer.stream_first(names(kRfc7145Keys)), 0);
  const auto reply = peer.greet(peer.hello());
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->reject);
}

TEST_F(HostileTest, AHelloBehindTheFirstMessageIsAnError) {
  serve();
  RawIser peer(port());
  ASSERT_EQ(peer.stream_first(names(kRfc7145Keys)), 0);
  ASSERT_TRUE(peer.send(ping(3, peer.next_cmd_sn())));
  ASSERT_TRUE(peer.receive());
  ASSERT_TRUE(peer.iwarp.send(peer.hello()));
  EXPECT_EQ(peer.iwarp.fate(), "closed");
}

TEST_F(HostileTest, AHelloInsteadOfALoginIsAnError) {
  serve();
  RawIser peer(port());
  ASSERT_TRUE(peer.iwarp.start());
  ASSERT_TRUE(peer.iwarp.send(peer.hello()));
  EXPECT_EQ(peer.iwarp.fate(), "closed");
}

}  // namespace
}  // namespace openiser::test
