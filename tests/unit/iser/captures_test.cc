// What Linux's iSER initiator and LIO put on the wire, as our codecs see it (tests/data/README.md),
// and the facts about them that iser/README.md builds on.
#include <gtest/gtest.h>

#include <map>

#include "iscsi/pdu/pdu.h"
#include "iser/message.h"
#include "rdmap/wire/ddp.h"
#include "rdmap/wire/fpdu.h"
#include "rdmap/wire/mpa_frame.h"
#include "rdmap/wire/rdmap_header.h"
#include "tests/support/bytes.h"
#include "tests/support/pcap.h"

namespace openiser::test {
namespace {

using iscsi::Opcode;
using iser::MessageLayout;

struct Message {
  const rdmap::OpcodeRow* row = nullptr;
  rdmap::Stag invalidate;
  ByteVector payload;
  rdmap::RemoteMemory remote;  // sink of a write, source of a read
  std::size_t length = 0;      // of a read
};

struct Capture {
  const char* name;
  bool crc;
};

std::vector<Message> messages_of(const TcpStream& stream, rdmap::MpaFrameKind kind, bool crc) {
  std::vector<Message> messages;
  Bytes rest = Bytes(stream.bytes).subspan((**rdmap::parse_mpa_frame(stream.bytes, kind)).size);
  rdmap::FpduDecoder decoder(crc, false);
  ByteVector scratch;
  while (rest.size() >= decoder.prefix_size() && decoder.wire_size(rest) <= rest.size()) {
    const std::size_t size = decoder.wire_size(rest);
    const Bytes ulpdu = *decoder.decode(rest.first(size), scratch);
    rest = rest.subspan(size);
    Message message;
    Bytes payload;
    if (rdmap::is_tagged(ulpdu)) {
      const auto header = *rdmap::parse_tagged(ulpdu, 1);
      message.row = *rdmap::check_opcode(header, 1);
      message.remote = {header.stag, header.offset};
      payload = ulpdu.subspan(rdmap::kTaggedHeaderSize);
    } else {
      const auto header = *rdmap::parse_untagged(ulpdu, 1);
      message.row = *rdmap::check_opcode(header, 1);
      message.invalidate = header.invalidate;
      payload = ulpdu.subspan(rdmap::kUntaggedHeaderSize);
      if (header.message_offset > 0) {
        auto& whole = messages.back().payload;
        whole.insert(whole.end(), payload.begin(), payload.end());
        continue;
      }
    }
    if (message.row->opcode == rdmap::Opcode::read_request) {
      const auto request = *rdmap::parse_read_request(payload);
      message.remote = {request.source, request.source_offset};
      message.length = request.size;
    }
    message.payload = exact(payload);
    messages.push_back(std::move(message));
  }
  return messages;
}

bool is_send(const Message& message) {
  return !message.row->tagged && message.row->queue == rdmap::kSendQueue &&
         !message.payload.empty();
}

class IserCaptures : public ::testing::TestWithParam<Capture> {
 protected:
  TcpConversation conversation_ =
      read_pcap(OPENISER_TEST_DATA "/" + std::string(GetParam().name) + ".pcap");
  std::vector<Message> from_initiator_ =
      messages_of(conversation_.from_client, rdmap::MpaFrameKind::request, GetParam().crc);
  std::vector<Message> from_target_ =
      messages_of(conversation_.from_server, rdmap::MpaFrameKind::reply, GetParam().crc);

  MessageLayout layout(const Message& message) {
    const auto parsed = iser::parse_message(exact(message.payload), iser::Dialect::rfc7145, 262144);
    EXPECT_TRUE(parsed) << to_hex(message.payload);
    return parsed ? *parsed : MessageLayout{};
  }

  // By tag, all commands of the capture; tags are used again, so each use is one entry.
  struct Task {
    MessageLayout command;
  };
  std::vector<Task> commands() {
    std::vector<Task> found;
    for (const Message& message : from_initiator_) {
      if (!is_send(message)) continue;
      const auto parsed = layout(message);
      if (parsed.bhs.opcode() == Opcode::scsi_command) found.push_back({parsed});
    }
    return found;
  }
};

TEST_P(IserCaptures, EverySendIsAMessage) {
  std::size_t sends = 0;
  for (const auto* side : {&from_initiator_, &from_target_}) {
    for (const Message& message : *side) {
      if (!is_send(message)) continue;
      layout(message);
      ++sends;
    }
  }
  EXPECT_GT(sends, 4U);
}

TEST_P(IserCaptures, HeadersComeBackTheSame) {
  for (const Message& message : from_initiator_) {
    if (!is_send(message)) continue;
    ByteVector header(28);
    iser::encode(layout(message).header, iser::Dialect::rfc7145, header);
    EXPECT_EQ(to_hex(header), to_hex(Bytes(message.payload).first(28)));
  }
}

TEST_P(IserCaptures, StagsAreAdvertisedAsTheCommandNeedsThem) {
  for (const Task& task : commands()) {
    const auto& bhs = task.command.bhs;
    const std::uint32_t expected = iser::expected_data_transfer_length(bhs);
    EXPECT_EQ(task.command.header.read.has_value(), iser::reads(bhs) && expected > 0);
    EXPECT_EQ(task.command.header.write.has_value(),
              iser::writes(bhs) && expected > task.command.data_size);
  }
}

// LIO invalidates the Read STag, or the only Write STag.
TEST_P(IserCaptures, ResponsesInvalidateWhatWasAdvertised) {
  std::map<std::uint32_t, std::vector<std::optional<rdmap::Stag>>> advertised;
  for (const Task& task : commands()) {
    std::optional<rdmap::Stag> stag;
    if (task.command.header.write) stag = task.command.header.write->stag;
    if (task.command.header.read) stag = task.command.header.read->stag;
    advertised[task.command.bhs.initiator_task_tag()].push_back(stag);
  }
  std::map<std::uint32_t, std::size_t> uses;
  for (const Message& message : from_target_) {
    if (!is_send(message)) continue;
    const auto parsed = layout(message);
    if (parsed.bhs.opcode() != Opcode::scsi_response) continue;
    const std::uint32_t tag = parsed.bhs.initiator_task_tag();
    const std::size_t use = uses[tag]++;
    if (use >= advertised[tag].size()) continue;  // the capture has a hole
    if (!message.row->invalidates) continue;
    EXPECT_EQ(message.invalidate, advertised[tag][use].value_or(rdmap::Stag{}));
  }
}

// Base offsets are addresses, and a Write Base Offset is that of the solicited part: LIO reads from
// it although the command brought immediate data.
TEST_P(IserCaptures, ReadRequestsStartAtTheWriteBaseOffset) {
  for (const Message& message : from_target_) {
    if (message.row->opcode != rdmap::Opcode::read_request || message.length == 0) continue;
    bool found = false;
    for (const Task& task : commands()) {
      const auto& write = task.command.header.write;
      if (!write || write->stag != message.remote.stag) continue;
      const std::uint64_t solicited =
          iser::expected_data_transfer_length(task.command.bhs) - task.command.data_size;
      found |= message.remote.offset >= write->offset &&
               message.remote.offset + message.length <= write->offset + solicited;
    }
    EXPECT_TRUE(found);
  }
}

TEST_P(IserCaptures, WritesLandInTheReadBuffer) {
  for (const Message& message : from_target_) {
    if (message.row->opcode != rdmap::Opcode::rdma_write || message.payload.empty()) continue;
    bool found = false;
    for (const Task& task : commands()) {
      const auto& read = task.command.header.read;
      if (!read || read->stag != message.remote.stag) continue;
      const std::uint64_t end =
          read->offset + iser::expected_data_transfer_length(task.command.bhs);
      found |= message.remote.offset >= read->offset &&
               message.remote.offset + message.payload.size() <= end;
    }
    EXPECT_TRUE(found);
  }
}

INSTANTIATE_TEST_SUITE_P(Linux, IserCaptures,
                         ::testing::Values(Capture{"lio-iser-siw-stock", false},
                                           Capture{"lio-iser-siw-stock-chap", false},
                                           Capture{"lio-iser-siw-crc", true},
                                           Capture{"lio-iser-siw-p2p", false}),
                         [](const auto& info) {
                           std::string name = info.param.name + 9;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace openiser::test
