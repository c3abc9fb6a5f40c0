// A SCSI WRITE is under way and the target reads its data (RFC 7145 section 7.3.6); the peer
// answers the RDMA Read wrongly. The connection ends with the right Terminate, and nothing of the
// data reaches the disk.
#include <gtest/gtest.h>

#include "tests/support/hostile_fixture.h"
#include "tests/support/raw_ways.h"

namespace openiser::test {
namespace {

using rdmap::Opcode;
using rdmap::ReadRequestHeader;
using rdmap::Stag;
using rdmap::TaggedHeader;

constexpr std::uint16_t kBlocks = 64;  // 32 KiB: enough to be placed as it arrives
constexpr std::size_t kSize = kBlocks * kBlock;
constexpr rdmap::RemoteMemory kAdvertised{Stag{0x77000001}, 0};

// `command` advertises kAdvertised for writing, without immediate data.
bool start_write(RawIser& peer, std::uint16_t blocks = kBlocks, std::uint32_t tag = 0x20) {
  return peer.send(block_command(kWrite10, tag, peer.next_cmd_sn(), 0, blocks),
                   {.write = kAdvertised});
}

ByteVector response(const ReadRequestHeader& request, std::size_t size, std::uint64_t skip = 0,
                    bool last = true, Opcode opcode = Opcode::read_response) {
  return ulpdu(opcode,
               TaggedHeader{.last = last,
                            .rdmap_control = 0,
                            .stag = request.sink,
                            .offset = request.sink_offset + skip},
               ByteVector(size, std::byte{0xbd}));
}

struct WrongAnswer {
  const char* name;
  ByteVector (*ulpdu)(const ReadRequestHeader& request);
  const char* terminate;
};
void PrintTo(const WrongAnswer& answer, std::ostream* out) {
  *out << answer.name;
}

const WrongAnswer kWrongAnswers[] = {
    {"OtherStag",
     [](auto& r) {
       auto other = r;
       other.sink.value ^= 1;
       return response(other, r.size);
     },
     "1/1/00"},
    {"OfAWrittenBuffer",
     [](auto& r) {
       auto other = r;
       other.sink = kAdvertised.stag;
       return response(other, r.size);
     },
     "1/1/00"},
    // A read sink is for the response to that read alone: there is no right to write to it, and no
    // STag that such a right could belong to.
    {"AWriteInstead", [](auto& r) { return response(r, r.size, 0, true, Opcode::rdma_write); },
     "1/1/00"},
    {"BytesSkipped", [](auto& r) { return response(r, r.size - 4, 4); }, "1/1/01"},
    {"BytesBefore", [](auto& r) { return response(r, r.size, -std::uint64_t{4096}); }, "1/1/01"},
    {"TooLong", [](auto& r) { return response(r, r.size + 1); }, "1/1/01"},
    {"TooLongSmall", [](auto& r) { return response(r, 4, r.size); }, "1/1/01"},
    {"Wraps", [](auto& r) { return response(r, 64, UINT64_MAX - r.sink_offset - 31); }, "1/1/03"},
    // The RFCs have no code for a response that ends before it is complete.
    {"EndsEarly", [](auto& r) { return response(r, r.size - 512); }, "0/2/07"},
    {"EndsAtOnce", [](auto& r) { return response(r, 0); }, "0/2/07"},
};

class DiskFixture : public HostileFixture {
 protected:
  // What is on the disk where the write would have gone: nothing must be.
  void expect_nothing_written() {
    const auto reader = bring_up(port(), Way::rdma_first);
    const std::uint32_t cmd_sn = reader->next_cmd_sn();
    EXPECT_TRUE(reader->send(block_command(kRead10, 0x30, cmd_sn, 0, kBlocks),
                             {.read = rdmap::RemoteMemory{Stag{0x88}, 0}}));
    const auto answer = reader->receive();
    ASSERT_TRUE(answer);
    std::size_t read = 0;
    for (const RawSegment& segment : reader->written) {
      read += segment.payload.size();
      EXPECT_EQ(segment.payload, ByteVector(segment.payload.size()));
    }
    EXPECT_EQ(read, kSize);
  }
};

class WrongAnswerTest : public ::testing::TestWithParam<WrongAnswer>, protected DiskFixture {
 protected:
  void TearDown() override {
    expect_nothing_written();
    expect_no_harm();
  }
};

TEST_P(WrongAnswerTest, IsTerminated) {
  serve();
  for (const Way way : kAllWays) {
    SCOPED_TRACE(name_of(way));
    const auto peer = bring_up(port(), way);
    ASSERT_TRUE(start_write(*peer));
    const auto request = peer->read_request();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->source, kAdvertised.stag);
    const ByteVector bad = GetParam().ulpdu(*request);
    ASSERT_TRUE(peer->iwarp.give(bad));
    EXPECT_EQ(peer->iwarp.fate(), GetParam().terminate);
    ASSERT_TRUE(peer->iwarp.last_terminate);
    const rdmap::Terminate& terminate = peer->iwarp.last_terminate->what;
    EXPECT_EQ(terminate.segment_length, bad.size());
    EXPECT_EQ(to_hex(terminate.ddp_header), to_hex(Bytes(bad).first(rdmap::kTaggedHeaderSize)));
  }
}

INSTANTIATE_TEST_SUITE_P(Answers, WrongAnswerTest, ::testing::ValuesIn(kWrongAnswers),
                         [](const auto& info) { return std::string(info.param.name); });

class ReadResponseTest : public ::testing::TestWithParam<Way>, protected DiskFixture {
 protected:
  void TearDown() override { expect_no_harm(); }
};

TEST_P(ReadResponseTest, ARightAnswerIsWritten) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  ASSERT_TRUE(start_write(*peer));
  std::size_t asked = 0;
  while (asked < kSize) {
    const auto request = peer->read_request();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->source_offset, kAdvertised.offset + asked);
    ASSERT_TRUE(peer->iwarp.answer(*request, ByteVector(request->size, std::byte{0xaa})));
    asked += request->size;
  }
  const auto answer = peer->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(iscsi::decode<iscsi::ScsiResponse>(answer->pdu.bhs)->status, 0);
}

TEST_P(ReadResponseTest, AWrongCrcIsTerminatedAndNothingWritten) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  ASSERT_TRUE(start_write(*peer));
  const auto request = peer->read_request();
  ASSERT_TRUE(request);
  ByteVector fpdu = peer->iwarp.fpdu(response(*request, request->size));
  fpdu[fpdu.size() / 2] ^= std::byte{1};
  ASSERT_TRUE(peer->socket.write(fpdu));
  EXPECT_EQ(peer->iwarp.fate(), "2/0/02");
  expect_nothing_written();
}

TEST_P(ReadResponseTest, ASecondAnswerIsTerminated) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  ASSERT_TRUE(start_write(*peer));
  const auto request = peer->read_request();
  ASSERT_TRUE(request);
  ASSERT_EQ(request->size, kSize) << "one read for all of it";
  for (int i = 0; i < 2; ++i) peer->iwarp.give(response(*request, request->size));
  EXPECT_EQ(peer->iwarp.fate(), "1/1/00");
}

// Reads are answered in the order of the requests (RFC 5040 section 5.5).
TEST_P(ReadResponseTest, AnswersInTheWrongOrderAreTerminated) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  ASSERT_TRUE(start_write(*peer, 8, 0x20));
  ASSERT_TRUE(start_write(*peer, 8, 0x21));
  const auto first = peer->read_request();
  const auto second = peer->read_request();
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(peer->iwarp.give(response(*second, second->size)));
  EXPECT_EQ(peer->iwarp.fate(), "1/1/01");
  expect_nothing_written();
}

// A connection that goes away in the middle, by an end or a reset, at any byte of the response.
TEST_P(ReadResponseTest, ADropInTheMiddleWritesNothing) {
  serve();
  for (const std::size_t cut : {0u, 1u, 15u, 16u, 17u, 100u, 16384u, 32000u}) {
    const auto peer = bring_up(port(), GetParam());
    ASSERT_TRUE(start_write(*peer));
    const auto request = peer->read_request();
    ASSERT_TRUE(request);
    const ByteVector fpdu = peer->iwarp.fpdu(response(*request, request->size));
    ASSERT_TRUE(peer->socket.write(Bytes(fpdu).first(cut)));
    if (cut % 2 == 0) {
      peer->socket.reset();
    } else {
      peer->socket.close();
    }
  }
  expect_nothing_written();
}

// What was only half answered is given up when the initiator comes anew (RFC 7143 section 6.3.5).
TEST_P(ReadResponseTest, AHalfAnswerDoesNotHoldUpReinstatement) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  ASSERT_TRUE(start_write(*peer));
  const auto request = peer->read_request();
  ASSERT_TRUE(request);
  const ByteVector fpdu = peer->iwarp.fpdu(response(*request, request->size));
  ASSERT_TRUE(peer->socket.write(Bytes(fpdu).first(fpdu.size() / 2)));
  expect_nothing_written();  // logs in under the same name and ISID
  EXPECT_TRUE(peer->socket.sees_end());
}

TEST_P(ReadResponseTest, OurTerminateEndsTheWrite) {
  serve();
  const auto peer = bring_up(port(), GetParam());
  ASSERT_TRUE(start_write(*peer));
  ASSERT_TRUE(peer->read_request());
  const rdmap::UntaggedHeader header{
      .invalidate = {}, .queue = rdmap::kTerminateQueue, .msn = 1, .message_offset = 0};
  ASSERT_TRUE(peer->iwarp.give(ulpdu(Opcode::terminate, header, hex("01000000"))));
  EXPECT_EQ(peer->iwarp.fate(), "closed");
  expect_nothing_written();
}

INSTANTIATE_TEST_SUITE_P(Ways, ReadResponseTest, ::testing::ValuesIn(kAllWays),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace openiser::test
