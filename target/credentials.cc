#include "target/credentials.h"

#include <algorithm>
#include <optional>

#include "base/secret.h"
#include "target/catalogue.h"

namespace openiser::target {

namespace {

// One secret, and where it stands.
struct Loaded {
  iscsi::ChapAccount account;
  config::Position at;
};

bool same(const Secret& a, const Secret& b) {
  return iscsi::same_response(a.bytes(), b.bytes());
}

class Loader {
 public:
  iscsi::SharedChapSettings load(const config::Auth& auth);
  // RFC 7143 section 9.2.1, over all targets.
  void compare();
  // Whoever has the secret of two users can pass for either.
  std::vector<std::string> warnings() const;
  std::vector<config::Fault> take_faults() { return std::move(faults_); }

 private:
  iscsi::ChapAccount read(const config::Account& account, std::vector<Loaded>& kept);
  std::vector<Loaded> users_, targets_;
  std::vector<config::Fault> faults_;
};

iscsi::ChapAccount Loader::read(const config::Account& account, std::vector<Loaded>& kept) {
  SecretFile file = read_secret_file(account.secret_file, iscsi::kLeastChapSecret);
  iscsi::ChapAccount read{account.name, std::move(file.secret)};
  if (file.fault.empty())
    kept.push_back({read, account.secret_at});
  else
    faults_.push_back({account.secret_at, account.secret_file + " " + file.fault});
  return read;
}

iscsi::SharedChapSettings Loader::load(const config::Auth& auth) {
  if (auth.users.empty()) return {};
  iscsi::ChapSettings settings;
  for (const config::Account& user : auth.users) settings.initiators.push_back(read(user, users_));
  if (!auth.mutual.name.empty()) settings.target = read(auth.mutual, targets_);
  return std::make_shared<const iscsi::ChapSettings>(std::move(settings));
}

void Loader::compare() {
  for (const Loaded& target : targets_) {
    const auto user = std::ranges::find_if(users_, [&](const Loaded& user) {
      return same(user.account.secret, target.account.secret);
    });
    if (user != users_.end())
      faults_.push_back({target.at, "the secret of user " + user->account.name + " (line " +
                                        std::to_string(user->at.line) +
                                        ") too; give the target a secret of its own"});
  }
}

std::vector<std::string> Loader::warnings() const {
  std::vector<std::string> all;
  for (auto a = users_.begin(); a != users_.end(); ++a)
    for (auto b = users_.begin(); b != a; ++b)
      if (a->account.name != b->account.name && same(a->account.secret, b->account.secret))
        all.push_back("users " + b->account.name + " and " + a->account.name +
                      " have the same secret: each can pass for the other");
  return all;
}

}  // namespace

Credentials load_credentials(const config::Daemon& config) {
  Loader loader;
  Credentials credentials;
  for (const config::Target& target : config.targets) {
    const std::string name = normalised_name(target.name);
    credentials.targets.emplace(name, loader.load(target.auth));
    for (const config::Initiator& initiator : target.initiators)
      if (auto own = loader.load(initiator.auth))
        credentials.initiators.emplace(std::pair(name, normalised_name(initiator.name)),
                                       std::move(own));
  }
  credentials.discovery = loader.load(config.discovery_auth);
  loader.compare();
  credentials.warnings = loader.warnings();
  credentials.faults = loader.take_faults();
  return credentials;
}

}  // namespace openiser::target
