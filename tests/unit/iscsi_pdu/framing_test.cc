// Framing of control-type PDUs by the plain datamover, both ways.
#include <gtest/gtest.h>

#include <random>

#include "iscsi/pdu/ahs.h"
#include "tests/unit/iscsi_pdu/stream_rig.h"

namespace openiser::iscsi::testing {
namespace {

using test::hex;
using test::pattern;
using test::to_hex;

constexpr Digests kAllDigests[] = {{false, false}, {true, false}, {false, true}, {true, true}};

Bhs ping(std::uint32_t tag) {
  NopOut pdu;
  pdu.initiator_task_tag = tag;
  pdu.cmd_sn = tag + 100;
  return encode(pdu);
}
Bhs command(std::uint32_t tag) {
  ScsiCommand pdu;
  pdu.initiator_task_tag = tag;
  return encode(pdu);
}

TEST(Framing, GoldenBytesWithPaddingAndDigests) {
  Rig rig(Role::initiator, parameters({true, true}));
  rig.mover->send_control({ping(1), {}, Buffer::copy_of(hex("0102030405"))});
  const ByteVector out = take_output(*rig.mover);
  ASSERT_EQ(out.size(), 48u + 4 + 8 + 4);
  EXPECT_EQ(to_hex(Bytes(out).first(8)), "4080000000000005");
  EXPECT_EQ(to_hex(Bytes(out).subspan(52, 8)), "0102030405000000");
  EXPECT_EQ(load_le32(&out[48]), crc32c(Bytes(out).first(48)));
  EXPECT_EQ(load_le32(&out[60]), crc32c(hex("0102030405000000")));
}

// RFC 7143 Appendix A.4: a SCSI Read (10) Command PDU and its CRC, which
// appears on the wire as 56 3a 96 d9.
TEST(Framing, HeaderDigestOfTheRfcsExample) {
  const ByteVector bytes =
      hex("01c00000 00000000 00000000 00000000 14000000 00000400 00000014 00000018 28000000 "
          "00000000 02000000 00000000");
  Bhs bhs;
  std::copy(bytes.begin(), bytes.end(), bhs.raw.begin());
  Rig rig(Role::initiator, parameters({true, false}));
  rig.mover->send_control({bhs, {}, {}});
  EXPECT_EQ(to_hex(Bytes(take_output(*rig.mover)).subspan(48)), "563a96d9");
}

// Padding and digests, whatever the stream's segments are.
TEST(Framing, AllShortLengthsInAllSegmentations) {
  for (const Digests digests : kAllDigests) {
    for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, std::size_t{49}, SIZE_MAX}) {
      Rig target(Role::target, parameters(digests));
      Rig initiator(Role::initiator, parameters(digests));
      for (std::uint32_t n = 0; n <= 32; ++n)
        initiator.mover->send_control({ping(n), {}, Buffer::copy_of(pattern(n))});
      Shuttle(*initiator.mover, *target.mover, chunk).run();
      ASSERT_EQ(target.client.controls.size(), 33u);
      for (std::uint32_t n = 0; n <= 32; ++n) {
        const ControlPdu& pdu = target.client.controls[n];
        EXPECT_EQ(pdu.bhs.initiator_task_tag(), n);
        EXPECT_EQ(to_hex(pdu.data.bytes()), to_hex(pattern(n)));
      }
    }
  }
}

TEST(Framing, EverySplitPoint) {
  const Digests digests{true, true};
  ByteVector stream =
      wire(ping(1), pattern(5), digests) +
      wire(command(2), pattern(700), digests, build_command_ahs({pattern(9), 3}).bytes()) +
      wire(ping(3), {}, digests) + wire(ping(4), pattern(4), digests);
  for (std::size_t split = 0; split <= stream.size(); ++split) {
    Rig rig(Role::target, parameters(digests));
    feed(*rig.mover, Bytes(stream).first(split));
    feed(*rig.mover, Bytes(stream).subspan(split));
    ASSERT_EQ(rig.client.controls.size(), 4u) << split;
    EXPECT_EQ(to_hex(rig.client.controls[1].data.bytes()), to_hex(pattern(700)));
    EXPECT_EQ(rig.client.controls[1].ahs.size(), 24u);
    EXPECT_EQ(rig.client.controls[3].data.size(), 4u);
  }
}

TEST(Framing, CutAnywhereNothingOfThePduIsTold) {
  const ByteVector whole = wire(ping(1), pattern(13), {true, true});
  for (std::size_t n = 0; n < whole.size(); ++n) {
    Rig rig(Role::target, parameters({true, true}));
    feed(*rig.mover, Bytes(whole).first(n));
    EXPECT_TRUE(rig.client.controls.empty()) << n;
    rig.close();
    EXPECT_EQ(rig.client.ends, std::vector<ErrorCode>{errc::connection_closed});
  }
}

TEST(Framing, WrongHeaderDigestEndsTheConnection) {
  const ByteVector good =
      wire(command(1), pattern(9), {true, true}, build_command_ahs({pattern(9), 3}).bytes());
  const std::size_t header = 48 + 24 + 4;
  for (std::size_t i = 0; i < header; ++i) {
    if (i == 4) continue;  // TotalAHSLength says where the digest is; see below
    ByteVector bad = good;
    bad[i] ^= std::byte{0x10};
    Rig rig(Role::target, parameters({true, true}));
    feed(*rig.mover, bad);
    EXPECT_TRUE(rig.client.controls.empty());
    EXPECT_EQ(rig.failure(), errc::header_digest) << i;
  }
}

TEST(Framing, WrongAhsLengthIsAHeaderDigestErrorToo) {
  ByteVector bad = wire(command(1), pattern(2000), {true, true});
  for (int words = 1; words < 256; ++words) {
    bad[4] = static_cast<std::byte>(words);
    Rig rig(Role::target, parameters({true, true}));
    feed(*rig.mover, bad);
    EXPECT_EQ(rig.failure(), errc::header_digest) << words;
  }
}

TEST(Framing, WrongDataDigestEndsTheConnection) {
  const ByteVector good = wire(ping(1), pattern(9), {false, true});
  for (std::size_t i = 48; i < good.size(); ++i) {
    ByteVector bad = good;
    bad[i] ^= std::byte{1};
    Rig rig(Role::target, parameters({false, true}));
    feed(*rig.mover, bad);
    EXPECT_TRUE(rig.client.controls.empty());
    EXPECT_EQ(rig.failure(), errc::data_digest) << i;
  }
}

TEST(Framing, PaddingNeedNotBeZero) {
  ByteVector bytes = wire(ping(1), pattern(5));
  bytes[54] = std::byte{0xff};
  Rig rig(Role::target);
  feed(*rig.mover, bytes);
  EXPECT_EQ(rig.client.controls.size(), 1u);
}

// Padding does not count.
TEST(Framing, LimitThatIsNoMultipleOfFour) {
  for (const std::uint32_t limit : {512u, 513u, 514u, 515u}) {
    Parameters p;
    p.max_recv_data_segment_length = limit;
    Rig good(Role::target, p);
    good.hear(ping(1), pattern(limit));
    EXPECT_EQ(good.client.controls.size(), 1u);
    Rig bad(Role::target, p);
    bad.hear(ping(1), pattern(limit + 1));
    EXPECT_EQ(bad.failure(), errc::data_too_long);
  }
}

TEST(Framing, LargestDataSegmentIsRefusedBeforeItComes) {
  Bhs bhs = ping(1);
  bhs.set_data_segment_length(0xffffff);
  Rig rig(Role::target);
  feed(*rig.mover, bhs.raw);
  EXPECT_EQ(rig.failure(), errc::data_too_long);
}

TEST(Framing, AhsOfACommandUpToTheLimit) {
  const ByteVector ahs = pattern(kMaxTotalAhs);
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{100}, SIZE_MAX}) {
    Rig rig(Role::target, parameters({true, true}));
    feed(*rig.mover, wire(command(1), pattern(3), {true, true}, ahs), chunk);
    ASSERT_EQ(rig.client.controls.size(), 1u);
    EXPECT_EQ(to_hex(rig.client.controls[0].ahs.bytes()), to_hex(ahs));
  }
}

TEST(Framing, AhsIsSent) {
  Rig rig(Role::initiator, parameters({true, true}));
  rig.mover->send_control({command(1), build_command_ahs({pattern(9), {}}), {}});
  const auto pdus = rig.say();
  ASSERT_EQ(pdus.size(), 1u);
  EXPECT_EQ(pdus[0].ahs.size(), 16u);
}

TEST(Framing, AhsWhereThereIsNoneEndsTheConnection) {
  Rig target(Role::target);
  target.hear(ping(1), {}, pattern(4));
  EXPECT_EQ(target.failure(), errc::ahs_too_long);
  Rig initiator(Role::initiator);
  initiator.hear(encode(ScsiResponse()), {}, pattern(4));
  EXPECT_EQ(initiator.failure(), errc::ahs_too_long);
}

TEST(Framing, LargeControlDataIsOneBufferOfThePool) {
  Parameters p;
  p.max_recv_data_segment_length = 1 << 20;
  const ByteVector data = pattern(1 << 20);
  Rig rig(Role::target, p);
  feed(*rig.mover, wire(ping(1), data), 100000);
  ASSERT_EQ(rig.client.controls.size(), 1u);
  EXPECT_TRUE(std::ranges::equal(rig.client.controls[0].data.bytes(), data));
  EXPECT_EQ(rig.pool.outstanding(), data.size());
}

TEST(Framing, LargeDataIsReceivedStraightIntoItsBuffer) {
  Parameters p;
  p.max_recv_data_segment_length = 1 << 20;
  Rig rig(Role::target, p);
  const ByteVector bytes = wire(ping(1), pattern(1 << 20));
  feed(*rig.mover, Bytes(bytes).first(48));
  std::array<MutableBytes, 2> places;
  ASSERT_EQ(rig.mover->receive_space(places), 2u);
  EXPECT_EQ(places[0].size(), std::size_t{1} << 20);
}

TEST(Framing, ManyPdusOfOneReadAreOneTurn) {
  ByteVector stream;
  for (std::uint32_t i = 0; i < 100; ++i) stream = stream + wire(ping(i), pattern(20));
  Rig rig(Role::target);
  feed(*rig.mover, stream);
  EXPECT_EQ(rig.client.controls.size(), 100u);
  EXPECT_EQ(rig.client.turns, 1);
}

TEST(Framing, WhatWasReadBeforeIsParsedWithoutMore) {
  const ByteVector whole = wire(ping(1), pattern(100000)) + wire(ping(2));
  Parameters p;
  p.max_recv_data_segment_length = 1 << 20;
  for (const std::size_t before :
       {std::size_t{1}, std::size_t{48}, std::size_t{70000}, whole.size()}) {
    Rig rig(Role::target, p, {}, {whole.begin(), whole.begin() + static_cast<long>(before)});
    std::array<MutableBytes, 2> places;
    EXPECT_EQ(rig.mover->receive_space(places), 0u);
    EXPECT_GT(rig.host.calls, 0);
    EXPECT_TRUE(rig.client.controls.empty());
    ASSERT_TRUE(rig.mover->deadline());
    rig.mover->expired(Time());
    EXPECT_FALSE(rig.mover->deadline());
    feed(*rig.mover, Bytes(whole).subspan(before));
    EXPECT_EQ(rig.client.controls.size(), 2u);
  }
}

TEST(Framing, WriteFirstGoesFirst) {
  Rig rig(Role::target, {}, hex("aabbcc"));
  rig.mover->send_control({encode(NopIn()), {}, {}});
  EXPECT_EQ(to_hex(Bytes(take_output(*rig.mover)).first(4)), "aabbcc20");
}

// Streams of good PDUs with a few bytes changed: any outcome but harm.
TEST(Framing, MutatedStreams) {
  std::mt19937 random(20);
  for (int round = 0; round < 3000; ++round) {
    const Digests digests = kAllDigests[random() % 4];
    ByteVector stream = wire(ping(1), pattern(random() % 40), digests) +
                        wire(command(2), pattern(random() % 900), digests,
                             build_command_ahs({pattern(random() % 30), 1}).bytes()) +
                        wire(ping(3), pattern(random() % 2000), digests);
    for (int change = static_cast<int>(random() % 4); change > 0; --change)
      stream[random() % stream.size()] = static_cast<std::byte>(random() & 0xff);
    const Role role = random() % 2 ? Role::target : Role::initiator;
    Rig rig(role, parameters(digests));
    feed(*rig.mover, stream, 1 + random() % 3000);
    EXPECT_LE(rig.client.controls.size(), stream.size() / kBhsSize);
  }
}

}  // namespace
}  // namespace openiser::iscsi::testing
