#include "tests/bench/load/result.h"

#include <boost/system/system_error.hpp>
#include <ctime>

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
  initiator::cli::LoadFields more;
  if (result.peer_cpu >= 0) more.emplace_back("peer_cpu_s", result.peer_cpu);
  return initiator::cli::to_json(result, more);
}

}  // namespace openiser::bench
