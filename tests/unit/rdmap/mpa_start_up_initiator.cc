// The initiator's half of the MPA start-up (RFC 5044 section 7.1.2, RFC 6581 section 9).
#include "rdmap/errors.h"
#include "tests/unit/rdmap/mpa_start_up_support.h"

namespace openiser::rdmap::mpa_test {
namespace {

using test::operator+;
using test::pattern;

// Reply with flags 0x10 (S), revision 2, and the two words.
ByteVector enhanced_reply(const std::string& words) {
  return reply("10020004" + words);
}

TEST(MpaInitiator, AsksInRevision2WithItsReadDepths) {
  MpaSettings settings;
  settings.inbound_reads = 32;
  settings.outbound_reads = 1;
  settings.private_data = hex("c0000000");
  MpaStartUp start_up(MpaRole::initiator, settings, kStart);
  EXPECT_EQ(sent(start_up), "5002000800200001c0000000");
  EXPECT_EQ(start_up.state(), State::going_on);
}

// The golden vector: A=1, D=1.
TEST(MpaInitiator, AsksForPeerToPeerWithTheRtrKindsItHas) {
  MpaSettings settings;
  settings.inbound_reads = 32;
  settings.outbound_reads = 1;
  settings.peer_to_peer = true;
  settings.rtr = {.send = false, .write = false, .read = true};
  settings.private_data = hex("c0000000");
  MpaStartUp start_up(MpaRole::initiator, settings, kStart);
  EXPECT_EQ(sent(start_up), "5002000880204001c0000000");
}

TEST(MpaInitiator, AsksInRevision1WithoutEnhancedData) {
  MpaSettings settings = settings_of_revision(1);
  settings.peer_to_peer = true;
  settings.private_data = hex("abcd");
  MpaStartUp start_up(MpaRole::initiator, settings, kStart);
  EXPECT_EQ(sent(start_up), "40010002abcd");
}

TEST(MpaInitiator, AsksInRevision0WithMarkersAndCrc) {
  MpaSettings settings = settings_of_revision(0);
  settings.crc = false;
  settings.markers = false;
  MpaStartUp start_up(MpaRole::initiator, settings, kStart);
  EXPECT_EQ(sent(start_up), "c0000000");
}

TEST(MpaInitiator, ReadDepthsBeyond14BitsAreLeftToTheUlp) {
  MpaSettings settings;
  settings.inbound_reads = 0x4000;
  settings.outbound_reads = 0xffff;
  MpaStartUp start_up(MpaRole::initiator, settings, kStart);
  EXPECT_EQ(sent(start_up), "500200043fff3fff");
}

TEST(MpaInitiator, TheRequestIsSentOnce) {
  MpaStartUp start_up(MpaRole::initiator, {}, kStart);
  EXPECT_FALSE(start_up.take_output().empty());
  EXPECT_TRUE(start_up.take_output().empty());
}

TEST(MpaInitiator, AReplyEstablishesOnceItIsWhole) {
  const ByteVector answer = reply(
      "50020008"
      "00800001"
      "80000000");
  Initiator it({});
  for (std::size_t at = 0; at < answer.size(); ++at) {
    EXPECT_EQ(it.machine.state(), State::going_on) << at;
    EXPECT_EQ(it.machine.received(exact(Bytes(answer).subspan(at, 1))), 1u) << at;
  }
  EXPECT_EQ(it.machine.state(), State::established);
  EXPECT_FALSE(it.machine.error());
  EXPECT_EQ(to_hex(it.machine.peer_private_data()), "80000000");
}

TEST(MpaInitiator, TakesNoByteBehindTheReply) {
  const ByteVector answer = enhanced_reply("00800001");
  Initiator it({}, answer + pattern(200));
  EXPECT_EQ(it.taken, answer.size());
  EXPECT_EQ(it.machine.received(pattern(10)), 0u);
}

TEST(MpaInitiator, CrcIsOnUnlessNeitherSideAsks) {
  for (const bool ours : {false, true}) {
    for (const bool theirs : {false, true}) {
      MpaSettings settings = settings_of_revision(1);
      settings.crc = ours;
      Initiator it(settings, reply(theirs ? "40010000" : "00010000"));
      EXPECT_EQ(it.machine.settled().crc, ours || theirs) << ours << theirs;
    }
  }
}

TEST(MpaInitiator, MarkersAreSettledPerDirection) {
  for (const bool ours : {false, true}) {
    for (const bool theirs : {false, true}) {
      MpaSettings settings = settings_of_revision(1);
      settings.markers = ours;
      Initiator it(settings, reply(theirs ? "c0010000" : "40010000"));
      EXPECT_EQ(it.machine.settled().markers_received, ours) << ours << theirs;
      EXPECT_EQ(it.machine.settled().markers_sent, theirs) << ours << theirs;
    }
  }
}

TEST(MpaInitiator, Revision0IsVersion0WithMarkersAndCrcBothWays) {
  // Also when it had asked in a later revision (RFC 5044 appendix C.2.5).
  for (std::uint8_t revision : {0, 1, 2}) {
    MpaSettings settings = settings_of_revision(revision);
    settings.crc = false;
    settings.markers = false;
    Initiator it(settings, reply("c0000000"));
    ASSERT_EQ(it.machine.state(), State::established);
    const MpaSettled& settled = it.machine.settled();
    EXPECT_EQ(settled.revision, 0);
    EXPECT_EQ(settled.version, 0);
    EXPECT_TRUE(settled.crc && settled.markers_sent && settled.markers_received);
  }
}

TEST(MpaInitiator, Revisions1And2AreVersion1) {
  EXPECT_EQ(Initiator({}, reply("40010000")).machine.settled().version, 1);
  EXPECT_EQ(Initiator({}, enhanced_reply("00800080")).machine.settled().version, 1);
}

TEST(MpaInitiator, Revision0WithoutMarkersOrCrcIsABadFrame) {
  for (const char* flags : {"00", "40", "80"}) {
    Initiator it({}, reply(std::string(flags) + "000000"));
    EXPECT_EQ(it.machine.error(), errc::mpa_bad_frame) << flags;
  }
}

// RFC 6581 section 9.1.
TEST(MpaInitiator, LowersItsOrdToTheRespondersIrd) {
  Initiator it({}, enhanced_reply("00040001"));
  ASSERT_EQ(it.machine.state(), State::established);
  EXPECT_EQ(it.machine.settled().outbound_reads, 4);
  EXPECT_EQ(it.machine.settled().inbound_reads, 128);
}

TEST(MpaInitiator, NeverRaisesItsOrd) {
  Initiator it({}, enhanced_reply("10000001"));
  EXPECT_EQ(it.machine.settled().outbound_reads, 128);
}

TEST(MpaInitiator, LeavesItsDepthsAloneWhenTheResponderLeavesThemToTheUlp) {
  Initiator it({}, enhanced_reply("3fff3fff"));
  ASSERT_EQ(it.machine.state(), State::established);
  EXPECT_EQ(it.machine.settled().outbound_reads, 128);
  EXPECT_EQ(it.machine.settled().inbound_reads, 128);
}

TEST(MpaInitiator, TerminatesWhenTheResponderWantsMoreReadsThanItHasPlacesFor) {
  Initiator it({}, enhanced_reply("00800081"));
  EXPECT_EQ(it.machine.state(), State::failed);
  EXPECT_EQ(it.machine.error(), errc::mpa_insufficient_ird);
  EXPECT_TRUE(it.machine.terminates());
  EXPECT_TRUE(it.machine.settled().crc) << "the Terminate needs it";
}

TEST(MpaInitiator, ThePeersDepthsAreKept) {
  Initiator it({}, enhanced_reply("00040005"));
  ASSERT_TRUE(it.machine.settled().peer);
  EXPECT_EQ(it.machine.settled().peer->ird, 4);
  EXPECT_EQ(it.machine.settled().peer->ord, 5);
}

TEST(MpaInitiator, APlainReplyToAnEnhancedRequestLeavesTheDepthsAsConfigured) {
  for (const char* plain : {"40010000", "40020000"}) {
    Initiator it({}, reply(plain));
    ASSERT_EQ(it.machine.state(), State::established) << plain;
    EXPECT_EQ(it.machine.settled().outbound_reads, 128);
    EXPECT_EQ(it.machine.settled().inbound_reads, 128);
    EXPECT_FALSE(it.machine.settled().peer);
  }
}

MpaSettings peer_to_peer(RtrKinds kinds = {.send = true, .write = true, .read = true}) {
  MpaSettings settings;
  settings.peer_to_peer = true;
  settings.rtr = kinds;
  return settings;
}

TEST(MpaInitiator, ChoosesTheCheapestRtrThatBothKnow) {
  struct Row {
    RtrKinds ours;
    const char* words;  // A, B, IRD 1 | C, D, ORD 1
    Rtr chosen;
  };
  constexpr RtrKinds kAll{.send = true, .write = true, .read = true};
  constexpr RtrKinds kSendRead{.send = true, .write = false, .read = true};
  for (const Row& row : {Row{kAll, "c001c001", Rtr::write}, Row{kAll, "c0014001", Rtr::read},
                         Row{kAll, "c0010001", Rtr::send}, Row{kSendRead, "c001c001", Rtr::read},
                         Row{kSendRead, "c0018001", Rtr::send},
                         // No read without a place in the responder's queue.
                         Row{kAll, "c0004001", Rtr::send}}) {
    Initiator it(peer_to_peer(row.ours), enhanced_reply(row.words));
    EXPECT_EQ(it.machine.state(), State::established) << row.words;
    EXPECT_EQ(it.machine.settled().rtr_to_send, row.chosen) << row.words;
    EXPECT_EQ(it.machine.settled().rtr_expected, RtrKinds{}) << row.words;
  }
}

TEST(MpaInitiator, TerminatesWithoutAnRtrThatBothKnow) {
  // None at all; only a kind we cannot send; a read that has no place.
  for (const char* words : {"80010001", "c0014001", "80008001"}) {
    Initiator it(peer_to_peer({.send = false, .write = false, .read = false}),
                 enhanced_reply(words));
    EXPECT_EQ(it.machine.state(), State::failed) << words;
    EXPECT_EQ(it.machine.error(), errc::mpa_no_rtr_match) << words;
    EXPECT_TRUE(it.machine.terminates()) << words;
  }
  Initiator read_only(peer_to_peer({.send = false, .write = false, .read = true}),
                      enhanced_reply("80004001"));
  EXPECT_EQ(read_only.machine.error(), errc::mpa_no_rtr_match);
}

// KNOWN: a responder that does not echo A speaks of another connection model (RFC 6581
// section 9.2).
TEST(MpaInitiator, TerminatesWhenPeerToPeerIsNotEchoed) {
  for (const ByteVector& answer : {enhanced_reply("0001c001"), reply("40010000")}) {
    Initiator it(peer_to_peer(), answer);
    EXPECT_EQ(it.machine.error(), errc::mpa_no_rtr_match);
    EXPECT_TRUE(it.machine.terminates());
  }
}

TEST(MpaInitiator, SendsNoRtrWhenItDidNotAskForPeerToPeer) {
  Initiator it({}, enhanced_reply("c001c001"));
  EXPECT_EQ(it.machine.state(), State::established);
  EXPECT_EQ(it.machine.settled().rtr_to_send, Rtr::none);
}

TEST(MpaInitiator, ARejectionIsReportedWithItsPrivateData) {
  for (const char* rejection : {"60010003616263", "7002000700010001616263"}) {
    Initiator it({}, reply(rejection));
    EXPECT_EQ(it.machine.state(), State::rejected) << rejection;
    EXPECT_EQ(it.machine.error(), errc::rejected) << rejection;
    EXPECT_FALSE(it.machine.terminates());
    EXPECT_EQ(to_hex(it.machine.peer_private_data()), "616263") << rejection;
  }
}

// RFC 5044 section 7.1.2, rule 8.
TEST(MpaInitiator, ARequestInsteadOfAReplyIsFoundAtItsFirstByteThatDiffers) {
  const ByteVector clash = request("40010000");
  Initiator it({});
  EXPECT_EQ(it.machine.received(exact(Bytes(clash).first(9))), 9u);
  EXPECT_EQ(it.machine.state(), State::going_on);
  it.machine.received(exact(Bytes(clash).subspan(9, 1)));
  EXPECT_EQ(it.machine.state(), State::failed);
  EXPECT_EQ(it.machine.error(), errc::mpa_bad_frame);
  EXPECT_FALSE(it.machine.terminates()) << "closed at once: RFC 5044 section 8, code 4";
}

TEST(MpaInitiator, AReplyBeyondTheRevisionAskedForIsABadFrame) {
  EXPECT_EQ(Initiator(settings_of_revision(1), reply("40020000")).machine.error(),
            errc::mpa_bad_frame);
  EXPECT_EQ(Initiator(settings_of_revision(0), reply("c0010000")).machine.error(),
            errc::mpa_bad_frame);
  EXPECT_EQ(Initiator({}, reply("40030000")).machine.error(), errc::mpa_bad_frame);
}

TEST(MpaInitiator, TooMuchPrivateDataIsABadFrame) {
  EXPECT_EQ(Initiator({}, reply("40010201")).machine.error(), errc::mpa_bad_frame);
}

TEST(MpaInitiator, GivesUpAtItsDeadline) {
  MpaSettings settings;
  settings.start_up_timeout = std::chrono::seconds(3);
  Initiator it(settings);
  const Time due = kStart + std::chrono::seconds(3);
  ASSERT_EQ(it.machine.deadline(), due);
  it.machine.expired(due - std::chrono::milliseconds(1));
  EXPECT_EQ(it.machine.state(), State::going_on);
  it.machine.expired(due);
  EXPECT_EQ(it.machine.error(), errc::start_up_timeout);
  EXPECT_FALSE(it.machine.deadline());
}

TEST(MpaInitiator, HasNoDeadlineOnceEstablished) {
  Initiator it({}, reply("40010000"));
  EXPECT_FALSE(it.machine.deadline());
  it.machine.expired(kStart + std::chrono::hours(1));
  EXPECT_EQ(it.machine.state(), State::established);
}

TEST(MpaInitiator, AClosedStreamAtAnyByteFailsTheStartUp) {
  const ByteVector answer = enhanced_reply("00800001");
  for (std::size_t n = 0; n < answer.size(); ++n) {
    Initiator it({}, exact(Bytes(answer).first(n)));
    it.machine.transport_closed();
    EXPECT_EQ(it.machine.error(), errc::transport_closed) << n;
  }
}

}  // namespace
}  // namespace openiser::rdmap::mpa_test
