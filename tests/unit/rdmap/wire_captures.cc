// What Linux's soft iWARP sent, taken apart and put together again to the same bytes. See
// tests/data/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "rdmap/core/mpa_start_up.h"
#include "rdmap/errors.h"
#include "rdmap/wire/ddp.h"
#include "rdmap/wire/fpdu.h"
#include "rdmap/wire/mpa_frame.h"
#include "rdmap/wire/rdmap_header.h"
#include "tests/support/bytes.h"
#include "tests/support/pcap.h"

namespace openiser::rdmap {
namespace {

using test::ByteVector;
using test::drain;
using test::exact;
using test::TcpStream;
using test::to_hex;

struct Seen {
  unsigned opcode;
  std::size_t ulpdu_size;
  friend bool operator==(const Seen&, const Seen&) = default;
};

// Of one direction: '>' or '<'.
std::vector<Seen> expected_ops(const std::string& capture, char direction) {
  std::ifstream file(OPENISER_TEST_DATA "/" + capture + ".ops");
  std::vector<Seen> seen;
  char from = 0;
  for (Seen one{}; file >> from >> one.opcode >> one.ulpdu_size;) {
    if (from == direction) seen.push_back(one);
  }
  EXPECT_FALSE(seen.empty()) << capture;
  return seen;
}

struct Capture {
  const char* name;
  bool crc;
  bool peer_to_peer;
};

class Captures : public testing::TestWithParam<Capture> {
 protected:
  struct Direction {
    const TcpStream& stream;
    MpaFrameKind kind;
    char arrow;
  };
  std::vector<Direction> directions() {
    return {{conversation_.from_client, MpaFrameKind::request, '>'},
            {conversation_.from_server, MpaFrameKind::reply, '<'}};
  }
  static ParsedMpaFrame mpa_frame(const Direction& direction) {
    const auto parsed = parse_mpa_frame(direction.stream.bytes, direction.kind);
    EXPECT_TRUE(parsed && *parsed);
    return parsed && *parsed ? **parsed : ParsedMpaFrame{};
  }
  // Calls use(ulpdu, wire) for every whole FPDU of the direction.
  template <class Use>
  static void for_each_fpdu(const Direction& direction, bool crc, Use use) {
    Bytes rest = Bytes(direction.stream.bytes).subspan(mpa_frame(direction).size);
    FpduDecoder decoder(crc, false);
    ByteVector scratch;
    while (rest.size() >= decoder.prefix_size()) {
      const std::size_t size = decoder.wire_size(rest);
      if (size > rest.size()) break;
      const ByteVector wire = exact(rest.first(size));
      const auto ulpdu = decoder.decode(wire, scratch);
      ASSERT_TRUE(ulpdu) << ulpdu.error().message();
      ASSERT_NO_FATAL_FAILURE(use(*ulpdu, Bytes(wire)));
      rest = rest.subspan(size);
    }
    // Nothing is left over, except where the capture has a hole.
    EXPECT_TRUE(rest.empty() || !direction.stream.complete);
  }

  Capture capture_ = GetParam();
  test::TcpConversation conversation_ =
      test::read_pcap(OPENISER_TEST_DATA "/" + std::string(GetParam().name) + ".pcap");
};

// DDP and RDMAP headers of `ulpdu` parsed and encoded anew; the rest is payload.
struct Reencoded {
  unsigned opcode = 0;
  ByteVector header;
};
Reencoded reencode_header(Bytes ulpdu) {
  ByteVector space(64);
  ByteWriter out(space);
  const OpcodeRow* row = nullptr;
  if (is_tagged(ulpdu)) {
    TaggedHeader header = *parse_tagged(ulpdu, 1);
    row = *check_opcode(header, 1);
    header.rdmap_control = rdmap_control(row->opcode, 1);
    encode(header, 1, out);
  } else {
    UntaggedHeader header = *parse_untagged(ulpdu, 1);
    row = *check_opcode(header, 1);
    header.rdmap_control = rdmap_control(row->opcode, 1);
    encode(header, 1, out);
  }
  if (row->opcode == Opcode::read_request) {
    encode(*parse_read_request(ulpdu.subspan(kUntaggedHeaderSize)), out);
  }
  space.resize(out.size());
  return {static_cast<unsigned>(row->opcode), space};
}

TEST_P(Captures, MpaFramesAreEncodedToTheSameBytes) {
  for (const Direction& direction : directions()) {
    const ParsedMpaFrame parsed = mpa_frame(direction);
    EXPECT_EQ(to_hex(encode(parsed.frame)),
              to_hex(Bytes(direction.stream.bytes).first(parsed.size)));
  }
}

TEST_P(Captures, OurStartUpWouldHaveSentTheSameRequestAndSettlesOnTheReply) {
  const MpaFrame request = mpa_frame(directions()[0]).frame;
  MpaSettings settings;
  settings.crc = capture_.crc;
  settings.peer_to_peer = capture_.peer_to_peer;
  settings.rtr = {.send = false, .write = true, .read = true};
  settings.inbound_reads = 128;
  settings.outbound_reads = 1;
  settings.private_data = exact(request.private_data);
  MpaStartUp start_up(MpaRole::initiator, settings, Time());
  const ByteVector sent = start_up.take_output();
  EXPECT_EQ(to_hex(sent), to_hex(Bytes(conversation_.from_client.bytes).first(sent.size())));

  start_up.received(conversation_.from_server.bytes);
  ASSERT_EQ(start_up.state(), MpaStartUp::State::established);
  EXPECT_EQ(start_up.settled().crc, capture_.crc);
  EXPECT_EQ(start_up.settled().rtr_to_send, capture_.peer_to_peer ? Rtr::write : Rtr::none);
  EXPECT_EQ(start_up.settled().outbound_reads, 1);
  EXPECT_EQ(start_up.settled().inbound_reads, 128);
}

TEST_P(Captures, OurStartUpWouldHaveSentTheSameReply) {
  MpaSettings settings;
  settings.crc = false;
  settings.rtr = {.send = false, .write = true, .read = false};
  settings.private_data = exact(mpa_frame(directions()[1]).frame.private_data);
  MpaStartUp start_up(MpaRole::responder, settings, Time());
  const std::size_t taken = start_up.received(conversation_.from_client.bytes);
  EXPECT_EQ(taken, mpa_frame(directions()[0]).size);
  ASSERT_EQ(start_up.state(), MpaStartUp::State::established);
  const ByteVector sent = start_up.take_output();
  EXPECT_EQ(to_hex(sent), to_hex(Bytes(conversation_.from_server.bytes).first(sent.size())));
  EXPECT_EQ(start_up.settled().crc, capture_.crc);
  EXPECT_EQ(start_up.settled().inbound_reads, 1);
  EXPECT_EQ(start_up.settled().outbound_reads, 128);
}

TEST_P(Captures, EveryFpduIsTheOneThatTsharkNames) {
  for (const Direction& direction : directions()) {
    std::vector<Seen> seen;
    for_each_fpdu(direction, capture_.crc, [&](Bytes ulpdu, Bytes) {
      seen.push_back({reencode_header(ulpdu).opcode, ulpdu.size()});
    });
    EXPECT_EQ(seen, expected_ops(capture_.name, direction.arrow)) << direction.arrow;
  }
}

TEST_P(Captures, EveryFpduIsEncodedToTheSameBytes) {
  for (const Direction& direction : directions()) {
    FpduEncoder encoder(capture_.crc, false);
    for_each_fpdu(direction, capture_.crc, [&](Bytes ulpdu, Bytes wire) {
      const ByteVector header = reencode_header(ulpdu).header;
      OutputQueue out;
      encoder.append(out, header, ulpdu.subspan(header.size()));
      ASSERT_EQ(drain(out), exact(wire));
    });
  }
}

// Linux fills the field with zeros when CRC is off: a check would fail.
TEST_P(Captures, TheCrcIsThereExactlyWhenItWasAgreedOn) {
  for (const Direction& direction : directions()) {
    for_each_fpdu(direction, false, [&](Bytes ulpdu, Bytes wire) {
      const std::size_t trailer = fpdu_trailer_size(ulpdu.size());
      FpduCheck check(true);
      check.update(wire.first(wire.size() - trailer));
      EXPECT_EQ(check.finish(wire.last(trailer)).has_value(), capture_.crc);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(LinuxSiw, Captures,
                         testing::Values(Capture{"lio-iser-siw-stock", false, false},
                                         Capture{"lio-iser-siw-stock-chap", false, false},
                                         Capture{"lio-iser-siw-crc", true, false},
                                         Capture{"lio-iser-siw-p2p", false, true}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace openiser::rdmap
