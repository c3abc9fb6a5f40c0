// From a YAML file to the structs of settings.h, and the JSON Schema of that file. Both come from
// one table (keys.cc). A load never throws and never stops at the first fault: it finds them all,
// each with its line and column, so that `iser-targetd --check` shows everything at once. Called at
// start and at reload, on any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace openiser::config {

// What is wrong and what to do about it, in one line.
struct Fault {
  Position at;  // {0, 0} where the file as a whole is meant
  std::string message;
};

struct Loaded {
  // Of use only if there are no faults.
  Daemon daemon;
  // In the order of the file.
  std::vector<Fault> faults;
};

Loaded load_file(const std::filesystem::path& path);
// `base_dir`: what relative file names in `text` are relative to.
Loaded load_text(std::string_view text, const std::filesystem::path& base_dir);

// "FILE:LINE:COLUMN: what; what to do", as compilers and editors know it.
std::string describe(const Fault& fault, const std::filesystem::path& path);

// The JSON Schema (draft 2020-12) of the file, indented.
std::string print_schema();

}  // namespace openiser::config
