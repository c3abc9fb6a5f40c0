// How a queue pair starts and ends.
#include "tests/support/byte_shuttle.h"
#include "tests/unit/rdmap/core_support.h"

namespace openiser::rdmap::core_test {
namespace {

const std::string kZeroWrite = "c140000000000000000000000000";

ByteVector text(std::string_view words) {
  const Bytes bytes = as_bytes(words);
  return {bytes.begin(), bytes.end()};
}

class CoreStart : public CoreTest {};

TEST_F(CoreStart, TheLastBytesOfTheOldModeGoFirst) {
  start(MpaRole::initiator, revision_1(), {.write_first = text("old mode"), .already_read = {}});
  peer_->take();
  EXPECT_EQ(to_hex(peer_->stream), to_hex(text("old mode")) + kRequestKey + "40010000");
}

TEST_F(CoreStart, BytesReadBeforeTheUpgradeComeFirst) {
  ByteVector before = hex(kRequestKey + "40010000");
  test::SlowFramer framer(true, false);
  framer.add(hex(send_header(1)) + noise(5));
  before = before + framer.stream;
  start(MpaRole::responder, revision_1(), {.write_first = {}, .already_read = before});
  receive(5);
  EXPECT_FALSE(client().how()) << "the client is called in a turn only";
  MutableBytes place;
  EXPECT_EQ(pair_->receive_space({&place, 1}), 0u);
  ASSERT_TRUE(pair_->deadline());
  EXPECT_LE(*pair_->deadline(), clock_.now());
  pair_->expired(clock_.now());
  EXPECT_TRUE(client().how());
  EXPECT_EQ(client().count(Kind::receive), 1u);
  EXPECT_EQ(pair_->receive_space({&place, 1}), 1u);
  EXPECT_EQ(peer_->take_mpa_frame(), kReplyKey + "40010000");
}

TEST_F(CoreStart, AnyNumberOfBytesMayHaveBeenReadBeforeTheUpgrade) {
  test::SlowFramer framer(true, false);
  for (std::uint32_t msn = 1; msn <= 20; ++msn) {
    framer.add(hex(send_header(msn)) + noise(20'000, msn));
  }
  start(MpaRole::responder, revision_1(),
        {.write_first = {}, .already_read = hex(kRequestKey + "40010000") + framer.stream});
  for (int n = 0; n < 20; ++n) receive(20'000);
  pair_->expired(clock_.now());
  ASSERT_EQ(client().count(Kind::receive), 20u);
  EXPECT_TRUE(std::ranges::equal(client().at(Kind::receive, 19).buffer.bytes(), noise(20'000, 20)));
}

TEST_F(CoreStart, FramesAndFpdusMayComeInOnePiece) {
  start(MpaRole::responder, revision_1());
  receive(5);
  peer_->give(hex(kRequestKey + "40010000") + peer_->fpdu(hex(send_header(1)) + noise(5)));
  EXPECT_EQ(client().count(Kind::receive), 1u);
}

TEST_F(CoreStart, APeerThatSaysNothingTimesOut) {
  for (const MpaRole role : {MpaRole::initiator, MpaRole::responder}) {
    start(role, revision_1());
    peer_->take();
    peer_->stream.clear();
    ASSERT_TRUE(pair_->deadline());
    pair_->expired(*pair_->deadline() - std::chrono::milliseconds(1));
    EXPECT_EQ(pair_->close_wish(), CloseWish::none);
    pair_->expired(*pair_->deadline());
    expect_closed(errc::start_up_timeout, CloseWish::at_once);
    peer_.reset();
  }
}

TEST_F(CoreStart, NoTimeRunsOnceConnected) {
  open_responder();
  EXPECT_EQ(pair_->deadline(), std::nullopt);
}

TEST_F(CoreStart, ABadRequestJustCloses) {
  start(MpaRole::responder, revision_1());
  peer_->give(text("GET / HTTP/1.1\r\nHost: here\r\n\r\n"));
  expect_closed(errc::mpa_bad_frame, CloseWish::at_once);
}

TEST_F(CoreStart, ARejectionIsSentAndCloses) {
  start(MpaRole::responder, revision_1(), {}, [](Bytes private_data) {
    EXPECT_EQ(as_text(private_data), "hi");
    return MpaAnswer{.reject = true, .private_data = text("no")};
  });
  peer_->give(hex(kRequestKey + "40010002") + text("hi"));
  EXPECT_EQ(peer_->take_mpa_frame(), kReplyKey + "600100026e6f");
  expect_closed(errc::rejected, CloseWish::after_sending);
}

TEST_F(CoreStart, ARejectionIsReported) {
  start(MpaRole::initiator, revision_1());
  peer_->take_mpa_frame();
  peer_->give(hex(kReplyKey + "60010000"));
  expect_closed(errc::rejected, CloseWish::after_sending);
}

TEST_F(CoreStart, AnEndOfTheStreamIsReported) {
  start(MpaRole::initiator, revision_1());
  pair_->transport_closed({}, clock_.now());
  EXPECT_EQ(*client().why(), errc::transport_closed);
}

// RFC 6581 section 8: the initiator has no use for an RTR that it did not offer.
TEST_F(CoreStart, AReplyWithoutACommonRtrGetsATerminate) {
  MpaSettings settings;
  settings.peer_to_peer = true;
  settings.rtr = {.send = true, .write = false, .read = false};
  start(MpaRole::initiator, settings);
  peer_->take_mpa_frame();
  // S; A, then D only.
  peer_->give(hex(kReplyKey + "50020004" + "80084008"));
  expect_terminate("20070000", errc::mpa_no_rtr_match);
  EXPECT_FALSE(client().how());
}

struct RtrCase {
  const char* name;
  RtrKinds kinds;
  std::string first_ulpdu;
};

class CoreRtr : public CoreTest, public ::testing::WithParamInterface<RtrCase> {};

// RFC 6581 section 4.3.
TEST_P(CoreRtr, IsTheFirstFpduAndUnlocksTheResponder) {
  MpaSettings settings;
  settings.peer_to_peer = true;
  settings.rtr = GetParam().kinds;
  auto initiator = make_iwarp_queue_pair(MpaRole::initiator, settings, clock_.now());
  auto responder = make_iwarp_queue_pair(MpaRole::responder, {}, clock_.now());
  test::RecordingClient first(*initiator);
  test::RecordingClient second(*responder);
  test::ByteShuttle shuttle(1000, clock_);
  shuttle.join(*initiator, *responder);
  const auto* sent = shuttle.record(0);
  initiator->post_receive(Buffer::allocate(10), 1);
  responder->post_receive(Buffer::allocate(10), 1);
  shuttle.run();
  ASSERT_TRUE(first.how());
  ASSERT_TRUE(second.how());
  // Behind the Request and the words of IRD and ORD.
  test::SlowFramer expected(true, false);
  expected.add(hex(GetParam().first_ulpdu));
  EXPECT_EQ(to_hex(Bytes(*sent).subspan(24)), to_hex(expected.stream));
  responder->post_send(
      {.id = 1, .head = Buffer::copy_of(noise(3)), .body = {}, .invalidate = std::nullopt});
  responder->flush();
  shuttle.run();
  EXPECT_EQ(first.count(Kind::receive), 1u);
  EXPECT_EQ(second.count(Kind::receive), 0u) << "the RTR took a buffer of the client's";
  // The first message of the client's own still finds its buffer.
  initiator->post_send(
      {.id = 2, .head = Buffer::copy_of(noise(3)), .body = {}, .invalidate = std::nullopt});
  initiator->flush();
  shuttle.run();
  EXPECT_EQ(second.count(Kind::receive), 1u);
  EXPECT_FALSE(first.why());
  EXPECT_FALSE(second.why());
  initiator->attach(nullptr);
  responder->attach(nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    , CoreRtr,
    ::testing::Values(
        RtrCase{"Send", {.send = true, .write = false, .read = false}, send_header(1)},
        RtrCase{"Write", {.send = false, .write = true, .read = false}, kZeroWrite},
        RtrCase{"Read",
                {.send = false, .write = false, .read = true},
                "414100000000000000010000000100000000" + std::string(56, '0')}),
    [](const auto& info) { return std::string(info.param.name); });

class CoreEnd : public CoreTest {};

TEST_F(CoreEnd, AnEndBetweenFpdusWithNothingUndoneIsGraceful) {
  open_responder();
  peer_->give_fpdu(kZeroWrite);
  pair_->transport_closed({}, clock_.now());
  EXPECT_EQ(*client().why(), ErrorCode());
}

// RFC 5044 section 8, code 1.
TEST_F(CoreEnd, AnEndWithinAnFpduIsAnError) {
  const std::size_t size = 20 + 18 + 2;
  for (std::size_t cut = 1; cut < size; ++cut) {
    open_responder();
    receive(100);
    const ByteVector fpdu = peer_->fpdu(hex(send_header(1)) + noise(16));
    ASSERT_EQ(fpdu.size(), size);
    peer_->give(Bytes(fpdu).first(cut));
    pair_->transport_closed({}, clock_.now());
    EXPECT_EQ(*client().why(), errc::transport_closed) << cut;
    EXPECT_EQ(client().at(Kind::receive, 0).status, errc::flushed);
    peer_.reset();
  }
}

TEST_F(CoreEnd, AnEndWithAReadOutstandingIsAnError) {
  open_initiator();
  pair_->post_read({.id = 1, .sink = Buffer::allocate(10), .source = {}});
  pair_->flush();
  peer_->take();
  pair_->transport_closed({}, clock_.now());
  EXPECT_EQ(*client().why(), errc::transport_closed);
}

TEST_F(CoreEnd, AnEndWithOutputUnsentIsAnError) {
  open_initiator();
  send(noise(10));
  pair_->transport_closed({}, clock_.now());
  EXPECT_EQ(*client().why(), errc::transport_closed);
  EXPECT_EQ(client().at(Kind::send, 0).status, errc::flushed);
}

TEST_F(CoreEnd, AReceivedTerminateIsTheReasonAndNothingMoreIsSent) {
  open_responder();
  send(noise(10));
  peer_->give_fpdu("4147000000000000000200000001000000000101c0000000");
  send(noise(10));
  expect_closed(errc::rdmap_bounds, CloseWish::after_sending);
}

TEST_F(CoreEnd, AnUnknownTerminateIsStillAnEnd) {
  open_responder();
  peer_->give_fpdu(
      "414700000000000000020000000100000000"
      "0f550000");
  expect_closed(errc::terminated_by_peer, CloseWish::after_sending);
}

TEST_F(CoreEnd, NothingIsSentBehindATerminate) {
  open_initiator();
  pair_->disconnect(errc::rdmap_stream_catastrophic);
  send(noise(10));
  peer_->give_fpdu("c14fdeadbeef0000000000000010");
  expect_terminate("02070000", errc::rdmap_stream_catastrophic);
  EXPECT_EQ(client().at(Kind::send, 0).status, errc::flushed);
}

TEST_F(CoreEnd, WhatIsFlushedGoesOutBeforeTheTerminate) {
  open_initiator();
  send(noise(2));
  pair_->post_send(
      {.id = 1, .head = Buffer::copy_of(noise(3)), .body = {}, .invalidate = std::nullopt});
  pair_->disconnect(errc::rdmap_stream_catastrophic);
  EXPECT_EQ(peer_->take_text(), send_header(1) + to_hex(noise(2)) + "\n" +
                                    "414700000000000000020000000100000000"
                                    "02070000"
                                    "\n");
}

TEST_F(CoreEnd, APeerThatDoesNotLetGoIsDropped) {
  open_initiator();
  send(noise(3 << 20));
  pair_->disconnect();
  ASSERT_TRUE(pair_->deadline());
  pair_->expired(clock_.now());
  EXPECT_EQ(pair_->close_wish(), CloseWish::none);
  ASSERT_TRUE(pair_->deadline());
  EXPECT_GT(*pair_->deadline(), clock_.now());
  EXPECT_LE(*pair_->deadline(), clock_.now() + std::chrono::seconds(10));
  pair_->expired(*pair_->deadline());
  EXPECT_EQ(pair_->close_wish(), CloseWish::at_once);
  pair_->transport_closed({}, clock_.now());
  EXPECT_EQ(*client().why(), ErrorCode());
  EXPECT_EQ(client().at(Kind::send, 0).status, errc::flushed);
}

TEST_F(CoreEnd, AReadThatWaitsForCreditDoesNotKeepTheConnectionForEver) {
  MpaSettings settings = revision_1();
  settings.outbound_reads = 1;
  open_initiator(settings);
  for (int n = 0; n < 2; ++n) {
    pair_->post_read({.id = 1, .sink = Buffer::allocate(10), .source = {}});
  }
  pair_->flush();
  pair_->disconnect();
  peer_->take();
  pair_->expired(clock_.now());
  pair_->expired(*pair_->deadline());
  EXPECT_EQ(pair_->close_wish(), CloseWish::at_once);
}

TEST_F(CoreEnd, AResponderThatMayNotSendJustCloses) {
  open_responder();
  send(noise(10));
  pair_->disconnect();
  expect_closed({}, CloseWish::after_sending);
}

TEST_F(CoreEnd, AClientThatLeavesHearsNothing) {
  open_responder();
  receive(10);
  pair_->set_client(nullptr);
  peer_->give_fpdu(hex(send_header(1)) + noise(4));
  pair_->disconnect();
  pair_->transport_closed({}, clock_.now());
  EXPECT_FALSE(client().why());
  client().poll();
  EXPECT_EQ(client().count(Kind::receive), 1u);
}

TEST_F(CoreEnd, WorkThatFailsByItselfIsReportedInTheNextTurn) {
  open_initiator();
  MpaSettings settings;
  Buffer huge = Buffer::allocate(settings.max_send + 1);
  pair_->post_send({.id = 1, .head = std::move(huge), .body = {}, .invalidate = std::nullopt});
  pair_->flush();
  EXPECT_EQ(client().count(Kind::send), 0u);
  ASSERT_TRUE(pair_->deadline());
  pair_->expired(clock_.now());
  ASSERT_EQ(client().count(Kind::send), 1u);
  EXPECT_EQ(client().at(Kind::send, 0).status, errc::send_too_long);
  EXPECT_EQ(pair_->deadline(), std::nullopt);
}

}  // namespace
}  // namespace openiser::rdmap::core_test
