// One end of MPA, DDP and RDMAP over a RawSocket, with nothing done on its own: every
// FPDU is made by the test, well-formed or not, and what comes back is taken apart one by one.
#pragma once

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "rdmap/wire/ddp.h"
#include "rdmap/wire/fpdu.h"
#include "rdmap/wire/mpa_frame.h"
#include "rdmap/wire/rdmap_header.h"
#include "rdmap/wire/terminate.h"
#include "tests/support/bytes.h"
#include "tests/support/raw_socket.h"
#include "tests/support/slow_fpdu.h"

namespace openiser::test {

// --- ULPDUs ---

inline ByteVector ulpdu(rdmap::Opcode opcode, rdmap::UntaggedHeader header, Bytes payload = {}) {
  ByteVector bytes(rdmap::kUntaggedHeaderSize + payload.size());
  ByteWriter out(bytes);
  header.rdmap_control = rdmap::rdmap_control(opcode, 1);
  encode(header, 1, out);
  out.bytes(payload);
  return bytes;
}
inline ByteVector ulpdu(rdmap::Opcode opcode, rdmap::TaggedHeader header, Bytes payload = {}) {
  ByteVector bytes(rdmap::kTaggedHeaderSize + payload.size());
  ByteWriter out(bytes);
  header.rdmap_control = rdmap::rdmap_control(opcode, 1);
  encode(header, 1, out);
  out.bytes(payload);
  return bytes;
}
inline ByteVector read_request_ulpdu(const rdmap::ReadRequestHeader& request, std::uint32_t msn) {
  ByteVector payload(rdmap::kReadRequestHeaderSize);
  ByteWriter out(payload);
  encode(request, out);
  return ulpdu(
      rdmap::Opcode::read_request,
      rdmap::UntaggedHeader{.invalidate = {}, .queue = rdmap::kReadRequestQueue, .msn = msn},
      payload);
}
inline ByteVector altered(ByteVector bytes, std::size_t at, std::uint8_t value) {
  bytes.at(at) = std::byte{value};
  return bytes;
}

// One received DDP segment.
struct RawSegment {
  rdmap::Opcode opcode;
  rdmap::TaggedHeader tagged;
  rdmap::UntaggedHeader untagged;
  ByteVector payload;
};

// A received Terminate, with its headers kept.
struct RawTerminate {
  rdmap::Terminate what;
  ByteVector bytes;
};

class RawIwarp {
 public:
  // `socket` outlives it.
  explicit RawIwarp(RawSocket& socket) : socket_(socket) {}

  static rdmap::MpaFrame request(bool crc = true, bool markers = false) {
    rdmap::MpaFrame frame;
    frame.crc = crc;
    frame.markers = markers;
    return frame;
  }

  // Sends an MPA Request and reads the Reply; nothing if the connection ends instead. Its private
  // data is valid as long as this object is.
  std::optional<rdmap::MpaFrame> start(const rdmap::MpaFrame& request = RawIwarp::request()) {
    if (!socket_.write(encode(request))) return {};
    reply_ = socket_.read(rdmap::kMpaHeaderSize);
    if (reply_.size() == rdmap::kMpaHeaderSize)
      reply_ += socket_.read(load_be16(as_bytes(reply_).data() + rdmap::kMpaHeaderSize - 2));
    const auto parsed = parse_mpa_frame(as_bytes(reply_), rdmap::MpaFrameKind::reply);
    if (!parsed || !*parsed) return {};
    const rdmap::MpaFrame& reply = (*parsed)->frame;
    encoder_ = rdmap::FpduEncoder(request.crc || reply.crc, reply.markers);
    decoder_ = rdmap::FpduDecoder(request.crc || reply.crc, request.markers);
    return reply;
  }

  // The other role: reads a Request and sends the Reply. False if there is none.
  bool answer_start() {
    std::string request = socket_.read(rdmap::kMpaHeaderSize);
    if (request.size() == rdmap::kMpaHeaderSize)
      request += socket_.read(load_be16(as_bytes(request).data() + rdmap::kMpaHeaderSize - 2));
    const auto parsed = parse_mpa_frame(as_bytes(request), rdmap::MpaFrameKind::request);
    if (!parsed || !*parsed) return false;
    rdmap::MpaFrame reply = (*parsed)->frame;
    encoder_ = rdmap::FpduEncoder(true, reply.markers);
    decoder_ = rdmap::FpduDecoder(true, false);
    reply.kind = rdmap::MpaFrameKind::reply;
    reply.crc = true;
    reply.markers = false;
    reply.private_data = {};
    return socket_.write(encode(reply));
  }

  // The next FPDU's bytes, markers included: the caller sends them, as they are or not.
  ByteVector fpdu(Bytes ulpdu) {
    OutputQueue out;
    encoder_.append(out, {}, ulpdu);
    return drain(out);
  }
  bool give(Bytes ulpdu) { return socket_.write(fpdu(ulpdu)); }

  // The CRC of an FPDU made right again after something else in it was changed.
  static ByteVector with_crc(ByteVector fpdu) {
    const std::size_t covered = fpdu.size() - rdmap::kFpduCrcSize;
    store_le32(fpdu.data() + covered, slow_crc32c(Bytes(fpdu).first(covered)));
    return fpdu;
  }

  // A Send of one segment, numbered as is due.
  bool send(Bytes message, rdmap::Opcode opcode = rdmap::Opcode::send,
            rdmap::Stag invalidate = {}) {
    return give(
        ulpdu(opcode, rdmap::UntaggedHeader{.invalidate = invalidate, .msn = send_msn++}, message));
  }
  // The data of a Read Request, in one segment.
  bool answer(const rdmap::ReadRequestHeader& request, Bytes data) {
    return give(ulpdu(rdmap::Opcode::read_response,
                      rdmap::TaggedHeader{.stag = request.sink, .offset = request.sink_offset},
                      data));
  }

  // Nothing once the connection has ended. Each FPDU must be right in itself.
  std::optional<RawSegment> next() {
    std::string wire = socket_.read(decoder_.prefix_size());
    if (wire.size() < decoder_.prefix_size()) return {};
    const std::size_t size = decoder_.wire_size(as_bytes(wire));
    wire += socket_.read(size - wire.size());
    if (wire.size() < size) return {};
    const auto ulpdu = decoder_.decode(as_bytes(wire), scratch_);
    EXPECT_TRUE(ulpdu) << ulpdu.error().message();
    return ulpdu ? segment_of(*ulpdu) : std::nullopt;
  }

  // Skips whatever comes before it; nothing if the connection ends without.
  std::optional<RawTerminate> terminate() {
    while (auto segment = next()) {
      if (segment->opcode != rdmap::Opcode::terminate) continue;
      EXPECT_EQ(segment->untagged.queue, rdmap::kTerminateQueue);
      EXPECT_EQ(segment->untagged.msn, 1u);
      std::optional<RawTerminate> found(std::in_place);
      found->bytes = std::move(segment->payload);
      const auto parsed = rdmap::parse_terminate(found->bytes);
      EXPECT_TRUE(parsed);
      if (!parsed) return {};
      found->what = *parsed;
      return found;
    }
    return {};
  }

  // How the target ends the connection: "layer/type/code" of its Terminate, "closed" without one,
  // "open" if it does not. Nothing follows a Terminate (RFC 5040 section 6.2.1).
  std::string fate() {
    last_terminate = terminate();
    if (last_terminate) {
      EXPECT_FALSE(next()) << "something follows the Terminate";
    }
    if (!socket_.sees_end()) return "open";
    if (!last_terminate) return "closed";
    const rdmap::Terminate& what = last_terminate->what;
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%u/%u/%02x", what.layer, what.type, what.code);
    return text.data();
  }

  std::uint32_t send_msn = 1;
  std::uint32_t read_msn = 1;
  std::optional<RawTerminate> last_terminate;

 private:
  static std::optional<RawSegment> segment_of(Bytes ulpdu) {
    RawSegment segment{};
    const bool tagged = rdmap::is_tagged(ulpdu);
    std::uint8_t control = 0;
    if (tagged) {
      const auto header = rdmap::parse_tagged(ulpdu, 1);
      EXPECT_TRUE(header);
      if (header) segment.tagged = *header, control = header->rdmap_control;
    } else {
      const auto header = rdmap::parse_untagged(ulpdu, 1);
      EXPECT_TRUE(header);
      if (header) segment.untagged = *header, control = header->rdmap_control;
    }
    const auto row = rdmap::parse_rdmap_control(control, 1);
    EXPECT_TRUE(row);
    if (!row) return {};
    EXPECT_EQ((*row)->tagged, tagged);
    segment.opcode = (*row)->opcode;
    segment.payload = exact(ulpdu.subspan(rdmap::ddp_header_size(tagged)));
    return segment;
  }

  RawSocket& socket_;
  std::string reply_;
  rdmap::FpduEncoder encoder_{true, false};
  rdmap::FpduDecoder decoder_{true, false};
  std::vector<std::byte> scratch_;
};

}  // namespace openiser::test
