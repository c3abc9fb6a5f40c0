#include "tests/bench/load/result.h"

#include <boost/system/system_error.hpp>
#include <ctime>
#include <nlohmann/json.hpp>

namespace openiser::bench {

double cpu_time_of(int pid) {
  clockid_t clock{};
  timespec t{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

void pin_to_core(int core) {
  if (const ErrorCode error = stay_on_processor(static_cast<unsigned>(core)))
    throw boost::system::system_error(error, "core " + std::to_string(core));
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
