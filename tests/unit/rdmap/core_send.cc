// What is sent, and when.
#include "rdmap/wire/fpdu.h"
#include "tests/unit/rdmap/core_support.h"

namespace openiser::rdmap::core_test {
namespace {

const std::string kZeroWrite = "c140000000000000000000000000";

class CoreSend : public CoreTest {};

// RFC 5044 section 7.1.2.
TEST_F(CoreSend, AResponderSendsNothingBeforeItHasValidatedAnFpdu) {
  open_responder();
  send(noise(3));
  EXPECT_EQ(peer_->take_text(), "");
  EXPECT_EQ(client().count(Kind::send), 0u);
  peer_->give_fpdu(kZeroWrite);
  EXPECT_EQ(peer_->take_text(), send_header(1) + to_hex(noise(3)) + "\n");
  EXPECT_EQ(client().count(Kind::send), 1u);
}

TEST_F(CoreSend, AnInitiatorMaySendAtOnce) {
  open_initiator();
  send(noise(3));
  EXPECT_EQ(peer_->take_text(), send_header(1) + to_hex(noise(3)) + "\n");
}

TEST_F(CoreSend, EachOpcodeHasItsForm) {
  open_initiator();
  for (const bool solicited : {false, true}) {
    pair_->post_send({.id = 1,
                      .head = Buffer::copy_of(noise(1)),
                      .body = {},
                      .invalidate = std::nullopt,
                      .solicited_event = solicited});
    pair_->post_send({.id = 1,
                      .head = {},
                      .body = {},
                      .invalidate = Stag{0xaabbccdd},
                      .solicited_event = solicited});
  }
  pair_->post_write({.id = 1, .data = Buffer::copy_of(noise(1)), .sink = {Stag{0x01020304}, 9}});
  pair_->flush();
  const std::string byte = to_hex(noise(1));
  EXPECT_EQ(peer_->take_text(), "414300000000000000000000000100000000" + byte + "\n" +
                                    "4144aabbccdd000000000000000200000000\n" +
                                    "414500000000000000000000000300000000" + byte + "\n" +
                                    "4146aabbccdd000000000000000400000000\n" +
                                    "c140010203040000000000000009" + byte + "\n");
}

// RFC 5041 section 5.1: the worked examples, 2048 octets and a MULPDU of 1500.
TEST_F(CoreSend, MessagesAreCutIntoSegmentsOfMulpdu) {
  MpaSettings settings = revision_1();
  settings.emss = 1508;  // 6 octets of FPDU and the alignment come off
  open_initiator(settings);
  const std::uint32_t ulpdu = mulpdu(1508, false);
  send(noise(4000));
  pair_->post_write({.id = 1, .data = Buffer::copy_of(noise(4000)), .sink = {Stag{1}, 16384}});
  pair_->flush();
  const auto sent = peer_->take_ulpdus();
  ASSERT_EQ(sent.size(), 6u);
  EXPECT_EQ(sent[0].size(), ulpdu);
  EXPECT_EQ(to_hex(Bytes(sent[0]).first(18)), send_header(1, 0, false));
  EXPECT_EQ(to_hex(Bytes(sent[1]).first(18)), send_header(1, ulpdu - 18, false));
  EXPECT_EQ(to_hex(Bytes(sent[2]).first(18)), send_header(1, 2 * (ulpdu - 18)));
  EXPECT_EQ(sent[3].size(), ulpdu);
  EXPECT_EQ(to_hex(Bytes(sent[4]).first(14)), write_header(Stag{1}, 16384 + ulpdu - 14, false));
  EXPECT_EQ(to_hex(Bytes(sent[5]).first(14)), write_header(Stag{1}, 16384 + 2 * (ulpdu - 14)));
}

TEST_F(CoreSend, LargeSegmentsAreEqual) {
  MpaSettings settings = revision_1();
  settings.emss = 65483;
  open_initiator(settings);
  pair_->post_write({.id = 1, .data = Buffer::copy_of(noise(131074)), .sink = {Stag{1}, 0}});
  pair_->post_write({.id = 2, .data = Buffer::copy_of(noise(64000)), .sink = {Stag{1}, 0}});
  pair_->flush();
  const auto sent = peer_->take_ulpdus();
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_EQ(sent[0].size(), 14u + 43692);
  EXPECT_EQ(sent[1].size(), 14u + 43692);
  EXPECT_EQ(sent[2].size(), 14u + 43690);
  EXPECT_EQ(sent[3].size(), 14u + 64000);
}

TEST_F(CoreSend, CompletesWhenTheTransportHasItsLastByte) {
  open_initiator();
  send(noise(5000));
  std::array<Bytes, 64> pieces;
  std::size_t total = 0;
  for (std::size_t i = 0, n = pair_->gather(pieces); i < n; ++i) total += pieces[i].size();
  pair_->sent(total - 1, clock_.now());
  EXPECT_EQ(client().count(Kind::send), 0u);
  pair_->sent(1, clock_.now());
  EXPECT_EQ(client().count(Kind::send), 1u);
}

TEST_F(CoreSend, AHugeReadIsFramedInBoundedPieces) {
  open_responder();
  std::vector<std::byte> memory(64 << 20);
  auto region = pair_->register_memory(memory, Access::remote_read);
  peer_->give_fpdu(read_request(1, 64 << 20, region->stag(), region->base_offset()));
  std::vector<Bytes> pieces(1 << 20);
  std::size_t ready = 0;
  for (std::size_t i = 0, n = pair_->gather(pieces); i < n; ++i) ready += pieces[i].size();
  EXPECT_GE(ready, 512u << 10);
  EXPECT_LE(ready, 2u << 20);
  region->invalidate();
}

TEST_F(CoreSend, ResponsesAndSendsTakeTurns) {
  open_responder();
  std::vector<std::byte> memory(8);
  auto region = pair_->register_memory(memory, Access::remote_read);
  for (int n = 0; n < 3; ++n) send(noise(1));
  ByteVector stream;
  for (std::uint32_t msn = 1; msn <= 3; ++msn) {
    stream = stream + peer_->fpdu(hex(read_request(msn, 8, region->stag(), region->base_offset())));
  }
  peer_->give(stream);
  std::string order;
  for (const ByteVector& ulpdu : peer_->take_ulpdus()) {
    order += to_hex(Bytes(ulpdu).subspan(1, 1)) + " ";
  }
  EXPECT_EQ(order, "42 43 42 43 42 43 ");
}

TEST_F(CoreSend, ResponsesCopySinkAndOffset) {
  open_responder();
  std::vector<std::byte> memory = noise(3000);
  auto region = pair_->register_memory(memory, Access::remote_read);
  peer_->give_fpdu(read_request(1, 2000, region->stag(), region->base_offset() + 500));
  const auto sent = peer_->take_ulpdus();
  ASSERT_EQ(sent.size(), 2u);
  const std::uint32_t room = mulpdu(1460, false) - 14;
  EXPECT_EQ(to_hex(Bytes(sent[0]).first(14)), "8142112233440000000000001000");
  EXPECT_EQ(to_hex(Bytes(sent[1]).first(14)), "c14211223344" + be64_hex(0x1000 + room));
  EXPECT_TRUE(std::ranges::equal(Bytes(sent[0]).subspan(14), Bytes(memory).subspan(500, room)));
}

TEST_F(CoreSend, ARegionThatEndsBetweenRequestAndResponseIsToldOfWithTheRequest) {
  MpaSettings settings = revision_1();
  open_responder(settings);
  std::vector<std::byte> memory(4 << 20);
  auto region = pair_->register_memory(memory, Access::remote_read);
  const Stag region_stag = region->stag();
  const std::uint64_t region_offset = region->base_offset();
  const std::string request = read_request(1, 4 << 20, region_stag, region_offset);
  peer_->give_fpdu(request);
  region->invalidate();
  const auto sent = peer_->take_ulpdus();
  ASSERT_GT(sent.size(), 100u);  // what was framed by then
  std::uint32_t served = 0;
  for (std::size_t n = 0; n + 1 < sent.size(); ++n) {
    served += static_cast<std::uint32_t>(sent[n].size() - 14);
  }
  // The Read Request as it stands now: sink, what is left, source.
  const std::string now = be64_hex(0x1000 + served) + be32_hex((4 << 20) - served) +
                          be32_hex(region_stag.value) + be64_hex(region_offset + served);
  EXPECT_EQ(to_hex(sent.back()),
            "414700000000000000020000000100000000"
            "0100e000002e" +
                request.substr(0, 44) + now);
  EXPECT_EQ(pair_->close_wish(), CloseWish::after_sending);
}

TEST_F(CoreSend, AtMostOrdReadsAreOutstandingAndOrderIsKept) {
  MpaSettings settings = revision_1();
  settings.outbound_reads = 2;
  open_initiator(settings);
  for (int n = 0; n < 3; ++n) {
    pair_->post_read({.id = 1, .sink = Buffer::allocate(0), .source = {}});
  }
  send({});
  const auto opcodes = [this] {
    std::string text;
    for (const ByteVector& ulpdu : peer_->take_ulpdus()) {
      text += to_hex(Bytes(ulpdu).subspan(1, 1)) + " ";
    }
    return text;
  };
  EXPECT_EQ(opcodes(), "41 41 ");
  peer_->give_fpdu("c142000000000000000000000000");
  EXPECT_EQ(opcodes(), "41 43 ");
}

TEST_F(CoreSend, RevisionZeroSpeaksVersionZeroWithMarkers) {
  MpaSettings settings;
  settings.revision = 0;
  start(MpaRole::initiator, settings);
  EXPECT_EQ(peer_->take_mpa_frame(), kRequestKey + "c0000000");
  peer_->give(hex(kReplyKey + "c0000000"));
  send(noise(2));
  peer_->take();
  // Marker, length 20, DV 0 and RV 0.
  EXPECT_EQ(to_hex(Bytes(peer_->stream).first(8)), "0000000000144003");
}

}  // namespace
}  // namespace openiser::rdmap::core_test
