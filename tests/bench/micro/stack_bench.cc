// What one I/O costs in protocol, without sockets: the session, the device server, the datamover
// and a store, at both ends. target_ns and initiator_ns are the time inside each end's calls; the
// rest of the time is the copies that stand for the network.
#include <benchmark/benchmark.h>

#include <random>

#include "tests/bench/micro/whole_stack.h"

namespace openiser::bench {
namespace {

constexpr std::uint64_t kBlocks = 16384;  // 64 MiB

// A queue of I/Os at random places, each with memory of its own.
class Load {
 public:
  Load(std::size_t depth, std::size_t size, bool write)
      : blocks_(size / WholeStack::kBlock), memory_(depth * size), ios_(depth) {
    for (std::size_t i = 0; i < depth; ++i)
      ios_[i] = {write, 0, MutableBytes(memory_).subspan(i * size, size)};
  }
  std::span<const WholeStack::Io> next() {
    for (WholeStack::Io& io : ios_) io.lba = random_() % (kBlocks / blocks_) * blocks_;
    return ios_;
  }

 private:
  std::size_t blocks_;
  std::minstd_rand random_;
  std::vector<std::byte> memory_;
  std::vector<WholeStack::Io> ios_;
};

// Otherwise reads of a new memory store see one and the same page of zeroes.
void fill(WholeStack& stack) {
  constexpr std::size_t kSize = 1u << 20;
  std::vector<std::byte> data(kSize);
  for (std::uint64_t lba = 0; lba < kBlocks; lba += kSize / WholeStack::kBlock) {
    const WholeStack::Io io{true, lba, data};
    stack.run({&io, 1});
  }
}

void report(benchmark::State& state, const WholeStack& stack, std::size_t size) {
  const auto ios = static_cast<double>(state.iterations() * state.range(0));
  state.SetItemsProcessed(static_cast<std::int64_t>(ios));
  state.SetBytesProcessed(static_cast<std::int64_t>(ios * static_cast<double>(size)));
  const auto per_io = [&](auto amount) {
    return benchmark::Counter(static_cast<double>(amount) / ios);
  };
  state.counters["target_ns"] = per_io(stack.target_cost().time.count());
  state.counters["initiator_ns"] = per_io(stack.initiator_cost().time.count());
  state.counters["target_allocs"] = per_io(stack.target_cost().allocations);
  state.counters["initiator_allocs"] = per_io(stack.initiator_cost().allocations);
}

void run(benchmark::State& state, Wire wire, Medium medium, bool write, std::size_t size) {
  WholeStack stack(wire, medium, kBlocks);
  if (medium == Medium::memory) fill(stack);
  Load load(static_cast<std::size_t>(state.range(0)), size, write);
  // Queues and pools have grown to their sizes.
  for (int i = 0; i < 100; ++i) stack.run(load.next());
  stack.reset_costs();
  for (auto _ : state) {
    if (!stack.run(load.next())) return state.SkipWithError("a command has failed");
  }
  report(state, stack, size);
}

// Stack/WIRE/MEDIUM/read4k/QUEUE DEPTH and its kin.
const int registered = [] {
  const std::pair<const char*, Wire> wires[] = {{"iser", Wire::iser},
                                                {"iser-no-crc", Wire::iser_no_crc},
                                                {"plain", Wire::plain},
                                                {"plain-digests", Wire::plain_digests}};
  const std::pair<const char*, Medium> media[] = {{"null", Medium::null},
                                                  {"memory", Medium::memory}};
  for (const auto& [wire_name, wire] : wires) {
    for (const auto& [medium_name, medium] : media) {
      for (const bool write : {false, true}) {
        const std::string name =
            std::string("Stack/") + wire_name + '/' + medium_name + (write ? "/write" : "/read");
        const auto add = [&](const char* size_name, std::size_t size) {
          return benchmark::RegisterBenchmark((name + size_name).c_str(), run, wire, medium, write,
                                              size);
        };
        add("4k", 4096)->Arg(1)->Arg(32)->Arg(128);
        add("1M", 1u << 20)->Arg(8);
      }
    }
  }
  return 0;
}();

}  // namespace
}  // namespace openiser::bench
