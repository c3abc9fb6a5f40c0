// Logging: a line with a level and the part of the stack that speaks. Whoever decides what becomes
// of an error logs it; code that passes an error on stays silent. Never a secret, never a payload.
// Thread-safe. spdlog stays in log.cc.
#pragma once

#include <string>
#include <string_view>

namespace openiser::log {

enum class Level { trace, debug, info, warn, error, off };

// The least level that is written; info until set.
void set_level(Level level);
Level level();
inline bool enabled(Level at) {
  return at >= level();
}
// "trace" ... "off"; false if the name is none of them.
bool parse_level(std::string_view name, Level& level);

// `part`: a short constant such as "portal" or "session".
void write(Level level, std::string_view part, std::string_view message);

inline void debug(std::string_view part, std::string_view message) {
  write(Level::debug, part, message);
}
inline void info(std::string_view part, std::string_view message) {
  write(Level::info, part, message);
}
inline void warn(std::string_view part, std::string_view message) {
  write(Level::warn, part, message);
}
inline void error(std::string_view part, std::string_view message) {
  write(Level::error, part, message);
}

}  // namespace openiser::log
