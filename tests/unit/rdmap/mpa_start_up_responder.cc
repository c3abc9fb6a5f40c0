// The responder's half of the MPA start-up, and both halves against each other.
#include "rdmap/errors.h"
#include "tests/unit/rdmap/mpa_start_up_support.h"

namespace openiser::rdmap::mpa_test {
namespace {

using test::operator+;
using test::pattern;

ByteVector enhanced_request(const std::string& words) {
  return request("10020004" + words);
}

MpaSettings without_crc() {
  MpaSettings settings;
  settings.crc = false;
  return settings;
}

TEST(MpaResponder, SaysNothingBeforeTheRequest) {
  MpaStartUp start_up(MpaRole::responder, {}, kStart);
  EXPECT_TRUE(start_up.take_output().empty());
  EXPECT_EQ(start_up.state(), State::going_on);
}

TEST(MpaResponder, AnswersOnceTheRequestIsWhole) {
  const ByteVector asked = request(
      "10020008"
      "00800001"
      "80000000");
  Responder it({});
  for (std::size_t at = 0; at < asked.size(); ++at) {
    EXPECT_EQ(it.machine.state(), State::going_on) << at;
    EXPECT_TRUE(it.machine.take_output().empty()) << at;
    EXPECT_EQ(it.machine.received(exact(Bytes(asked).subspan(at, 1))), 1u) << at;
  }
  EXPECT_EQ(it.machine.state(), State::established);
  EXPECT_FALSE(it.machine.take_output().empty());
  EXPECT_EQ(to_hex(it.machine.peer_private_data()), "80000000");
}

TEST(MpaResponder, TakesNoByteBehindTheRequest) {
  const ByteVector asked = request("40010000");
  Responder it({}, asked + pattern(50));
  EXPECT_EQ(it.taken, asked.size());
}

// RFC 6581 section 10.
TEST(MpaResponder, AnswersInTheRevisionAndFormItWasAskedIn) {
  struct Row {
    const char* asked;
    const char* answered;
  };
  for (const Row& row :
       {Row{"40010000", "40010000"}, Row{"40020000", "40020000"}, Row{"c0000000", "c0000000"},
        Row{"5002000400800001", "5002000400010080"}}) {
    Responder it({}, request(row.asked));
    EXPECT_EQ(sent(it.machine), row.answered) << row.asked;
    EXPECT_EQ(it.machine.state(), State::established) << row.asked;
  }
}

TEST(MpaResponder, SettlesTheVersionByTheRevision) {
  EXPECT_EQ(Responder({}, request("c0000000")).machine.settled().version, 0);
  EXPECT_EQ(Responder({}, request("40010000")).machine.settled().version, 1);
  EXPECT_EQ(Responder({}, request("40020000")).machine.settled().version, 1);
}

TEST(MpaResponder, Revision0HasMarkersBothWays) {
  Responder it(without_crc(), request("c0000000"));
  const MpaSettled& settled = it.machine.settled();
  EXPECT_TRUE(settled.crc && settled.markers_sent && settled.markers_received);
}

TEST(MpaResponder, Revision0WithoutMarkersOrCrcIsABadFrame) {
  for (const char* flags : {"00", "40", "80"}) {
    Responder it({}, request(std::string(flags) + "000000"));
    EXPECT_EQ(it.machine.error(), errc::mpa_bad_frame) << flags;
    EXPECT_TRUE(it.machine.take_output().empty()) << flags;
  }
}

TEST(MpaResponder, CrcIsOnUnlessNeitherSideAsksAndItsReplySaysSo) {
  for (const bool ours : {false, true}) {
    for (const bool theirs : {false, true}) {
      MpaSettings settings;
      settings.crc = ours;
      Responder it(settings, request(theirs ? "40010000" : "00010000"));
      EXPECT_EQ(it.machine.settled().crc, ours || theirs) << ours << theirs;
      EXPECT_EQ(sent(it.machine), ours || theirs ? "40010000" : "00010000") << ours << theirs;
    }
  }
}

TEST(MpaResponder, MarkersAreSettledPerDirection) {
  for (const bool ours : {false, true}) {
    for (const bool theirs : {false, true}) {
      MpaSettings settings = without_crc();
      settings.markers = ours;
      Responder it(settings, request(theirs ? "80010000" : "00010000"));
      EXPECT_EQ(it.machine.settled().markers_received, ours) << ours << theirs;
      EXPECT_EQ(it.machine.settled().markers_sent, theirs) << ours << theirs;
      EXPECT_EQ(sent(it.machine), ours ? "80010000" : "00010000") << ours << theirs;
    }
  }
}

// RFC 6581 section 9.1: depths from 0 to the most.
TEST(MpaResponder, ReadDepthsAreTheLesserOfWhatBothHave) {
  struct Row {
    std::uint16_t inbound, outbound;
    const char* asked;  // IRD, ORD
    const char* answered;
    std::uint16_t settled_inbound, settled_outbound;
  };
  for (const Row& row : {
           Row{128, 128, "00000000", "00000000", 0, 0},
           Row{128, 128, "00800001", "00010080", 1, 128},
           Row{4, 8, "00200010", "00040008", 4, 8},
           Row{128, 128, "00030005", "00050003", 5, 3},
           Row{0, 0, "00800080", "00000000", 0, 0},
           Row{16383, 16383, "3ffe3ffe", "3ffe3ffe", 0x3ffe, 0x3ffe},
           // All ones: answered with all ones, and ours stay as they are.
           Row{4, 8, "3fff3fff", "3fff3fff", 4, 8},
           Row{4, 8, "3fff0002", "00023fff", 2, 8},
           Row{4, 8, "00023fff", "3fff0002", 4, 2},
       }) {
    MpaSettings settings = without_crc();
    settings.inbound_reads = row.inbound;
    settings.outbound_reads = row.outbound;
    Responder it(settings, enhanced_request(row.asked));
    EXPECT_EQ(sent(it.machine), std::string("10020004") + row.answered) << row.asked;
    EXPECT_EQ(it.machine.settled().inbound_reads, row.settled_inbound) << row.asked;
    EXPECT_EQ(it.machine.settled().outbound_reads, row.settled_outbound) << row.asked;
  }
}

TEST(MpaResponder, APlainRequestLeavesTheDepthsAsConfigured) {
  Responder it({}, request("40010000"));
  EXPECT_EQ(it.machine.settled().inbound_reads, 128);
  EXPECT_EQ(it.machine.settled().outbound_reads, 128);
  EXPECT_FALSE(it.machine.settled().peer);
}

// RFC 6581 section 9.2. A is echoed.
TEST(MpaResponder, EchoesPeerToPeerAndNamesTheRtrKindsInCommon) {
  struct Row {
    RtrKinds ours;
    const char* asked;  // A, B, IRD 1 | C, D, ORD 1
    const char* answered;
    RtrKinds expected;
  };
  constexpr RtrKinds kAll{.send = true, .write = true, .read = true};
  constexpr RtrKinds kWrite{.send = false, .write = true, .read = false};
  constexpr RtrKinds kSend{.send = true, .write = false, .read = false};
  for (const Row& row : {
           Row{kAll, "c001c001", "c001c001", kAll},
           Row{kAll, "80018001", "80018001", kWrite},
           Row{kWrite, "c001c001", "80018001", kWrite},
           Row{kSend, "c001c001", "c0010001", kSend},
           // Nothing in common: what we have, and the initiator terminates.
           Row{kWrite, "c0010001", "80018001", kWrite},
           Row{kAll, "80010001", "c001c001", kAll},
           // A responder must know one.
           Row{RtrKinds{}, "c001c001", "80018001", kWrite},
       }) {
    MpaSettings settings = without_crc();
    settings.rtr = row.ours;
    Responder it(settings, enhanced_request(row.asked));
    EXPECT_EQ(sent(it.machine), std::string("10020004") + row.answered) << row.asked;
    EXPECT_EQ(it.machine.settled().rtr_expected, row.expected) << row.asked;
    EXPECT_EQ(it.machine.settled().rtr_to_send, Rtr::none);
  }
}

TEST(MpaResponder, WithoutPeerToPeerNoRtrIsNamedOrExpected) {
  Responder it(without_crc(), enhanced_request("4001c001"));
  EXPECT_EQ(sent(it.machine), "1002000400010001");
  EXPECT_EQ(it.machine.settled().rtr_expected, RtrKinds{});
}

// RFC 6581 section 9.1: the responder's IRD may be raised for it.
TEST(MpaResponder, MakesRoomForAnRtrReadThatTheUlpDidNotAskFor) {
  Responder it(without_crc(), enhanced_request("80004000"));
  EXPECT_EQ(sent(it.machine), "1002000480014000");
  EXPECT_EQ(it.machine.settled().inbound_reads, 1);
}

TEST(MpaResponder, OffersNoRtrReadWithoutInboundReads) {
  MpaSettings settings = without_crc();
  settings.inbound_reads = 0;
  Responder it(settings, enhanced_request("c001c001"));
  EXPECT_EQ(sent(it.machine), "10020004c0008001");
}

TEST(MpaResponder, TheUlpSeesThePrivateDataAndAnswersWithItsOwn) {
  std::string seen;
  Responder it(without_crc(),
               request("10020007"
                       "00010001"
                       "616263"),
               [&](Bytes private_data) {
                 seen = to_hex(private_data);
                 return MpaAnswer{.reject = false, .private_data = hex("7879")};
               });
  EXPECT_EQ(seen, "616263");
  EXPECT_EQ(sent(it.machine),
            "10020006"
            "00010001"
            "7879");
}

TEST(MpaResponder, WithoutADecisionItAnswersWithItsSettings) {
  MpaSettings settings = without_crc();
  settings.private_data = hex("80000000");
  Responder it(settings, request("00010000"));
  EXPECT_EQ(sent(it.machine), "0001000480000000");
}

TEST(MpaResponder, ARefusalIsARejectingReply) {
  Responder it(without_crc(), request("00010000"),
               [](Bytes) { return MpaAnswer{.reject = true, .private_data = hex("ee")}; });
  EXPECT_EQ(it.machine.state(), State::rejected);
  EXPECT_EQ(it.machine.error(), errc::rejected);
  EXPECT_EQ(sent(it.machine), "20010001ee");
}

TEST(MpaResponder, PrivateDataThatDoesNotFitTheRevisionAskedForFailsTheStartUp) {
  MpaSettings settings;
  settings.private_data = pattern(509);
  Responder plain(settings, request("40010000"));
  EXPECT_EQ(plain.machine.state(), State::established);
  Responder enhanced(settings, enhanced_request("00010001"));
  EXPECT_EQ(enhanced.machine.error(), errc::mpa_local_catastrophic);
  EXPECT_TRUE(enhanced.machine.take_output().empty());
}

TEST(MpaResponder, AWrongKeyIsABadFrameAtItsFirstWrongByte) {
  for (std::size_t at = 0; at < kMpaKeySize; ++at) {
    ByteVector bad = request("");
    bad[at] ^= std::byte{0x20};
    Responder it({}, exact(Bytes(bad).first(at)));
    EXPECT_EQ(it.machine.state(), State::going_on) << at;
    it.machine.received(exact(Bytes(bad).subspan(at, 1)));
    EXPECT_EQ(it.machine.error(), errc::mpa_bad_frame) << at;
    EXPECT_FALSE(it.machine.terminates()) << at;
  }
}

TEST(MpaResponder, AReplyInsteadOfARequestIsABadFrame) {
  EXPECT_EQ(Responder({}, reply("40010000")).machine.error(), errc::mpa_bad_frame);
}

TEST(MpaResponder, GivesUpAtItsDeadline) {
  Responder it({});
  ASSERT_EQ(it.machine.deadline(), kStart + std::chrono::seconds(10));
  it.machine.expired(*it.machine.deadline());
  EXPECT_EQ(it.machine.error(), errc::start_up_timeout);
}

TEST(MpaResponder, AClosedStreamAtAnyByteFailsTheStartUp) {
  const ByteVector asked = enhanced_request("00800001");
  for (std::size_t n = 0; n < asked.size(); ++n) {
    Responder it({}, exact(Bytes(asked).first(n)));
    it.machine.transport_closed();
    EXPECT_EQ(it.machine.error(), errc::transport_closed) << n;
  }
}

TEST(MpaStartUp, BothHalvesSettleOnTheSame) {
  for (std::uint8_t revision : {0, 1, 2}) {
    for (unsigned bits = 0; bits < 32; ++bits) {
      MpaSettings ours = settings_of_revision(revision);
      ours.crc = (bits & 1) != 0;
      ours.markers = (bits & 2) != 0;
      ours.peer_to_peer = (bits & 4) != 0;
      ours.outbound_reads = 7;
      MpaSettings theirs;
      theirs.crc = (bits & 8) != 0;
      theirs.markers = (bits & 16) != 0;
      theirs.inbound_reads = 5;
      MpaStartUp initiator(MpaRole::initiator, ours, kStart);
      MpaStartUp responder(MpaRole::responder, theirs, kStart);
      responder.received(initiator.take_output());
      initiator.received(responder.take_output());
      ASSERT_EQ(initiator.state(), State::established) << bits;
      ASSERT_EQ(responder.state(), State::established) << bits;
      const MpaSettled& a = initiator.settled();
      const MpaSettled& b = responder.settled();
      EXPECT_EQ(a.revision, b.revision) << bits;
      EXPECT_EQ(a.version, b.version) << bits;
      EXPECT_EQ(a.crc, b.crc) << bits;
      EXPECT_EQ(a.markers_sent, b.markers_received) << bits;
      EXPECT_EQ(a.markers_received, b.markers_sent) << bits;
      if (revision == 2) {
        EXPECT_EQ(a.outbound_reads, 5) << bits;
        EXPECT_EQ(b.inbound_reads, 5) << bits;
        EXPECT_EQ(a.rtr_to_send == Rtr::write, ours.peer_to_peer) << bits;
        EXPECT_EQ(b.rtr_expected.write, ours.peer_to_peer) << bits;
      }
    }
  }
}

}  // namespace
}  // namespace openiser::rdmap::mpa_test
