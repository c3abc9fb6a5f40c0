// The very first message behind MPA, wrong in every way (fault 50 and 60): there is no
// session and hardly any state yet, and the answer is the same as ever.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/hostile_fixture.h"

namespace openiser::test {
namespace {

// The fields that tell what a segment is.
struct Control {
  bool tagged = false;
  std::uint8_t ddp_version = 1;
  std::uint8_t rdmap_version = 1;
  std::uint8_t opcode = 3;
  std::uint32_t queue = 0;
};

// 28 bytes of payload: nonsense as a login, and a Read Request from an STag that is not there.
ByteVector segment_of(const Control& control) {
  const ByteVector payload = hex("01020304050607080910111213141516171819202122232425262728");
  ByteVector bytes = control.tagged
                         ? ulpdu(rdmap::Opcode::rdma_write, rdmap::TaggedHeader{}, payload)
                         : ulpdu(rdmap::Opcode::send, rdmap::UntaggedHeader{}, payload);
  bytes[0] = static_cast<std::byte>((control.tagged ? 0xc0 : 0x40) | control.ddp_version);
  bytes[1] = static_cast<std::byte>(control.rdmap_version << 6 | control.opcode);
  if (!control.tagged) store_be32(&bytes[6], control.queue);
  return bytes;
}

// What RFC 5040 sections 4.1, 4.8 and 5.1 and RFC 5041 section 7 say: DDP looks first.
std::string due_to(const Control& c) {
  if (c.ddp_version != 1) return c.tagged ? "1/1/04" : "1/2/06";
  if (!c.tagged && c.queue > 2) return "1/2/01";
  if (c.rdmap_version != 1) return "0/2/05";
  if (c.tagged) return c.opcode == 0 || c.opcode == 2 ? "1/1/00" : "0/2/06";
  if (c.opcode == 1 && c.queue == 1) return "0/1/00";
  if (c.opcode == 7 && c.queue == 2) return "closed";
  if (c.queue != 0) return "0/2/06";
  if (c.opcode == 3 || c.opcode == 5) return "closed";  // a message that is no login
  if (c.opcode == 4 || c.opcode == 6) return "0/1/09";  // invalidates what is not there
  return "0/2/06";
}

class FirstFpduTest : public HostileTest {
 protected:
  void expect_due(const Control& control) {
    RawIser peer(port());
    ASSERT_TRUE(peer.iwarp.start());
    ASSERT_TRUE(peer.iwarp.give(segment_of(control)));
    EXPECT_EQ(peer.iwarp.fate(), due_to(control))
        << (control.tagged ? "tagged" : "untagged") << " DV " << int{control.ddp_version} << " RV "
        << int{control.rdmap_version} << " opcode " << int{control.opcode} << " QN "
        << control.queue;
  }
};

TEST_F(FirstFpduTest, EveryOpcodeOnEveryQueue) {
  serve();
  for (std::uint8_t opcode = 0; opcode < 16; ++opcode) {
    expect_due({.tagged = true, .opcode = opcode});
    for (const std::uint32_t queue : {0u, 1u, 2u, 3u, 4u, 0x80000000u, 0xffffffffu}) {
      expect_due({.opcode = opcode, .queue = queue});
    }
  }
}

TEST_F(FirstFpduTest, EveryVersion) {
  serve();
  for (const bool tagged : {false, true}) {
    for (std::uint8_t ddp = 0; ddp < 4; ++ddp) {
      for (std::uint8_t rdmap = 0; rdmap < 4; ++rdmap) {
        expect_due({.tagged = tagged,
                    .ddp_version = ddp,
                    .rdmap_version = rdmap,
                    .opcode = static_cast<std::uint8_t>(tagged ? 0 : 3)});
      }
    }
  }
}

TEST_F(FirstFpduTest, EveryUlpduTooShortForItsHeader) {
  serve();
  for (const bool tagged : {false, true}) {
    const ByteVector whole = segment_of({.tagged = tagged});
    for (std::size_t size = 0; size < rdmap::ddp_header_size(tagged); ++size) {
      RawIser peer(port());
      ASSERT_TRUE(peer.iwarp.start());
      ByteVector fpdu = peer.iwarp.fpdu(Bytes(whole).first(size));
      ASSERT_TRUE(peer.socket.write(fpdu));
      EXPECT_EQ(peer.iwarp.fate(), "0/2/07") << size;
    }
  }
}

// RFC 5044 section 7.1.2: who has validated no FPDU sends none, not even a Terminate.
TEST_F(FirstFpduTest, AWrongCrcIsClosedWithoutAWord) {
  serve();
  for (const std::size_t size : {46u, 100u, 5000u, 60000u}) {
    RawIser peer(port());
    ASSERT_TRUE(peer.iwarp.start());
    ByteVector fpdu = peer.iwarp.fpdu(
        ulpdu(rdmap::Opcode::send, rdmap::UntaggedHeader{}, ByteVector(size, std::byte{7})));
    fpdu.back() ^= std::byte{0x80};
    ASSERT_TRUE(peer.socket.write(fpdu));
    EXPECT_EQ(peer.iwarp.fate(), "closed") << size;
  }
}

// ULPDU_Length beyond what MPA allows (RFC 5044 section 4.1) is only a length: it is not believed
// to be memory, and its CRC is wrong.
TEST_F(FirstFpduTest, TheLargestLengthIsNoTrouble) {
  serve();
  RawIser peer(port());
  ASSERT_TRUE(peer.iwarp.start());
  peer.socket.write(std::string(65535 + 16, '\xff'));
  EXPECT_EQ(peer.iwarp.fate(), "closed");
}

// fault 50: Sends too short for a login, and the shortest that is one.
TEST_F(FirstFpduTest, LoginSendsOfAnyShortSize) {
  serve();
  const std::size_t whole = 28 + iscsi::kBhsSize;
  for (std::size_t size = 0; size < whole; ++size) {
    RawIser peer(port());
    const ByteVector message = peer.message(peer.socket.requests.at(1, 3, ""));
    ASSERT_EQ(message.size(), whole);
    ASSERT_TRUE(peer.iwarp.start());
    ASSERT_TRUE(peer.iwarp.send(Bytes(message).first(size)));
    EXPECT_EQ(peer.iwarp.fate(), "closed") << size;
  }
  RawIser peer(port());
  ASSERT_TRUE(peer.iwarp.start());
  EXPECT_EQ(peer.ask(1, 3, ""), 0x0207) << "InitiatorName is missing";
  EXPECT_EQ(peer.iwarp.fate(), "closed");
}

// The header says more or less than there is.
TEST_F(FirstFpduTest, LoginSendsWhoseLengthsDoNotAgree) {
  serve();
  for (const std::uint32_t claimed : {0u, 1u, 60u, 8192u, 8193u, 0xffffffu}) {
    RawIser peer(port());
    ControlPdu pdu = peer.socket.requests.at(1, 3, names());
    ASSERT_NE(pdu.data.size(), claimed);
    pdu.bhs.set_data_segment_length(claimed);
    ASSERT_TRUE(peer.iwarp.start());
    ASSERT_TRUE(peer.send(pdu));
    EXPECT_EQ(peer.iwarp.fate(), "closed") << claimed;
  }
}

// One login receive is all the target has posted: two at once overrun it (fault 65).
TEST_F(FirstFpduTest, TwoLoginSendsAtOnceAreOneTooMany) {
  serve();
  RawIser peer(port());
  const ByteVector message = peer.message(peer.socket.requests.at(1, 3, names(kLinuxKeys)));
  ASSERT_TRUE(peer.iwarp.start());
  ByteVector both;
  for (std::uint32_t msn = 1; msn <= 2; ++msn) {
    const rdmap::UntaggedHeader header{.invalidate = {}, .queue = 0, .msn = msn};
    both = both + peer.iwarp.fpdu(ulpdu(rdmap::Opcode::send, header, message));
  }
  ASSERT_TRUE(peer.socket.write(both));
  EXPECT_EQ(peer.iwarp.fate(), "1/2/02");
}

TEST_F(FirstFpduTest, UnknownKindsOfMessages) {
  serve();
  for (int first = 0; first < 256; first += 16) {
    if (first == 0x10) continue;  // a control-type PDU
    RawIser peer(port());
    ByteVector message = peer.message(peer.socket.requests.at(1, 3, names(kLinuxKeys)));
    message[0] = static_cast<std::byte>(first);
    ASSERT_TRUE(peer.iwarp.start());
    ASSERT_TRUE(peer.iwarp.send(message));
    EXPECT_EQ(peer.iwarp.fate(), "closed") << first;
  }
}

}  // namespace
}  // namespace openiser::test
