// MPA: framing and parsing of one FPDU, and messages between two queue pairs.
#include <benchmark/benchmark.h>

#include "rdmap/iwarp.h"
#include "rdmap/wire/fpdu.h"
#include "tests/bench/micro/memory_link.h"

namespace openiser::bench {
namespace {

void bytes_of_each(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void frame(benchmark::State& state) {
  const std::vector<std::byte> header(14);
  const std::vector<std::byte> payload(static_cast<std::size_t>(state.range(0)));
  rdmap::FpduEncoder encoder(true, state.range(1) != 0);
  OutputQueue out;
  for (auto _ : state) {
    encoder.append(out, header, payload);
    out.consume(out.size());
  }
  bytes_of_each(state);
}
BENCHMARK(frame)
    ->Name("Fpdu/frame")
    ->ArgNames({"bytes", "markers"})
    ->Args({48, 0})
    ->Args({4096, 0})
    ->Args({4096, 1})
    ->Args({64000, 0});

void parse(benchmark::State& state) {
  const std::vector<std::byte> header(14);
  const std::vector<std::byte> payload(static_cast<std::size_t>(state.range(0)));
  OutputQueue out;
  rdmap::FpduEncoder(true, false).append(out, header, payload);
  std::array<Bytes, 16> pieces;
  std::vector<std::byte> wire;
  for (const Bytes& piece : std::span(pieces).first(out.gather(pieces)))
    wire.insert(wire.end(), piece.begin(), piece.end());
  rdmap::FpduDecoder decoder(true, false);
  std::vector<std::byte> scratch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(decoder.wire_size(wire));
    if (!decoder.decode(wire, scratch)) return state.SkipWithError("not an FPDU");
  }
  bytes_of_each(state);
}
BENCHMARK(parse)->Name("Fpdu/parse")->ArgName("bytes")->Arg(48)->Arg(4096)->Arg(64000);

// Takes what completes and posts the receives again.
class Client final : public rdmap::QueuePairClient {
 public:
  explicit Client(rdmap::MpaRole role) : pair_(make(role)) {
    pair_->set_client(this);
    for (int i = 0; i < 128; ++i) pair_->post_receive(Buffer::allocate(1024), 0);
  }
  rdmap::IwarpQueuePair& pair() { return *pair_; }

  void established(const rdmap::Established&) override {}
  void completions_ready() override {
    std::array<rdmap::Completion, 64> done;
    while (const std::size_t n = pair_->poll(done)) {
      for (rdmap::Completion& one : std::span(done).first(n)) take(one);
    }
  }
  void disconnected(ErrorCode) override { completions_ready(); }

  std::uint64_t received = 0;

 private:
  static std::unique_ptr<rdmap::IwarpQueuePair> make(rdmap::MpaRole role) {
    rdmap::MpaSettings settings;
    settings.emss = 65483;
    return rdmap::make_iwarp_queue_pair(role, settings, kNow);
  }
  void take(rdmap::Completion& completion) {
    if (completion.kind != rdmap::Completion::Kind::receive || completion.status) return;
    ++received;
    completion.buffer.reset_window();
    pair_->post_receive(std::move(completion.buffer), completion.id);
  }

  std::unique_ptr<rdmap::IwarpQueuePair> pair_;
};

// An RDMA Write and a Send behind it, as the answer to a read is, `range(1)` at a time.
void write_and_send(benchmark::State& state) {
  Client sender(rdmap::MpaRole::initiator);
  Client receiver(rdmap::MpaRole::responder);
  MemoryLink link(sender.pair(), receiver.pair());
  link.settle();
  std::vector<std::byte> source(static_cast<std::size_t>(state.range(0)));
  std::vector<std::byte> sink(source.size());
  std::vector<std::byte> message(76);
  auto region = *receiver.pair().register_memory(sink, rdmap::Access::remote_write);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(1); ++i) {
      sender.pair().post_write(
          {0, Buffer::wrap(Bytes(source)), {region.stag(), region.base_offset()}});
      rdmap::SendWork send;
      send.head = Buffer::wrap(Bytes(message));
      sender.pair().post_send(std::move(send));
    }
    sender.pair().flush();
    link.settle();
  }
  const auto messages = state.iterations() * state.range(1);
  if (receiver.received != static_cast<std::uint64_t>(messages))
    return state.SkipWithError("messages are missing");
  state.SetItemsProcessed(messages);
  state.SetBytesProcessed(messages * state.range(0));
}
BENCHMARK(write_and_send)
    ->Name("QueuePair/write-and-send")
    ->ArgNames({"bytes", "at_once"})
    ->Args({4096, 1})
    ->Args({4096, 32})
    ->Args({65536, 8})
    ->Args({1 << 20, 1});

}  // namespace
}  // namespace openiser::bench
