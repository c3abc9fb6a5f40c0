// Where a thread runs, and what of a processor's time this process has had.
#pragma once

#include <sched.h>
#include <sys/resource.h>

#include "base/last_error.h"

namespace openiser {

// Keeps the calling thread, and those it starts, on one processor, numbered from 0 to 1023. An
// error where there is none of that number, or the process may not use it.
inline ErrorCode stay_on_processor(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0 ? ErrorCode() : last_error();
}

// Seconds of processor time.
struct ProcessorTime {
  double user = 0, system = 0;
};

// What this process, all its threads, has used until now.
inline ProcessorTime processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

}  // namespace openiser
