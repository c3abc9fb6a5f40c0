#include "target/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "target/start_error.h"

namespace openiser::target {
namespace {

config::Daemon with_files(std::size_t luns) {
  config::Daemon config;
  config.targets.resize(1);
  config.targets[0].luns.resize(luns);
  config.limits.connections = 10;
  return config;
}

// In a process of its own: a hard limit stays.
[[noreturn]] void start_with_limits(rlim_t soft, rlim_t hard, std::size_t luns) {
  rlimit limit{soft, hard};
  setrlimit(RLIMIT_NOFILE, &limit);
  try {
    provide_descriptors(with_files(luns));
  } catch (const StartError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(1);
  }
  getrlimit(RLIMIT_NOFILE, &limit);
  std::exit(limit.rlim_cur == hard ? 0 : 2);
}

TEST(DescriptorLimit, IsRaisedToWhatTheSystemAllows) {
  EXPECT_EXIT(start_with_limits(100, 4000, 1000), ::testing::ExitedWithCode(0), "");
}

TEST(DescriptorLimit, TooFewForTheLunsEndTheStart) {
  EXPECT_EXIT(start_with_limits(100, 1000, 1000), ::testing::ExitedWithCode(1),
              "needed for 1000 LUNs on files, and the process may have 1000: raise the limit");
}

TEST(DescriptorLimit, OnlyFilesCount) {
  config::Daemon config = with_files(100'000);
  for (config::Lun& lun : config.targets[0].luns) lun.kind = config::Lun::Kind::null;
  EXPECT_NO_THROW(provide_descriptors(config));
}

}  // namespace
}  // namespace openiser::target
