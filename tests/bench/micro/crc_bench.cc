// CRC32C over bytes that are in the cache.
#include <benchmark/benchmark.h>

#include <vector>

#include "base/crc32c.h"

namespace openiser::bench {
namespace {

void crc(benchmark::State& state) {
  const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  for (auto _ : state) benchmark::DoNotOptimize(crc32c(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(crc)->Name("Crc32c")->Arg(48)->Arg(4096)->Arg(65536);

}  // namespace
}  // namespace openiser::bench
