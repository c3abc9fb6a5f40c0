#include "tests/bench/load/result.h"

#include <sched.h>
#include <sys/resource.h>

#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>

namespace openiser::bench {
namespace {

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

}  // namespace

CpuTime cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {seconds_of(usage.ru_utime), seconds_of(usage.ru_stime)};
}

double cpu_time_of(int pid) {
  clockid_t clock{};
  timespec t{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

void pin_to_core(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(core), &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0)
    throw std::system_error(errno, std::generic_category(), "core " + std::to_string(core));
}

std::string to_json(const Result& result) {
  const LatencyHistogram& l = result.latencies;
  const double ios = static_cast<double>(l.count());
  const std::uint64_t bytes = l.count() * result.bytes_per_io;
  nlohmann::ordered_json out{{"iops", ios / result.seconds},
                             {"bytes_per_s", static_cast<double>(bytes) / result.seconds},
                             {"ios", l.count()},
                             {"bytes", bytes},
                             {"seconds", result.seconds},
                             {"lat_us",
                              {{"p50", l.percentile_us(50)},
                               {"p90", l.percentile_us(90)},
                               {"p99", l.percentile_us(99)},
                               {"p999", l.percentile_us(99.9)},
                               {"max", l.max_us()},
                               {"mean", l.mean_us()}}},
                             {"cpu_user_s", result.cpu.user},
                             {"cpu_sys_s", result.cpu.system},
                             {"errors", result.errors}};
  if (result.peer_cpu >= 0) out["peer_cpu_s"] = result.peer_cpu;
  return out.dump();
}

}  // namespace openiser::bench
