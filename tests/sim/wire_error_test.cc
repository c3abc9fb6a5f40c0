// One malformed message on a connection that was good until then: the target answers with the right
// Terminate (RFC 5040 section 4.8, RFC 5041 section 7.2, RFC 5044 section 8) and closes.
#include <gtest/gtest.h>

#include "tests/support/hostile_fixture.h"
#include "tests/support/raw_ways.h"

namespace openiser::test {
namespace {

using rdmap::Opcode;
using rdmap::Stag;
using rdmap::TaggedHeader;
using rdmap::UntaggedHeader;

constexpr Stag kNobodys{0x5eed1234};
const ByteVector kFew = pattern(8);

// A ULPDU that is to be refused, in an FPDU that is in order.
struct Fault {
  const char* name;
  ByteVector (*ulpdu)(const RawIser& peer);
  const char* terminate;
};
void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.name;
}

ByteVector send_ulpdu(const RawIser& peer, Opcode opcode = Opcode::send, Stag invalidate = {}) {
  return ulpdu(opcode, UntaggedHeader{.invalidate = invalidate, .msn = peer.iwarp.send_msn},
               peer.message({encode(ping(1, 1)), {}, {}}));
}
ByteVector write_ulpdu() {
  return ulpdu(Opcode::rdma_write, TaggedHeader{.stag = kNobodys, .offset = 4096}, kFew);
}
ByteVector read_ulpdu(const RawIser& peer, std::uint32_t size = 512, std::uint32_t skip = 0) {
  return read_request_ulpdu(
      {.sink = Stag{1}, .sink_offset = 0, .size = size, .source = kNobodys, .source_offset = 4096},
      peer.iwarp.read_msn + skip);
}
ByteVector with_opcode(ByteVector ulpdu, std::uint8_t opcode) {
  return altered(std::move(ulpdu), 1, static_cast<std::uint8_t>(0x40 | opcode));
}
ByteVector on_queue(ByteVector ulpdu, std::uint8_t queue) {
  return altered(std::move(ulpdu), 9, queue);
}

const Fault kFaults[] = {
    {"WriteToUnknownStag", [](auto&) { return write_ulpdu(); }, "1/1/00"},
    {"ReadResponseUnasked",
     [](auto&) {
       return ulpdu(Opcode::read_response, TaggedHeader{.stag = kNobodys, .offset = 0}, kFew);
     },
     "1/1/00"},
    {"ReadResponseUnaskedEmpty",
     [](auto&) { return ulpdu(Opcode::read_response, TaggedHeader{.stag = kNobodys}); }, "1/1/00"},
    {"TaggedVersion0", [](auto&) { return altered(write_ulpdu(), 0, 0xc0); }, "1/1/04"},
    {"TaggedVersion2", [](auto&) { return altered(write_ulpdu(), 0, 0xc2); }, "1/1/04"},
    {"QueueOfAtomics", [](auto& p) { return on_queue(send_ulpdu(p), 3); }, "1/2/01"},
    {"QueueUnknown", [](auto& p) { return on_queue(send_ulpdu(p), 200); }, "1/2/01"},
    {"MsnSkipped",
     [](auto& p) {
       return ulpdu(Opcode::send, UntaggedHeader{.invalidate = {}, .msn = p.iwarp.send_msn + 1},
                    kFew);
     },
     "1/2/03"},
    {"MsnRepeated",
     [](auto& p) {
       return ulpdu(Opcode::send, UntaggedHeader{.invalidate = {}, .msn = p.iwarp.send_msn - 1},
                    kFew);
     },
     "1/2/03"},
    {"MsnFarAway",
     [](auto&) {
       return ulpdu(Opcode::send, UntaggedHeader{.invalidate = {}, .msn = 0x80000000}, kFew);
     },
     "1/2/03"},
    {"ReadRequestMsnSkipped", [](auto& p) { return read_ulpdu(p, 512, 1); }, "1/2/03"},
    {"TerminateMsn2",
     [](auto&) {
       return ulpdu(Opcode::terminate,
                    UntaggedHeader{.invalidate = {}, .queue = 2, .msn = 2, .message_offset = 0},
                    pattern(4));
     },
     "1/2/03"},
    {"OffsetBeyondStart",
     [](auto& p) {
       return ulpdu(Opcode::send,
                    UntaggedHeader{
                        .invalidate = {}, .queue = 0, .msn = p.iwarp.send_msn, .message_offset = 4},
                    kFew);
     },
     "1/2/04"},
    {"OffsetNearWrap",
     [](auto& p) {
       return ulpdu(
           Opcode::send,
           UntaggedHeader{
               .invalidate = {}, .queue = 0, .msn = p.iwarp.send_msn, .message_offset = 0xfffffffc},
           kFew);
     },
     "1/2/04"},
    {"ReadRequestOffset", [](auto& p) { return altered(read_ulpdu(p), 17, 4); }, "1/2/04"},
    {"MessageTooLong",
     [](auto& p) {
       return ulpdu(Opcode::send, UntaggedHeader{.invalidate = {}, .msn = p.iwarp.send_msn},
                    pattern(60000));
     },
     "1/2/05"},
    {"ReadRequestTooLong", [](auto& p) { return read_ulpdu(p) + pattern(4); }, "1/2/05"},
    {"UntaggedVersion0", [](auto& p) { return altered(send_ulpdu(p), 0, 0x40); }, "1/2/06"},
    {"UntaggedVersion3", [](auto& p) { return altered(send_ulpdu(p), 0, 0x43); }, "1/2/06"},
    {"RdmapVersion0", [](auto& p) { return altered(send_ulpdu(p), 1, 0x03); }, "0/2/05"},
    {"RdmapVersion2", [](auto& p) { return altered(send_ulpdu(p), 1, 0x83); }, "0/2/05"},
    {"RdmapVersionOfAWrite", [](auto&) { return altered(write_ulpdu(), 1, 0xc0); }, "0/2/05"},
    {"ImmediateData", [](auto& p) { return with_opcode(send_ulpdu(p), 0x8); }, "0/2/06"},
    {"AtomicRequest", [](auto& p) { return with_opcode(read_ulpdu(p), 0xa); }, "0/2/06"},
    {"OpcodeReserved", [](auto& p) { return with_opcode(send_ulpdu(p), 0xc); }, "0/2/06"},
    {"OpcodeOfExperiments", [](auto& p) { return with_opcode(send_ulpdu(p), 0xf); }, "0/2/06"},
    {"TaggedSend", [](auto&) { return with_opcode(write_ulpdu(), 3); }, "0/2/06"},
    {"TaggedReadRequest", [](auto&) { return with_opcode(write_ulpdu(), 1); }, "0/2/06"},
    {"UntaggedWrite", [](auto& p) { return with_opcode(send_ulpdu(p), 0); }, "0/2/06"},
    {"UntaggedReadResponse", [](auto& p) { return with_opcode(send_ulpdu(p), 2); }, "0/2/06"},
    {"SendOnTheReadQueue", [](auto& p) { return on_queue(send_ulpdu(p), 1); }, "0/2/06"},
    {"ReadRequestOnTheSendQueue", [](auto& p) { return on_queue(read_ulpdu(p), 0); }, "0/2/06"},
    {"TerminateOnTheSendQueue", [](auto& p) { return with_opcode(send_ulpdu(p), 7); }, "0/2/06"},
    {"ReadFromUnknownStag", [](auto& p) { return read_ulpdu(p); }, "0/1/00"},
    {"HugeReadFromUnknownStag", [](auto& p) { return read_ulpdu(p, 0xffffffff); }, "0/1/00"},
    // Of the two places of code 09 the remote protection error: an STag is at fault.
    {"InvalidateOfAnUnknownStag",
     [](auto& p) { return send_ulpdu(p, Opcode::send_invalidate, kNobodys); }, "0/1/09"},
    {"SolicitedInvalidateOfAnUnknownStag",
     [](auto& p) { return send_ulpdu(p, Opcode::send_solicited_invalidate, kNobodys); }, "0/1/09"},
};

class WireFaultTest : public HostileCaseTest<Fault> {};

// RFC 5040 section 4.8, figure 10: what of the refused message a Terminate brings back.
void expect_headers_of(const ByteVector& refused, const rdmap::Terminate& terminate) {
  const std::size_t header = rdmap::ddp_header_size(rdmap::is_tagged(refused));
  EXPECT_EQ(terminate.segment_length, refused.size());
  EXPECT_EQ(to_hex(terminate.ddp_header), to_hex(Bytes(refused).first(header)));
  const bool read_request = (load_u8(&refused[1]) & 0xf) == 1 && !rdmap::is_tagged(refused);
  if (terminate.layer == 0 && terminate.type == 1 && read_request) {
    EXPECT_EQ(to_hex(terminate.rdma_header), to_hex(Bytes(refused).subspan(header)));
  } else {
    EXPECT_TRUE(terminate.rdma_header.empty());
  }
}

TEST_P(WireFaultTest, IsTerminated) {
  serve();
  for (const Way way : kAllWays) {
    SCOPED_TRACE(name_of(way));
    const auto peer = bring_up(port(), way);
    const ByteVector bad = GetParam().ulpdu(*peer);
    ASSERT_TRUE(peer->iwarp.give(bad));
    EXPECT_EQ(peer->iwarp.fate(), GetParam().terminate);
    ASSERT_TRUE(peer->iwarp.last_terminate);
    expect_headers_of(bad, peer->iwarp.last_terminate->what);
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, WireFaultTest, ::testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(info.param.name); });

// --- what is not one ULPDU of the table above ---

class WireTest : public HostileCaseTest<Way> {};

TEST_P(WireTest, AWrongCrcIsTerminated) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  ByteVector fpdu = peer->iwarp.fpdu(send_ulpdu(*peer));
  fpdu.back() ^= std::byte{1};
  ASSERT_TRUE(peer->socket.write(fpdu));
  EXPECT_EQ(peer->iwarp.fate(), "2/0/02");
}

// The header is not believed before the CRC is (RFC 5044 section 8): it is the first thing wrong.
TEST_P(WireTest, AWrongCrcComesBeforeAWrongHeader) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  ByteVector fpdu = peer->iwarp.fpdu(altered(send_ulpdu(*peer), 0, 0x43));
  fpdu.back() ^= std::byte{1};
  ASSERT_TRUE(peer->socket.write(fpdu));
  EXPECT_EQ(peer->iwarp.fate(), "2/0/02");
}

// fault 65: more than the receives we have credit for, in one go.
TEST_P(WireTest, MoreSendsThanReceivesAreTerminated) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  ByteVector flood;
  for (std::uint32_t i = 0; i < 600; ++i) {
    flood = flood + peer->iwarp.fpdu(send_ulpdu(*peer));
    ++peer->iwarp.send_msn;
  }
  ASSERT_TRUE(peer->socket.write(flood));
  EXPECT_EQ(peer->iwarp.fate(), "1/2/02");
}

// Memory is not what a peer can make us spend: a message that never ends is cut off at the receive.
TEST_P(WireTest, AnEndlessMessageIsTerminated) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  const ByteVector piece = pattern(1000);
  for (std::uint32_t at = 0; at < 100000; at += 1000) {
    const UntaggedHeader header{.last = false,
                                .rdmap_control = 0,
                                .invalidate = {},
                                .queue = 0,
                                .msn = peer->iwarp.send_msn,
                                .message_offset = at};
    if (!peer->iwarp.give(ulpdu(Opcode::send, header, piece))) break;
  }
  EXPECT_EQ(peer->iwarp.fate(), "1/2/05");
}

TEST_P(WireTest, ATerminateIsNotAnswered) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  const UntaggedHeader header{
      .invalidate = {}, .queue = rdmap::kTerminateQueue, .msn = 1, .message_offset = 0};
  ASSERT_TRUE(peer->iwarp.give(ulpdu(Opcode::terminate, header, hex("00000000"))));
  EXPECT_EQ(peer->iwarp.fate(), "closed");
}

// A zero-length read names no memory, and is how RDMAP says "so far" (RFC 5040 section 5.2.1).
TEST_P(WireTest, AnEmptyReadIsAnswered) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  ASSERT_TRUE(peer->iwarp.give(read_ulpdu(*peer, 0)));
  const auto segment = peer->iwarp.next();
  ASSERT_TRUE(segment);
  EXPECT_EQ(segment->opcode, Opcode::read_response);
  EXPECT_TRUE(segment->payload.empty());
}

// ULPDUs too short for their headers have no code of their own.
TEST_P(WireTest, ATooShortUlpduIsTerminated) {
  serve();
  const auto whole = write_ulpdu();
  for (const std::size_t size : {1u, 2u, 13u}) {
    const auto peer = bring_up(port(), GetParam());
    ASSERT_TRUE(peer->iwarp.give(Bytes(whole).first(size)));
    EXPECT_EQ(peer->iwarp.fate(), "0/2/07") << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, WireTest, ::testing::ValuesIn(kAllWays),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// --- markers that the target demands ---

class MarkerTest : public HostileTest {
 protected:
  // A peer whose next Send will have a marker in its payload, at `marker` of the FPDU's bytes.
  std::unique_ptr<RawIser> marked() {
    auto config = daemon_config();
    config.rdma.markers = true;
    serve(std::move(config));
    return bring_up(port(), Way::rdma_first);
  }
  ByteVector long_message(RawIser& peer) {
    return ulpdu(Opcode::send, UntaggedHeader{.invalidate = {}, .msn = peer.iwarp.send_msn},
                 peer.message(pdu_of(encode(ping(7, peer.next_cmd_sn())), std::string(2000, 'm'))));
  }
  // Where FPDUPTR of a marker says its own distance from the start of the FPDU. The payload has no
  // such bytes.
  static std::size_t find_marker(const ByteVector& fpdu) {
    for (std::size_t at = 4; at + 4 <= fpdu.size(); ++at)
      if (load_be32(&fpdu[at]) == at && at % 4 == 0) return at;
    ADD_FAILURE() << "no marker";
    return 0;
  }
};

TEST_F(MarkerTest, RightMarkersAreTaken) {
  const auto peer = marked();
  ASSERT_TRUE(peer->iwarp.give(long_message(*peer)));
  const auto answer = peer->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->pdu.data.size(), 2000u);
}

TEST_F(MarkerTest, AWrongPointerIsTerminated) {
  const auto peer = marked();
  ByteVector fpdu = peer->iwarp.fpdu(long_message(*peer));
  const std::size_t at = find_marker(fpdu);
  store_be16(&fpdu[at + 2], static_cast<std::uint16_t>(at + 4));
  ASSERT_TRUE(peer->socket.write(RawIwarp::with_crc(fpdu)));
  EXPECT_EQ(peer->iwarp.fate(), "2/0/03");
}

// Who leaves markers out is out of step: what is taken for the first FPDU has no good CRC. The
// second is there to fill it up.
TEST_F(MarkerTest, MissingMarkersAreTerminated) {
  const auto peer = marked();
  SlowFramer without(true, false);
  for (int i = 0; i < 2; ++i) without.add(long_message(*peer));
  ASSERT_TRUE(peer->socket.write(without.stream));
  EXPECT_EQ(peer->iwarp.fate(), "2/0/02");
}

// --- CRC that nobody asked for ---

TEST_F(HostileTest, WithoutCrcItsFieldIsNotLookedAt) {
  auto config = daemon_config();
  config.rdma.crc = false;
  serve(std::move(config));
  RawIser peer(port());
  ASSERT_EQ(peer.rdma_first(names(kLinuxKeys), RawIwarp::request(false)), 0);
  ByteVector fpdu = peer.iwarp.fpdu(send_ulpdu(peer));
  fpdu.back() ^= std::byte{0xff};
  ASSERT_TRUE(peer.socket.write(fpdu));
  const auto answer = peer.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->pdu.bhs.opcode(), iscsi::Opcode::nop_in);
}

// Either side's wish is enough (RFC 5044 section 7.1.1).
TEST_F(HostileTest, OurWishForCrcHoldsAgainstThePeers) {
  serve();
  RawIser peer(port());
  ASSERT_EQ(peer.rdma_first(names(kLinuxKeys), RawIwarp::request(false)), 0);
  ByteVector fpdu = peer.iwarp.fpdu(send_ulpdu(peer));
  fpdu.back() ^= std::byte{0xff};
  ASSERT_TRUE(peer.socket.write(fpdu));
  EXPECT_EQ(peer.iwarp.fate(), "2/0/02");
}

}  // namespace
}  // namespace openiser::test
