// The iSER header, first bytes of every message a Send carries (RFC 5046 and RFC 7145 section 9).
// No length in it: the RDMAP message ends what follows. Pure codecs, values in and out.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "iser/iser_datamover.h"
#include "rdmap/rcap.h"

namespace openiser::iser {

// What the two documents write differently. Both nibbles of a version byte hold `version`
// (RFC 7145 sections 9.3 and 9.4; its appendix B still prints 1).
struct DialectFacts {
  std::size_t header_size;
  std::uint8_t version;
  bool base_offsets;  // without: every base offset is 0 (RFC 5046 section 1.4.1)
};
const DialectFacts& facts(Dialect dialect);

inline constexpr std::size_t kLargestHeader = 28;

enum class MessageKind : std::uint8_t { control = 1, hello = 2, hello_reply = 3 };

// Of the message's first byte; errc::iser_format for an empty message and unassigned opcodes.
Result<MessageKind> message_kind(Bytes message);

// Section 9.2: the buffers of the initiator's that come with a control-type PDU.
struct ControlHeader {
  std::optional<rdmap::RemoteMemory> write{};  // source of RDMA Reads
  std::optional<rdmap::RemoteMemory> read{};   // sink of RDMA Writes
};
// `into` has header_size bytes. Offsets are lost where the dialect has none.
void encode(const ControlHeader& header, Dialect dialect, MutableBytes into);
// Reads the front of `message`; errc::iser_format when that is too short or another kind.
Result<ControlHeader> decode_control_header(Bytes message, Dialect dialect);

// Section 9.3.
struct Hello {
  std::uint8_t max_version = 0;
  std::uint8_t min_version = 0;
  std::uint16_t inbound_reads = 0;  // iSER-IRD
};
void encode(const Hello& hello, Dialect dialect, MutableBytes into);
// The message is the header and nothing else, or errc::iser_format (section 10.1.3.3).
Result<Hello> decode_hello(Bytes message, Dialect dialect);

// Section 9.4.
struct HelloReply {
  bool reject = false;
  std::uint8_t max_version = 0;
  std::uint8_t current_version = 0;
  std::uint16_t outbound_reads = 0;  // iSER-ORD
};
void encode(const HelloReply& reply, Dialect dialect, MutableBytes into);
Result<HelloReply> decode_hello_reply(Bytes message, Dialect dialect);

}  // namespace openiser::iser
