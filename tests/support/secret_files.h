// Files with secrets, for daemons under test.
#pragma once

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "config/settings.h"
#include "tests/support/temporary_folder.h"

namespace openiser::test {

inline constexpr const char* kAliceSecret = "alice-has-a-secret";
inline constexpr const char* kStorageSecret = "the-target's-secret";

class SecretFiles {
 public:
  // The path; others than the owner may do with it what `mode` says.
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const std::string path = folder_.path(name);
    std::ofstream(path, std::ios::binary) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  config::Account account(const std::string& name, const std::string& secret) const {
    return {name, write(name + ".secret", secret + "\n"), {}, {}};
  }
  // Lets alice in; the target is "storage" to those who ask.
  config::Auth auth() const {
    return {{account("alice", kAliceSecret)}, account("storage", kStorageSecret)};
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace openiser::test
