#include "iser/header.h"

#include "iscsi/errors.h"

namespace openiser::iser {
namespace {

using iscsi::errc;

constexpr DialectFacts kRfc5046{.header_size = 12, .version = 1, .base_offsets = false};
constexpr DialectFacts kRfc7145{.header_size = kLargestHeader, .version = 10, .base_offsets = true};

constexpr std::uint8_t kWriteStagValid = 0x08;  // WSV
constexpr std::uint8_t kReadStagValid = 0x04;   // RSV
constexpr std::uint8_t kReject = 0x01;          // REJ

std::uint8_t opcode_bits(MessageKind kind) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 4);
}

std::uint8_t nibbles(std::uint8_t high, std::uint8_t low) {
  return static_cast<std::uint8_t>(high << 4 | (low & 0x0f));
}

bool is_just(MessageKind kind, Bytes message, Dialect dialect) {
  const auto found = message_kind(message);
  return found && *found == kind && message.size() == facts(dialect).header_size;
}

void write_stag(ByteWriter& out, const std::optional<rdmap::RemoteMemory>& memory,
                Dialect dialect) {
  out.be32(memory ? memory->stag.value : 0);
  if (facts(dialect).base_offsets) out.be64(memory ? memory->offset : 0);
}

std::optional<rdmap::RemoteMemory> read_stag(ByteReader& in, bool valid, Dialect dialect) {
  rdmap::RemoteMemory memory{.stag = {in.be32()}};
  if (facts(dialect).base_offsets) memory.offset = in.be64();
  if (!valid) return {};
  return memory;
}

void encode_announcement(std::uint8_t first, std::uint8_t versions, std::uint16_t reads,
                         MutableBytes into) {
  ByteWriter out(into);
  out.u8(first);
  out.u8(versions);
  out.be16(reads);
  out.zeros(into.size() - out.size());
}

}  // namespace

const DialectFacts& facts(Dialect dialect) {
  return dialect == Dialect::rfc5046 ? kRfc5046 : kRfc7145;
}

Result<MessageKind> message_kind(Bytes message) {
  if (message.empty()) return errc::iser_format;
  const unsigned opcode = load_u8(message.data()) >> 4;
  if (opcode < 1 || opcode > 3) return errc::iser_format;
  return static_cast<MessageKind>(opcode);
}

void encode(const ControlHeader& header, Dialect dialect, MutableBytes into) {
  ByteWriter out(into);
  out.u8(static_cast<std::uint8_t>(opcode_bits(MessageKind::control) |
                                   (header.write ? kWriteStagValid : 0) |
                                   (header.read ? kReadStagValid : 0)));
  out.zeros(3);
  write_stag(out, header.write, dialect);
  write_stag(out, header.read, dialect);
}

Result<ControlHeader> decode_control_header(Bytes message, Dialect dialect) {
  const auto kind = message_kind(message);
  if (!kind) return kind.error();
  if (*kind != MessageKind::control || message.size() < facts(dialect).header_size)
    return errc::iser_format;
  ByteReader in(message);
  const std::uint8_t flags = in.u8();
  in.skip(3);
  ControlHeader header;
  header.write = read_stag(in, (flags & kWriteStagValid) != 0, dialect);
  header.read = read_stag(in, (flags & kReadStagValid) != 0, dialect);
  return header;
}

void encode(const Hello& hello, Dialect dialect, MutableBytes into) {
  encode_announcement(opcode_bits(MessageKind::hello),
                      nibbles(hello.max_version, hello.min_version), hello.inbound_reads,
                      into.first(facts(dialect).header_size));
}

Result<Hello> decode_hello(Bytes message, Dialect dialect) {
  if (!is_just(MessageKind::hello, message, dialect)) return errc::iser_format;
  const std::uint8_t versions = load_u8(&message[1]);
  return Hello{.max_version = static_cast<std::uint8_t>(versions >> 4),
               .min_version = static_cast<std::uint8_t>(versions & 0x0f),
               .inbound_reads = load_be16(&message[2])};
}

void encode(const HelloReply& reply, Dialect dialect, MutableBytes into) {
  const std::uint8_t reject = reply.reject ? kReject : 0;
  encode_announcement(static_cast<std::uint8_t>(opcode_bits(MessageKind::hello_reply) | reject),
                      nibbles(reply.max_version, reply.current_version), reply.outbound_reads,
                      into.first(facts(dialect).header_size));
}

Result<HelloReply> decode_hello_reply(Bytes message, Dialect dialect) {
  if (!is_just(MessageKind::hello_reply, message, dialect)) return errc::iser_format;
  const std::uint8_t versions = load_u8(&message[1]);
  return HelloReply{.reject = (load_u8(&message[0]) & kReject) != 0,
                    .max_version = static_cast<std::uint8_t>(versions >> 4),
                    .current_version = static_cast<std::uint8_t>(versions & 0x0f),
                    .outbound_reads = load_be16(&message[2])};
}

}  // namespace openiser::iser
