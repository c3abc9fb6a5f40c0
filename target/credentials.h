// From the accounts in the configuration to the secrets in their files: read at the start and at
// each reload, kept as long as a catalogue or a login holds them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "config/yaml.h"
#include "iscsi/login/chap.h"

namespace openiser::target {

struct Credentials {
  // What logins have to pass; null: nothing.
  iscsi::SharedChapSettings discovery;
  std::map<std::string, iscsi::SharedChapSettings> targets;  // by normalised name
  // Of initiators that have accounts of their own, by the names of target and initiator.
  std::map<std::pair<std::string, std::string>, iscsi::SharedChapSettings> initiators;
  // Of use only if there are none.
  std::vector<config::Fault> faults;
  // What is not forbidden but unwise.
  std::vector<std::string> warnings;
};

Credentials load_credentials(const config::Daemon& config);

}  // namespace openiser::target
