// Any text as a configuration file.
#include <string>

#include "config/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto loaded = openiser::config::load_text(text, "/tmp");
  for (const auto& fault : loaded.faults) {
    if (openiser::config::describe(fault, "f.yaml").find('\n') != std::string::npos)
      __builtin_trap();
  }
  return 0;
}
