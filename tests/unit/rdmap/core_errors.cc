// What a peer can do wrong, each as the very first FPDU and in a stream that went well so far: the
// Terminate it gets (RFC 5040 sections 4.8 and 7, RFC 5041 section 7, RFC 5044 section 8).
#include "tests/unit/rdmap/core_support.h"

namespace openiser::rdmap::core_test {
namespace {

struct Wrong {
  const char* name;
  // The ULPDU.
  std::string ulpdu;
  errc error;
  // Layer, type and code; M, D and R.
  std::string control;
  // Header sizes that the Terminate quotes.
  std::size_t ddp_header;
  std::size_t read_header = 0;
};

const std::string kSend =
    "4143"
    "00000000"
    "00000000"
    "00000001"
    "00000000";
const std::string kRead =
    "4141"
    "00000000"
    "00000001"
    "00000001"
    "00000000";
const std::string kReadBody =
    "11223344"
    "0000000000001000"
    "00000010"
    "deadbeef"
    "0000000000000000";

const Wrong kWrongs[] = {
    {"WriteToUnknownStag",
     "c140deadbeef0000000000000010"
     "01",
     errc::ddp_tagged_invalid_stag, "1100c000", 14},
    {"TaggedVersion0",
     "c040deadbeef0000000000000010"
     "01",
     errc::ddp_tagged_version, "1104c000", 14},
    {"TaggedVersion2",
     "c240deadbeef0000000000000010"
     "01",
     errc::ddp_tagged_version, "1104c000", 14},
    {"UntaggedVersion3",
     "4343"
     "00000000"
     "00000000"
     "00000001"
     "00000000",
     errc::ddp_untagged_version, "1206c000", 18},
    {"RdmapVersion0",
     "4103"
     "00000000"
     "00000000"
     "00000001"
     "00000000",
     errc::rdmap_version, "0205c000", 18},
    {"RdmapVersion3InTagged",
     "c1c0deadbeef0000000000000010"
     "01",
     errc::rdmap_version, "0205c000", 14},
    {"Opcode8",
     "4148"
     "00000000"
     "00000000"
     "00000001"
     "00000000",
     errc::rdmap_opcode, "0206c000", 18},
    {"Opcode15InTagged",
     "c14fdeadbeef0000000000000010"
     "01",
     errc::rdmap_opcode, "0206c000", 14},
    {"TaggedSend",
     "c143deadbeef0000000000000010"
     "01",
     errc::rdmap_opcode, "0206c000", 14},
    {"UntaggedWrite",
     "4140"
     "00000000"
     "00000000"
     "00000001"
     "00000000",
     errc::rdmap_opcode, "0206c000", 18},
    {"SendOnReadQueue",
     "4143"
     "00000000"
     "00000001"
     "00000001"
     "00000000",
     errc::rdmap_opcode, "0206c000", 18},
    {"Queue4",
     "4143"
     "00000000"
     "00000004"
     "00000001"
     "00000000",
     errc::ddp_untagged_queue, "1201c000", 18},
    {"QueueFarOut",
     "4143"
     "00000000"
     "ffffffff"
     "00000001"
     "00000000",
     errc::ddp_untagged_queue, "1201c000", 18},
    {"SendWithoutBuffer", kSend + "0102", errc::ddp_untagged_no_buffer, "1202c000", 18},
    {"SendMsn0",
     "4143"
     "00000000"
     "00000000"
     "00000000"
     "00000000",
     errc::ddp_untagged_msn_range, "1203c000", 18},
    {"SendMsn3",
     "4143"
     "00000000"
     "00000000"
     "00000003"
     "00000000",
     errc::ddp_untagged_msn_range, "1203c000", 18},
    {"ReadMsn2",
     "4141"
     "00000000"
     "00000001"
     "00000002"
     "00000000" +
         kReadBody,
     errc::ddp_untagged_msn_range, "1203c000", 18},
    {"ReadOffset4",
     "4141"
     "00000000"
     "00000001"
     "00000001"
     "00000004" +
         kReadBody,
     errc::ddp_untagged_offset, "1204c000", 18},
    {"ReadTooLong", kRead + kReadBody + "00", errc::ddp_untagged_too_long, "1205c000", 18},
    {"ReadTooShort", kRead + kReadBody.substr(2), errc::rdmap_stream_catastrophic, "0207c000", 18},
    {"ReadNotLast", "0141" + kRead.substr(4) + kReadBody, errc::rdmap_stream_catastrophic,
     "0207c000", 18},
    {"ReadOfUnknownStag", kRead + kReadBody, errc::rdmap_invalid_stag, "0100e000", 18, 28},
    {"ResponseToNothing",
     "c142112233440000000000001000"
     "01",
     errc::ddp_tagged_invalid_stag, "1100c000", 14},
    {"TerminateTooShort",
     "4147"
     "00000000"
     "00000002"
     "00000001"
     "00000000"
     "1101",
     errc::rdmap_stream_catastrophic, "0207c000", 18},
    {"TerminateMsn2",
     "4147"
     "00000000"
     "00000002"
     "00000002"
     "00000000"
     "11010000",
     errc::ddp_untagged_msn_range, "1203c000", 18},
    {"HeaderCutShort",
     "4143"
     "00000000"
     "0000",
     errc::rdmap_stream_catastrophic, "02070000", 0},
    {"OneOctet", "c1", errc::rdmap_stream_catastrophic, "02070000", 0},
    {"NoOctets", "", errc::rdmap_stream_catastrophic, "02070000", 0},
};

class WrongFpdu : public CoreTest, public ::testing::WithParamInterface<Wrong> {
 protected:
  std::string expected() const {
    const Wrong& wrong = GetParam();
    std::string text = wrong.control;
    if (wrong.ddp_header > 0) {
      std::array<std::byte, 2> length;
      store_be16(length.data(), static_cast<std::uint16_t>(wrong.ulpdu.size() / 2));
      text += to_hex(length) + wrong.ulpdu.substr(0, 2 * wrong.ddp_header);
      text += wrong.ulpdu.substr(2 * wrong.ddp_header, 2 * wrong.read_header);
    }
    return text;
  }
};

TEST_P(WrongFpdu, AsTheFirst) {
  open_responder();
  peer_->give_fpdu(GetParam().ulpdu);
  expect_terminate(expected(), GetParam().error);
}

TEST_P(WrongFpdu, ToAnInitiator) {
  open_initiator();
  peer_->give_fpdu(GetParam().ulpdu);
  expect_terminate(expected(), GetParam().error);
}

TEST_P(WrongFpdu, ByteForByte) {
  open_responder();
  peer_->give(peer_->fpdu(hex(GetParam().ulpdu)), 1);
  expect_terminate(expected(), GetParam().error);
}

TEST_P(WrongFpdu, IsTheLastThingLookedAt) {
  open_responder();
  std::vector<std::byte> memory(16);
  auto region = pair_->register_memory(memory, Access::remote_write);
  ByteVector stream = peer_->fpdu(hex(GetParam().ulpdu));
  const ByteVector write =
      peer_->fpdu(hex(write_header(region->stag(), region->base_offset()) + "ff"));
  stream.insert(stream.end(), write.begin(), write.end());
  peer_->give(stream);
  peer_->give_fpdu("c14fdeadbeef0000000000000010");
  send(noise(100));
  EXPECT_EQ(memory[0], std::byte{0});
  expect_terminate(expected(), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(, WrongFpdu, ::testing::ValuesIn(kWrongs),
                         [](const auto& info) { return std::string(info.param.name); });

class CoreErrors : public CoreTest {};

// RFC 5044 section 7.1.2: a responder that has validated no FPDU sends none, not even a Terminate.
TEST_F(CoreErrors, AWrongCrcInTheFirstFpduJustCloses) {
  open_responder();
  ByteVector bytes = peer_->fpdu(hex("c1400000000000000000000000000000"));
  bytes.back() ^= std::byte{1};
  peer_->give(bytes);
  expect_closed(errc::mpa_crc, CloseWish::at_once);
}

TEST_F(CoreErrors, AWrongCrcLaterIsReported) {
  open_responder();
  peer_->give_fpdu("c140000000000000000000000000");
  ByteVector bytes = peer_->fpdu(hex("c140000000000000000000000000"));
  bytes.back() ^= std::byte{1};
  peer_->give(bytes);
  expect_terminate("20020000", errc::mpa_crc);
}

TEST_F(CoreErrors, AWrongCrcComesBeforeWhateverElseIsWrong) {
  open_responder();
  peer_->give_fpdu("c140000000000000000000000000");
  ByteVector bytes = peer_->fpdu(hex("c140deadbeef0000000000000010") + noise(20'000));
  bytes.back() ^= std::byte{1};
  peer_->give(bytes, 3000);
  expect_terminate("20020000", errc::mpa_crc);
}

TEST_F(CoreErrors, WritesBehindTheEndQuoteTheirHeader) {
  open_responder();
  std::vector<std::byte> memory(16);
  auto region = pair_->register_memory(memory, Access::remote_write);
  const std::string header = write_header(region->stag(), region->base_offset() + 10);
  peer_->give_fpdu(hex(header) + noise(7));
  expect_terminate("1101c0000015" + header, errc::ddp_tagged_bounds);
}

TEST_F(CoreErrors, ASendThatSkipsBytesIsRefused) {
  open_responder();
  receive(100);
  peer_->give_fpdu(send_header(1, 0, false) + "0102");
  peer_->give_fpdu(send_header(1, 3) + "04");
  expect_terminate("1204c0000013" + send_header(1, 3), errc::ddp_untagged_offset);
}

TEST_F(CoreErrors, ASecondSegmentBeyondTheBufferIsRefused) {
  open_responder();
  receive(3);
  peer_->give_fpdu(send_header(1, 0, false) + "0102");
  peer_->give_fpdu(send_header(1, 2) + "0304");
  expect_terminate("1205c0000014" + send_header(1, 2), errc::ddp_untagged_too_long);
}

TEST_F(CoreErrors, InvalidationOfAnUnknownStagQuotesTheSend) {
  open_responder();
  receive(10);
  const std::string header =
      "4144deadbeef"
      "00000000"
      "00000001"
      "00000000";
  peer_->give_fpdu(header);
  // Layer 0; RFC 5040 section 4.8 has the code under remote protection and under remote operation.
  const TerminateRow* row = terminate_row(errc::rdmap_cannot_invalidate);
  ASSERT_NE(row, nullptr);
  const std::string type = row->type == 1 ? "01" : "02";
  expect_terminate(type + "09c0000012" + header, errc::rdmap_cannot_invalidate);
}

TEST_F(CoreErrors, MoreReadRequestsThanAgreedAreRefused) {
  MpaSettings settings = revision_1();
  settings.inbound_reads = 2;
  open_responder(settings);
  std::vector<std::byte> memory(16);
  auto region = pair_->register_memory(memory, Access::remote_read);
  ByteVector stream;
  for (std::uint32_t msn = 1; msn <= 3; ++msn) {
    const ByteVector one =
        peer_->fpdu(hex(read_request(msn, 16, region->stag(), region->base_offset())));
    stream.insert(stream.end(), one.begin(), one.end());
  }
  peer_->give(stream);
  // All three came at once: nothing could be answered in between.
  const std::string third = read_request(3, 16, region->stag(), region->base_offset());
  expect_terminate("1202c000002e" + third.substr(0, 36), errc::ddp_untagged_no_buffer);
}

TEST_F(CoreErrors, AReasonOfTheClientsOwnGoesOutBare) {
  open_initiator();
  pair_->disconnect(errc::rdmap_stream_catastrophic);
  expect_terminate("02070000", errc::rdmap_stream_catastrophic);
}

}  // namespace
}  // namespace openiser::rdmap::core_test
