#include "target/descriptor_limit.h"

#include <sys/resource.h>

#include <string>

#include "base/log.h"
#include "target/start_error.h"
#include "target/worker.h"

namespace openiser::target {
namespace {

// Of event loops, io_uring, listeners, signals, the log and state files being written.
constexpr rlim_t kOwn = 64;
constexpr rlim_t kPerThread = 8;

rlim_t files_of(const config::Daemon& config) {
  rlim_t files = 0;
  for (const config::Target& target : config.targets) {
    for (const config::Lun& lun : target.luns) files += lun.kind == config::Lun::Kind::file;
  }
  return files;
}

// What the system allows, which is the limit from now on.
rlim_t raised_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  return limit.rlim_cur;
}

}  // namespace

void provide_descriptors(const config::Daemon& config) {
  const rlim_t limit = raised_limit();
  const rlim_t files = files_of(config);
  const rlim_t least = files + kOwn + kPerThread * worker_count(config.limits);
  const auto words = [&](rlim_t needed, const std::string& what) {
    return std::to_string(needed) + " file descriptors are needed for " + what +
           ", and the process may have " + std::to_string(limit) +
           ": raise the limit (LimitNOFILE= of the systemd unit, ulimit -Hn)";
  };
  const std::string luns = std::to_string(files) + " LUNs on files";
  if (least > limit) throw StartError(words(least, luns));
  const rlim_t all = least + config.limits.connections;
  if (all > limit) {
    log::warn("daemon", words(all, luns + " and limits.connections (" +
                                       std::to_string(config.limits.connections) + ")"));
  }
}

}  // namespace openiser::target
