// DDP headers, RDMAP opcodes and the Read Request header.
#include <gtest/gtest.h>

#include <array>

#include "rdmap/errors.h"
#include "rdmap/wire/ddp.h"
#include "rdmap/wire/rdmap_header.h"
#include "tests/support/bytes.h"

namespace openiser::rdmap {
namespace {

using test::exact;
using test::hex;
using test::to_hex;

template <class Header>
std::string encoded(const Header& header, StreamVersion version) {
  std::array<std::byte, 64> space;
  ByteWriter out(space);
  encode(header, version, out);
  EXPECT_TRUE(out.ok());
  return to_hex(out.written());
}

TEST(Ddp, TaggedHeaderReadsEveryField) {
  const auto header = parse_tagged(hex("c142 11223344 0102030405060708"), 1);
  ASSERT_TRUE(header);
  EXPECT_TRUE(header->last);
  EXPECT_EQ(header->rdmap_control, 0x42);
  EXPECT_EQ(header->stag, Stag{0x11223344});
  EXPECT_EQ(header->offset, 0x0102030405060708u);
}

TEST(Ddp, TaggedHeaderIsWrittenAsItWasRead) {
  for (const char* bytes : {"c1421122334401020304050607ff", "8140deadbeefffffffffffffffff"}) {
    EXPECT_EQ(encoded(*parse_tagged(hex(bytes), 1), 1), bytes);
  }
}

TEST(Ddp, UntaggedHeaderReadsEveryField) {
  const auto header = parse_untagged(hex("0146 a1b2c3d4 00000002 80000001 ffffffff"), 1);
  ASSERT_TRUE(header);
  EXPECT_FALSE(header->last);
  EXPECT_EQ(header->rdmap_control, 0x46);
  EXPECT_EQ(header->invalidate, Stag{0xa1b2c3d4});
  EXPECT_EQ(header->queue, 2u);
  EXPECT_EQ(header->msn, 0x80000001u);
  EXPECT_EQ(header->message_offset, 0xffffffffu);
}

TEST(Ddp, UntaggedHeaderIsWrittenAsItWasRead) {
  for (const char* bytes :
       {"0146a1b2c3d4000000028000000112345678", "414300000000000000000000000100000000"}) {
    EXPECT_EQ(encoded(*parse_untagged(hex(bytes), 1), 1), bytes);
  }
}

TEST(Ddp, VersionZeroIsWrittenAndReadWhenTheStreamSpeaksIt) {
  const TaggedHeader header{.last = true, .rdmap_control = 0, .stag = {1}, .offset = 2};
  EXPECT_EQ(encoded(header, 0), "c000000000010000000000000002");
  EXPECT_TRUE(parse_tagged(hex("c000000000010000000000000002"), 0));
  EXPECT_EQ(parse_tagged(hex("c000000000010000000000000002"), 1).error(), errc::ddp_tagged_version);
}

TEST(Ddp, EveryOtherTaggedVersionIsRefused) {
  for (const char* first : {"c0", "c2", "c3"}) {
    const auto bytes = hex(std::string(first) + "42112233440000000000001000");
    EXPECT_EQ(parse_tagged(bytes, 1).error(), errc::ddp_tagged_version) << first;
  }
}

TEST(Ddp, EveryOtherUntaggedVersionIsRefused) {
  for (const char* first : {"40", "42", "43"}) {
    const auto bytes = hex(std::string(first) + "4300000000000000000000000100000000");
    EXPECT_EQ(parse_untagged(bytes, 1).error(), errc::ddp_untagged_version) << first;
  }
}

TEST(Ddp, ReservedBitsAreNotChecked) {
  EXPECT_TRUE(parse_tagged(hex("fd42112233440000000000001000"), 1));
  EXPECT_TRUE(parse_untagged(hex("7d4300000000000000000000000100000000"), 1));
}

TEST(Ddp, ATaggedHeaderCutAnywhereIsTruncated) {
  const auto whole = hex("c142112233440000000000001000");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_EQ(parse_tagged(exact(Bytes(whole).first(n)), 1).error(), errc::truncated) << n;
  }
}

TEST(Ddp, AnUntaggedHeaderCutAnywhereIsTruncated) {
  const auto whole = hex("414300000000000000000000000100000000");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_EQ(parse_untagged(exact(Bytes(whole).first(n)), 1).error(), errc::truncated) << n;
  }
}

TEST(Ddp, TheFirstBitTellsTaggedFromUntagged) {
  EXPECT_TRUE(is_tagged(hex("c1")));
  EXPECT_FALSE(is_tagged(hex("41")));
  EXPECT_FALSE(is_tagged({}));
}

// RFC 5040 section 4.1, figure 4.
TEST(RdmapOpcodes, TheTableIsIndexedByOpcodeAndRight) {
  struct Expected {
    bool tagged;
    std::uint32_t queue;
    std::size_t header_size;
    bool invalidates, solicited;
    const char* name;
  };
  const Expected expected[] = {
      {true, 0, 0, false, false, "RDMA Write"},
      {false, 1, 28, false, false, "RDMA Read Request"},
      {true, 0, 0, false, false, "RDMA Read Response"},
      {false, 0, 0, false, false, "Send"},
      {false, 0, 0, true, false, "Send with Invalidate"},
      {false, 0, 0, false, true, "Send with Solicited Event"},
      {false, 0, 0, true, true, "Send with Solicited Event and Invalidate"},
      {false, 2, 4, false, false, "Terminate"},
  };
  ASSERT_EQ(opcode_table().size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    const OpcodeRow& row = opcode_row(static_cast<Opcode>(i));
    EXPECT_EQ(static_cast<std::size_t>(row.opcode), i);
    EXPECT_EQ(row.tagged, expected[i].tagged) << row.name;
    EXPECT_EQ(row.queue, expected[i].queue) << row.name;
    EXPECT_EQ(row.header_size, expected[i].header_size) << row.name;
    EXPECT_EQ(row.invalidates, expected[i].invalidates) << row.name;
    EXPECT_EQ(row.solicited_event, expected[i].solicited) << row.name;
    EXPECT_STREQ(row.name, expected[i].name);
  }
}

TEST(RdmapOpcodes, TheControlByteGoesBothWays) {
  for (StreamVersion version : {0, 1}) {
    for (const OpcodeRow& row : opcode_table()) {
      const auto read = parse_rdmap_control(rdmap_control(row.opcode, version), version);
      ASSERT_TRUE(read);
      EXPECT_EQ(*read, &row);
    }
  }
}

TEST(RdmapOpcodes, EveryControlByteIsEitherKnownOrRefusedForTheRightReason) {
  for (unsigned control = 0; control < 256; ++control) {
    const auto read = parse_rdmap_control(static_cast<std::uint8_t>(control), 1);
    if (control >> 6 != 1) {
      EXPECT_EQ(read.error(), errc::rdmap_version) << control;
    } else if ((control & 15) > 7) {
      EXPECT_EQ(read.error(), errc::rdmap_opcode) << control;
    } else {
      EXPECT_EQ(static_cast<unsigned>((*read)->opcode), control & 15) << control;
    }
  }
}

TEST(RdmapOpcodes, ATaggedSegmentCarriesOnlyTaggedOpcodes) {
  for (const OpcodeRow& row : opcode_table()) {
    const TaggedHeader header{.rdmap_control = rdmap_control(row.opcode, 1), .stag = {}};
    const auto checked = check_opcode(header, 1);
    EXPECT_EQ(checked.has_value(), row.tagged) << row.name;
    if (!row.tagged) {
      EXPECT_EQ(checked.error(), errc::rdmap_opcode) << row.name;
    }
  }
}

TEST(RdmapOpcodes, AnUntaggedSegmentMustComeOnTheQueueOfItsOpcode) {
  for (const OpcodeRow& row : opcode_table()) {
    for (std::uint32_t queue : {0, 1, 2}) {
      const UntaggedHeader header{
          .rdmap_control = rdmap_control(row.opcode, 1), .invalidate = {}, .queue = queue};
      const auto checked = check_opcode(header, 1);
      const bool good = !row.tagged && row.queue == queue;
      EXPECT_EQ(checked.has_value(), good) << row.name << " on " << queue;
      if (!good) {
        EXPECT_EQ(checked.error(), errc::rdmap_opcode) << row.name << " on " << queue;
      }
    }
  }
}

TEST(RdmapOpcodes, AQueueThatDoesNotExistIsDdpsError) {
  for (std::uint32_t queue : {3u, 4u, 0x80000000u, 0xffffffffu}) {
    const UntaggedHeader header{
        .rdmap_control = rdmap_control(Opcode::send, 1), .invalidate = {}, .queue = queue};
    EXPECT_EQ(check_opcode(header, 1).error(), errc::ddp_untagged_queue) << queue;
  }
}

constexpr const char* kReadRequest = "11223344000000000000100000002000556677880000000000003000";

TEST(ReadRequest, ReadsEveryField) {
  const auto header = parse_read_request(hex(kReadRequest));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->sink, Stag{0x11223344});
  EXPECT_EQ(header->sink_offset, 0x1000u);
  EXPECT_EQ(header->size, 0x2000u);
  EXPECT_EQ(header->source, Stag{0x55667788});
  EXPECT_EQ(header->source_offset, 0x3000u);
}

TEST(ReadRequest, IsWrittenAsItWasRead) {
  std::array<std::byte, kReadRequestHeaderSize> space;
  ByteWriter out(space);
  encode(*parse_read_request(hex(kReadRequest)), out);
  EXPECT_TRUE(out.ok());
  EXPECT_EQ(to_hex(out.written()), kReadRequest);
}

TEST(ReadRequest, CutAnywhereIsTruncated) {
  const auto whole = hex(kReadRequest);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_EQ(parse_read_request(exact(Bytes(whole).first(n))).error(), errc::truncated) << n;
  }
}

}  // namespace
}  // namespace openiser::rdmap
