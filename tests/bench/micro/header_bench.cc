// Headers made and read: DDP and RDMAP, iSCSI's BHS, iSER's.
#include <benchmark/benchmark.h>

#include <array>

#include "iscsi/pdu/pdu.h"
#include "iser/header.h"
#include "rdmap/wire/ddp.h"
#include "rdmap/wire/rdmap_header.h"

namespace openiser::bench {
namespace {

constexpr rdmap::StreamVersion kVersion = 1;

// A header that an RDMA Write, or a Send, could have.
template <class Header>
Header sample(rdmap::Opcode opcode) {
  Header header;
  header.rdmap_control = rdmap::rdmap_control(opcode, kVersion);
  return header;
}

template <class Header>
void encode_ddp(benchmark::State& state, Header header) {
  std::array<std::byte, 64> bytes;
  for (auto _ : state) {
    benchmark::DoNotOptimize(header);
    ByteWriter out(bytes);
    encode(header, kVersion, out);
    benchmark::DoNotOptimize(bytes);
  }
}
BENCHMARK_CAPTURE(encode_ddp, write, sample<rdmap::TaggedHeader>(rdmap::Opcode::rdma_write))
    ->Name("Header/ddp-tagged/encode");
BENCHMARK_CAPTURE(encode_ddp, send, sample<rdmap::UntaggedHeader>(rdmap::Opcode::send))
    ->Name("Header/ddp-untagged/encode");

template <class Header>
void parse_ddp(benchmark::State& state, rdmap::Opcode opcode,
               Result<Header> parse(Bytes, rdmap::StreamVersion)) {
  std::array<std::byte, 64> bytes{};
  ByteWriter out(bytes);
  encode(sample<Header>(opcode), kVersion, out);
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    const auto header = parse(bytes, kVersion);
    benchmark::DoNotOptimize(rdmap::check_opcode(*header, kVersion));
  }
}
BENCHMARK_CAPTURE(parse_ddp, write, rdmap::Opcode::rdma_write, rdmap::parse_tagged)
    ->Name("Header/ddp-tagged/parse");
BENCHMARK_CAPTURE(parse_ddp, send, rdmap::Opcode::send, rdmap::parse_untagged)
    ->Name("Header/ddp-untagged/parse");

template <class Pdu>
void encode_bhs(benchmark::State& state) {
  Pdu pdu;
  for (auto _ : state) {
    benchmark::DoNotOptimize(pdu);
    benchmark::DoNotOptimize(iscsi::encode(pdu));
  }
}
BENCHMARK(encode_bhs<iscsi::ScsiCommand>)->Name("Header/scsi-command/encode");
BENCHMARK(encode_bhs<iscsi::ScsiResponse>)->Name("Header/scsi-response/encode");
BENCHMARK(encode_bhs<iscsi::DataIn>)->Name("Header/data-in/encode");

template <class Pdu>
void decode_bhs(benchmark::State& state, Pdu pdu) {
  iscsi::Bhs bhs = iscsi::encode(pdu);
  if (!iscsi::decode<Pdu>(bhs)) return state.SkipWithError("not a PDU");
  for (auto _ : state) {
    benchmark::DoNotOptimize(bhs);
    benchmark::DoNotOptimize(iscsi::decode<Pdu>(bhs));
  }
}
BENCHMARK_CAPTURE(decode_bhs, command,
                  iscsi::ScsiCommand{.read = true, .expected_data_transfer_length = 4096})
    ->Name("Header/scsi-command/decode");
BENCHMARK_CAPTURE(decode_bhs, response, iscsi::ScsiResponse{})->Name("Header/scsi-response/decode");

const iser::ControlHeader kControl{.write = {}, .read = rdmap::RemoteMemory{{0x1234}, 0x10000}};

void encode_iser(benchmark::State& state) {
  std::array<std::byte, iser::kLargestHeader> bytes;
  iser::ControlHeader header = kControl;
  for (auto _ : state) {
    benchmark::DoNotOptimize(header);
    encode(header, iser::Dialect::rfc7145, bytes);
    benchmark::DoNotOptimize(bytes);
  }
}
BENCHMARK(encode_iser)->Name("Header/iser/encode");

void decode_iser(benchmark::State& state) {
  std::array<std::byte, iser::kLargestHeader> bytes;
  encode(kControl, iser::Dialect::rfc7145, bytes);
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    benchmark::DoNotOptimize(iser::decode_control_header(bytes, iser::Dialect::rfc7145));
  }
}
BENCHMARK(decode_iser)->Name("Header/iser/decode");

}  // namespace
}  // namespace openiser::bench
