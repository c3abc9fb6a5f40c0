// The tables that each I/O goes through: STags, and the command window.
#include <benchmark/benchmark.h>

#include <vector>

#include "iscsi/session/command_window.h"
#include "rdmap/core/stag_table.h"

namespace openiser::bench {
namespace {

using rdmap::StagTable;

// A table with `live` STags, and their memory.
struct Stags {
  explicit Stags(std::size_t live) : memory(4096) {
    for (std::size_t i = 0; i < live; ++i)
      entries.push_back(*table.add(memory, rdmap::Access::remote_write));
  }
  std::vector<std::byte> memory;
  StagTable table{16384, false};
  std::vector<StagTable::Entry> entries;
};

void resolve_stag(benchmark::State& state) {
  Stags stags(static_cast<std::size_t>(state.range(0)));
  std::size_t next = 0;
  for (auto _ : state) {
    const StagTable::Entry& entry = stags.entries[next];
    benchmark::DoNotOptimize(
        stags.table.resolve(entry.stag, entry.base_offset, 4096, StagTable::Use::write));
    if (++next == stags.entries.size()) next = 0;
  }
}
BENCHMARK(resolve_stag)->Name("Stag/resolve")->Arg(1)->Arg(128)->Arg(16384);

void register_stag(benchmark::State& state) {
  Stags stags(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    const auto entry = stags.table.add(stags.memory, rdmap::Access::remote_write);
    benchmark::DoNotOptimize(stags.table.remove(entry->stag));
  }
}
BENCHMARK(register_stag)->Name("Stag/register-and-end")->Arg(0)->Arg(128);

void command_in_order(benchmark::State& state) {
  iscsi::CommandWindow window(1, 128, 128);
  std::uint32_t cmd_sn = 1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(window.judge(cmd_sn++));
    window.advance();
    benchmark::DoNotOptimize(window.next_held());
    window.retire();
  }
}
BENCHMARK(command_in_order)->Name("CommandWindow/in-order");

}  // namespace
}  // namespace openiser::bench
