// iSER by hand, over a RawSocket: as initiator brought into full feature phase over either wire by
// the shortest way, then told message by message what to send.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "iser/header.h"
#include "tests/support/raw_iscsi.h"
#include "tests/support/raw_iwarp.h"
#include "tests/support/raw_pdus.h"

namespace openiser::test {

using iser::Dialect;

inline const char* name_of(Dialect dialect) {
  return dialect == Dialect::rfc5046 ? "Rfc5046" : "Rfc7145";
}

// What Linux and libiscsi say (wire-facts: they know no more of RFC 7145's keys).
inline constexpr const char* kLinuxKeys =
    "InitiatorRecvDataSegmentLength=8192|TargetRecvDataSegmentLength=8192|RDMAExtensions=Yes|";
// Any key that RFC 7145 added tells its dialect from that of RFC 5046; no Hello is due.
inline constexpr const char* kRfc7145Keys = "RDMAExtensions=Yes|MaxAHSLength=256|";
inline constexpr const char* kHelloKeys = "RDMAExtensions=Yes|iSERHelloRequired=Yes|";
inline constexpr const char* kRfc5046Keys = "RDMAExtensions=Yes|";

// A message of control type that came in.
struct RawMessage {
  ByteVector bytes;  // header and all
  ControlPdu pdu;
  std::optional<rdmap::Stag> invalidated;
};

class RawIser {
 public:
  explicit RawIser(std::uint16_t port, Dialect dialect = Dialect::rfc7145)
      : socket(port), iwarp(socket), dialect_(dialect) {}

  explicit RawIser(rdmap::Socket connected, Dialect dialect = Dialect::rfc7145)
      : socket(std::move(connected)), iwarp(socket), dialect_(dialect) {}

  // --- up to full feature phase: the login status, or -1 for none ---

  int rdma_first(const std::string& keys = names(kLinuxKeys),
                 const rdmap::MpaFrame& request = RawIwarp::request()) {
    if (!iwarp.start(request)) return -1;
    return ask(1, 3, keys);
  }
  // The switch included; no Hello yet.
  int stream_first(const std::string& keys = names(kRfc7145Keys),
                   const rdmap::MpaFrame& request = RawIwarp::request()) {
    const int status = socket.log_in(keys);
    if (status == 0 && !iwarp.start(request)) return -1;
    return status;
  }
  // One Login Request over the queue pair, and its answer.
  int ask(int stage, std::optional<int> next, const std::string& text) {
    if (!send(socket.requests.at(stage, next, text))) return -1;
    const auto message = receive();
    if (!message) return -1;
    const auto answer = iscsi::decode<LoginResponse>(message->pdu.bhs);
    if (!answer) return -1;
    socket.response = *answer;
    socket.text_answer = with_bars(message->pdu.data.bytes());
    return status_of(*answer);
  }

  // --- messages ---

  bool send(const ControlPdu& pdu, const iser::ControlHeader& header = {}) {
    return iwarp.send(message(pdu, header));
  }
  template <class Pdu>
  bool send(const Pdu& pdu, const iser::ControlHeader& header = {}) {
    return send(ControlPdu{encode(pdu), {}, {}}, header);
  }
  ByteVector message(const ControlPdu& pdu, const iser::ControlHeader& header = {}) const {
    ByteVector bytes(iser::facts(dialect_).header_size);
    encode(header, dialect_, bytes);
    return bytes + exact(as_bytes(wire_form(pdu)));
  }
  ByteVector hello(std::uint8_t max_version, std::uint8_t min_version,
                   std::uint16_t inbound_reads = 8) const {
    ByteVector bytes(iser::facts(dialect_).header_size);
    encode(iser::Hello{max_version, min_version, inbound_reads}, dialect_, bytes);
    return bytes;
  }
  ByteVector hello() const {
    const std::uint8_t version = iser::facts(dialect_).version;
    return hello(version, version);
  }
  // Sends a Hello and reads its answer.
  std::optional<iser::HelloReply> greet(const ByteVector& hello) {
    if (!iwarp.send(hello)) return {};
    const auto answer = receive_bytes();
    if (!answer) return {};
    const auto reply = iser::decode_hello_reply(answer->first, dialect_);
    if (!reply) return {};
    return *reply;
  }

  // The next message of control type. RDMA Writes and Read Requests that come before it are kept in
  // `written` and `asked`. Nothing if the connection ends first, or brings anything else.
  std::optional<RawMessage> receive() {
    auto taken = receive_bytes();
    if (!taken) return {};
    RawMessage message{std::move(taken->first), {}, taken->second};
    const std::size_t header = iser::facts(dialect_).header_size;
    EXPECT_GE(message.bytes.size(), header + iscsi::kBhsSize);
    if (message.bytes.size() < header + iscsi::kBhsSize) return {};
    EXPECT_TRUE(iser::decode_control_header(message.bytes, dialect_));
    std::memcpy(message.pdu.bhs.raw.data(), message.bytes.data() + header, iscsi::kBhsSize);
    const Bytes data = Bytes(message.bytes).subspan(header + iscsi::kBhsSize);
    const std::size_t length = message.pdu.bhs.data_segment_length();
    EXPECT_LE(length, data.size());
    message.pdu.data = Buffer::copy_of(data.first(std::min(length, data.size())));
    return message;
  }
  // The next Read Request; anything else that comes before it is a failure.
  std::optional<rdmap::ReadRequestHeader> read_request() {
    while (asked.empty()) {
      const auto segment = iwarp.next();
      if (!segment || !take_data(*segment)) return {};
    }
    const auto first = asked.front();
    asked.erase(asked.begin());
    return first;
  }

  std::uint32_t next_cmd_sn() { return socket.requests.header.cmd_sn + numbered_++; }

  RawIscsi socket;
  RawIwarp iwarp;
  std::vector<RawSegment> written;
  std::vector<rdmap::ReadRequestHeader> asked;
  // Whether RDMA Reads get zeroes at once, as from a decent peer; they are not in `asked` then.
  bool answers_reads = false;

 private:
  using Taken = std::pair<ByteVector, std::optional<rdmap::Stag>>;

  std::optional<Taken> receive_bytes() {
    ByteVector bytes;
    while (const auto segment = iwarp.next()) {
      if (take_data(*segment)) continue;
      const rdmap::OpcodeRow& row = opcode_row(segment->opcode);
      if (row.queue != rdmap::kSendQueue) return {};
      EXPECT_EQ(segment->untagged.message_offset, bytes.size());
      bytes = bytes + segment->payload;
      if (!segment->untagged.last) continue;
      if (!row.invalidates) return Taken{std::move(bytes), std::nullopt};
      return Taken{std::move(bytes), segment->untagged.invalidate};
    }
    return {};
  }
  // Whether it is a tagged message or a Read Request.
  bool take_data(const RawSegment& segment) {
    if (segment.opcode == rdmap::Opcode::rdma_write) {
      written.push_back(segment);
      return true;
    }
    if (segment.opcode != rdmap::Opcode::read_request) return false;
    const auto request = rdmap::parse_read_request(segment.payload);
    EXPECT_TRUE(request);
    if (!request) return false;
    if (!answers_reads) {
      asked.push_back(*request);
    } else if (request->size <= rdmap::kMaxUlpdu - rdmap::kTaggedHeaderSize) {
      iwarp.answer(*request, ByteVector(request->size));
    }
    return true;
  }

  Dialect dialect_;
  std::uint32_t numbered_ = 0;
};

}  // namespace openiser::test
