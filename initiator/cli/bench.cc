// bench: a load of one kind, and what it achieved.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <thread>
#include <vector>

#include "initiator/cli/commands.h"
#include "initiator/cli/load_result.h"
#include "initiator/cli/load_worker.h"
#include "initiator/cli/output.h"
#include "initiator/session_thread.h"

namespace openiser::initiator::cli {
namespace {

using Clock = LoadWorker::Clock;
using Sessions = std::vector<std::shared_ptr<Session>>;
using Workers = std::vector<std::unique_ptr<LoadWorker>>;

Url url_of(const BenchArguments& arguments) {
  Url url = parse_url(arguments.url);
  if (!url.lun)
    throw UsageError("URL '" + arguments.url + "' names no LUN: iser://HOST/TARGET/LUN");
  if (arguments.threads == 0 || arguments.iodepth == 0)
    throw UsageError("--threads and --iodepth start at 1");
  return url;
}

// On no more threads than run at once: more would only take turns.
Sessions open_sessions(const Url& url, SessionOptions options, std::uint32_t count) {
  std::vector<std::shared_ptr<SessionThread>> threads(
      std::min(count, std::max(1u, std::thread::hardware_concurrency())));
  for (auto& thread : threads) thread = std::make_shared<SessionThread>(options.busy_poll);
  Sessions sessions;
  for (std::uint32_t i = 0; i < count; ++i) {
    options.thread = threads[i % threads.size()];
    sessions.push_back(Session::open(url, options));
  }
  return sessions;
}

// Until each has had all its answers.
void work(const Workers& workers, double runtime, LoadResult& result) {
  const ProcessorTime before = processor_time();
  const Clock::time_point start = Clock::now();
  const auto length =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(runtime));
  for (const auto& worker : workers) worker->start(start + length);
  for (const auto& worker : workers) worker->wait();
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const ProcessorTime after = processor_time();
  result.cpu = {after.user - before.user, after.system - before.system};
}

LoadResult run(const Sessions& sessions, std::uint16_t lun, std::uint32_t lun_block,
               const Load& load, double runtime) {
  Workers workers;
  for (const auto& session : sessions) {
    const auto number = static_cast<unsigned>(workers.size());
    workers.push_back(std::make_unique<LoadWorker>(session, lun, lun_block, load, number));
  }
  LoadResult result;
  result.bytes_per_io = load.block_size;
  work(workers, runtime, result);
  for (const auto& worker : workers) {
    result.latencies.merge(worker->latencies());
    result.errors += worker->errors();
    if (result.first_error.empty()) result.first_error = worker->first_error();
  }
  return result;
}

LoadFields fields_of(const BenchArguments& arguments, const std::string& wire) {
  return {{"rw", arguments.rw},
          {"bs", std::uint64_t{arguments.block_size}},
          {"iodepth", std::uint64_t{arguments.iodepth}},
          {"threads", std::uint64_t{arguments.threads}},
          {"wire", wire}};
}

void print(const LoadResult& result, const BenchArguments& arguments, const std::string& wire) {
  const LatencyHistogram& l = result.latencies;
  std::printf("%s, %s blocks, depth %u, %u thread(s), over %s, %.1f s\n", arguments.rw.c_str(),
              size_text(arguments.block_size).c_str(), arguments.iodepth, arguments.threads,
              wire.c_str(), result.seconds);
  const double gigabytes = static_cast<double>(result.bytes()) / 1e9;
  std::printf("%.0f IOPS, %.3f GB/s, %.3f CPU seconds a GB\n", result.per_second(l.count()),
              result.per_second(result.bytes()) / 1e9,
              gigabytes > 0 ? (result.cpu.user + result.cpu.system) / gigabytes : 0);
  std::printf("latency us: p50 %.0f  p90 %.0f  p99 %.0f  p99.9 %.0f  max %.0f  mean %.0f\n",
              l.percentile_us(50), l.percentile_us(90), l.percentile_us(99), l.percentile_us(99.9),
              l.max_us(), l.mean_us());
  if (arguments.verify) std::printf("every block read was compared with what belongs there\n");
}

}  // namespace

int bench(const Common& common, const BenchArguments& arguments) {
  const Url url = url_of(arguments);
  const Sessions sessions = open_sessions(url, common.session, arguments.threads);
  const auto lun = Lun::open(sessions[0], *url.lun);
  const Load load = load_of(arguments, lun->properties());
  if (load.verify && load.reads) fill(*lun, load);
  const LoadResult result =
      run(sessions, *url.lun, lun->properties().block_size, load, arguments.runtime);
  const std::string wire = name_of(sessions[0]->info().wire);
  if (common.json)
    std::cout << to_json(result, fields_of(arguments, wire), 2) << '\n';
  else
    print(result, arguments, wire);
  if (result.errors) {
    std::fprintf(stderr, "iser bench: %llu errors; the first %s\n",
                 static_cast<unsigned long long>(result.errors), result.first_error.c_str());
  }
  return result.errors ? 1 : 0;
}

}  // namespace openiser::initiator::cli
