#include "iscsi/login/stream_login_channel.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/iscsi_pdu/stream_rig.h"

namespace openiser::iscsi::testing {
namespace {

using test::hex;
using test::pattern;
using test::to_hex;

struct LoginClient : StreamLoginChannel::Client {
  void login_pdu(ControlPdu pdu) override {
    pdus.push_back(std::move(pdu));
    if (answer) channel->send({encode(LoginResponse()), {}, {}});
    if (leave) unread = channel->take_unread();
  }
  void login_stream_failed(ErrorCode why) override { failures.push_back(why); }

  StreamLoginChannel* channel = nullptr;
  bool answer = true;
  bool leave = false;
  std::vector<ControlPdu> pdus;
  std::vector<ErrorCode> failures;
  std::vector<std::byte> unread;
};

struct LoginRig {
  explicit LoginRig(Bytes already_read = {}) : channel(client, already_read) {
    client.channel = &channel;
    channel.attach(&host);
  }
  LoginClient client;
  CountingHost host;
  StreamLoginChannel channel;
};

Bhs request() {
  return encode(LoginRequest());
}

TEST(StreamLoginChannel, FramesPdusHoweverTheyAreCut) {
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, SIZE_MAX}) {
    for (const std::size_t length : {0, 1, 2, 3, 4, 5, 8191, 8192}) {
      LoginRig rig;
      const ByteVector bytes = wire(request(), pattern(length));
      EXPECT_EQ(feed(rig.channel, bytes + bytes, chunk), 2 * bytes.size());
      ASSERT_EQ(rig.client.pdus.size(), 2u);
      EXPECT_EQ(to_hex(rig.client.pdus[1].data.bytes()), to_hex(pattern(length)));
      EXPECT_TRUE(rig.client.failures.empty());
    }
  }
}

TEST(StreamLoginChannel, CutAnywhereNothingIsTold) {
  const ByteVector whole = wire(request(), pattern(13));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    LoginRig rig;
    feed(rig.channel, Bytes(whole).first(n));
    EXPECT_TRUE(rig.client.pdus.empty());
    rig.channel.transport_closed({}, Time());
    EXPECT_EQ(rig.client.failures, std::vector<ErrorCode>{errc::connection_closed});
  }
}

TEST(StreamLoginChannel, SendsPaddedWithoutDigests) {
  LoginRig rig;
  rig.channel.send({encode(LoginResponse()), {}, Buffer::copy_of(hex("0102030405"))});
  EXPECT_GT(rig.host.calls, 0);
  const auto pdus = unwire(take_output(rig.channel));
  ASSERT_EQ(pdus.size(), 1u);
  EXPECT_EQ(to_hex(pdus[0].data), "0102030405");
}

TEST(StreamLoginChannel, FailsOnWhatIsNoLogin) {
  const auto failure = [](const ByteVector& bytes) {
    LoginRig rig;
    feed(rig.channel, bytes);
    EXPECT_TRUE(rig.client.pdus.empty());
    EXPECT_EQ(rig.client.failures.size(), 1u);
    std::array<MutableBytes, 1> place;
    EXPECT_EQ(rig.channel.receive_space(place), 0u);
    rig.channel.transport_closed({}, Time());
    EXPECT_EQ(rig.client.failures.size(), 1u);
    return rig.client.failures.empty() ? ErrorCode() : rig.client.failures[0];
  };
  EXPECT_EQ(failure(wire(encode(NopOut()))), errc::wrong_opcode);
  EXPECT_EQ(failure(wire(request(), {}, {}, pattern(4))), errc::ahs_too_long);
  EXPECT_EQ(failure(wire(request(), pattern(8193))), errc::data_too_long);
  Bhs bhs = request();
  bhs.set_data_segment_length(0xffffff);
  EXPECT_EQ(failure({bhs.raw.begin(), bhs.raw.end()}), errc::data_too_long);
}

TEST(StreamLoginChannel, LaterPdusOfOtherKindsAreForTheMachine) {
  LoginRig rig;
  feed(rig.channel, wire(request()) + wire(encode(NopOut())));
  ASSERT_EQ(rig.client.pdus.size(), 2u);
  EXPECT_EQ(rig.client.pdus[1].bhs.opcode(), Opcode::nop_out);
}

TEST(StreamLoginChannel, NothingIsFramedUntilThePduIsAnswered) {
  LoginRig rig;
  rig.client.answer = false;
  feed(rig.channel, wire(request()) + wire(request()));
  EXPECT_EQ(rig.client.pdus.size(), 1u);
  EXPECT_FALSE(rig.channel.deadline());
  rig.channel.send({encode(LoginResponse()), {}, {}});
  EXPECT_EQ(rig.client.pdus.size(), 1u) << "not from inside send()";
  ASSERT_TRUE(rig.channel.deadline());
  rig.channel.expired(Time());
  EXPECT_EQ(rig.client.pdus.size(), 2u);
}

TEST(StreamLoginChannel, PeerThatDoesNotWaitIsBounded) {
  LoginRig rig;
  rig.client.answer = false;
  const ByteVector flood(100000);
  const ByteVector bytes = wire(request()) + flood;
  EXPECT_LT(feed(rig.channel, bytes), 10000u);
}

TEST(StreamLoginChannel, WhatWasReadBeforeIsFramed) {
  const ByteVector bytes = wire(request(), pattern(10));
  for (std::size_t before = 1; before <= bytes.size(); ++before) {
    LoginRig rig(Bytes(bytes).first(before));
    EXPECT_TRUE(rig.client.pdus.empty());
    run_deadline(rig.channel);
    feed(rig.channel, Bytes(bytes).subspan(before));
    EXPECT_EQ(rig.client.pdus.size(), 1u) << before;
  }
}

TEST(StreamLoginChannel, ChangeOfModeHandsOverWhatIsBehindTheLastPdu) {
  for (const bool inside : {true, false}) {
    LoginRig rig;
    rig.client.answer = false;
    rig.client.leave = inside;
    feed(rig.channel, wire(request(), pattern(5)) + hex("4d50412049"));
    if (!inside) rig.client.unread = rig.channel.take_unread();
    EXPECT_EQ(to_hex(rig.client.unread), "4d50412049");
    EXPECT_FALSE(rig.channel.deadline());
    std::array<MutableBytes, 1> place;
    EXPECT_EQ(rig.channel.receive_space(place), 0u);
    rig.channel.transport_closed({}, Time());
    EXPECT_TRUE(rig.client.failures.empty());
  }
}

TEST(StreamLoginChannel, ChangeOfModeHandsOverWhatIsNotSent) {
  LoginRig rig;
  rig.channel.send({encode(LoginResponse()), {}, Buffer::copy_of(pattern(6))});
  const ByteVector sent = take_output(rig.channel, 20);
  const ByteVector all = sent + rig.channel.take_unsent();
  EXPECT_EQ(all, wire(encode(LoginResponse()), pattern(6)));
  EXPECT_TRUE(take_output(rig.channel).empty());
}

TEST(StreamLoginChannel, CloseSendsFirstAndDiscardsWhatComes) {
  LoginRig rig;
  rig.channel.send({encode(LoginResponse()), {}, {}});
  rig.channel.close();
  EXPECT_EQ(rig.channel.close_wish(), CloseWish::after_sending);
  EXPECT_EQ(take_output(rig.channel).size(), 48u);
  EXPECT_EQ(feed(rig.channel, ByteVector(100000)), 100000u);
  EXPECT_TRUE(rig.client.pdus.empty());
  rig.channel.transport_closed({}, Time());
  EXPECT_TRUE(rig.client.failures.empty());
}

TEST(StreamLoginChannel, MutatedStreams) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    ByteVector stream = wire(request(), pattern(random() % 200)) +
                        wire(request(), pattern(random() % 200)) + wire(request());
    for (int change = static_cast<int>(random() % 4); change > 0; --change)
      stream[random() % stream.size()] = static_cast<std::byte>(random() & 0xff);
    LoginRig rig;
    feed(rig.channel, stream, 1 + random() % 300);
    EXPECT_LE(rig.client.failures.size(), 1u);
    EXPECT_LE(rig.client.pdus.size(), stream.size() / kBhsSize);
  }
}

}  // namespace
}  // namespace openiser::iscsi::testing
