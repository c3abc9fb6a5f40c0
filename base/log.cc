#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <utility>

namespace openiser::log {
namespace {

std::atomic<Level> least{Level::info};

spdlog::logger& logger() {
  static const auto made = [] {
    auto l = spdlog::stderr_logger_mt("open-iser");
    l->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    l->set_level(spdlog::level::trace);
    return l;
  }();
  return *made;
}

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::trace:
      return spdlog::level::trace;
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

void set_level(Level level) {
  least.store(level, std::memory_order_relaxed);
}
Level level() {
  return least.load(std::memory_order_relaxed);
}

bool parse_level(std::string_view name, Level& level) {
  static constexpr std::array<std::pair<std::string_view, Level>, 6> kNames{{
      {"trace", Level::trace},
      {"debug", Level::debug},
      {"info", Level::info},
      {"warn", Level::warn},
      {"error", Level::error},
      {"off", Level::off},
  }};
  for (const auto& [known, value] : kNames) {
    if (known != name) continue;
    level = value;
    return true;
  }
  return false;
}

void write(Level level, std::string_view part, std::string_view message) {
  if (enabled(level)) logger().log(spdlog_level(level), "{}: {}", part, message);
}

}  // namespace openiser::log
