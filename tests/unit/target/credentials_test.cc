// From accounts to secrets, with the place of what is wrong.
#include "target/credentials.h"

#include <gtest/gtest.h>

#include "tests/support/secret_files.h"

namespace openiser::target {
namespace {

using test::SecretFiles;

config::Daemon config_with(config::Auth auth) {
  config::Daemon config;
  config::Target target;
  target.name = "iqn.2026-11.org.example:Disk1";
  target.auth = std::move(auth);
  config.targets.push_back(target);
  return config;
}

std::string text_of(const Secret& secret) {
  return std::string(as_text(secret.bytes()));
}

TEST(Credentials, NoUsersNoChap) {
  const Credentials none = load_credentials(config_with({}));
  EXPECT_TRUE(none.faults.empty());
  EXPECT_FALSE(none.discovery);
  ASSERT_EQ(none.targets.size(), 1U);
  EXPECT_FALSE(none.targets.begin()->second);
}

TEST(Credentials, AreReadFromTheirFiles) {
  const SecretFiles files;
  auto config = config_with(files.auth());
  config.discovery_auth.users = {files.account("finder", "finds-the-targets")};
  const Credentials read = load_credentials(config);
  ASSERT_TRUE(read.faults.empty()) << read.faults.front().message;
  const auto& chap = read.targets.at("iqn.2026-11.org.example:disk1");
  ASSERT_TRUE(chap && chap->target);
  EXPECT_EQ(chap->initiators.at(0).name, "alice");
  EXPECT_EQ(text_of(chap->initiators.at(0).secret), test::kAliceSecret);
  EXPECT_EQ(chap->target->name, "storage");
  EXPECT_EQ(text_of(chap->target->secret), test::kStorageSecret);
  ASSERT_TRUE(read.discovery);
  EXPECT_EQ(read.discovery->initiators.at(0).name, "finder");
  EXPECT_FALSE(read.discovery->target);
}

TEST(Credentials, OfOneInitiatorAreItsOwn) {
  const SecretFiles files;
  auto config = config_with(files.auth());
  config::Initiator own, plain;
  own.name = "iqn.2026-11.org.example:own";
  own.auth.users = {files.account("owner", "a-secret-of-its-own")};
  plain.name = "iqn.2026-11.org.example:*";
  config.targets[0].initiators = {own, plain};
  const Credentials read = load_credentials(config);
  ASSERT_TRUE(read.faults.empty()) << read.faults.front().message;
  ASSERT_EQ(read.initiators.size(), 1U);
  const auto& [names, chap] = *read.initiators.begin();
  EXPECT_EQ(names.first, "iqn.2026-11.org.example:disk1");
  EXPECT_EQ(names.second, own.name);
  ASSERT_EQ(chap->initiators.size(), 1U);
  EXPECT_EQ(chap->initiators[0].name, "owner");
  EXPECT_FALSE(chap->target) << "unless it names one";
  // Compared with all others, too.
  config.targets[0].initiators[0].auth.mutual = files.account("back", test::kAliceSecret);
  EXPECT_EQ(load_credentials(config).faults.size(), 1U);
}

TEST(Credentials, TellEveryFaultWithItsPlace) {
  const SecretFiles files;
  config::Auth auth = files.auth();
  auth.users[0].secret_file = files.write("open", "alice-has-a-secret", 0644);
  auth.users[0].secret_at = {7, 11};
  auth.mutual.secret_file = files.write("short", "eleven-byte\n");
  auth.mutual.secret_at = {9, 11};
  const auto faults = load_credentials(config_with(auth)).faults;
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].at.line, 7);
  EXPECT_EQ(faults[0].at.column, 11);
  EXPECT_NE(faults[0].message.find("chmod 600"), std::string::npos);
  EXPECT_EQ(faults[1].at.line, 9);
  EXPECT_NE(faults[1].message.find("at least 12"), std::string::npos);
  for (const auto& fault : faults)
    for (const char* secret : {"alice-has-a-secret", "eleven-byte"})
      EXPECT_EQ(fault.message.find(secret), std::string::npos);
}

// RFC 7143 section 9.2.1, from one target to the other as well.
TEST(Credentials, ProveOneDirectionOnly) {
  const SecretFiles files;
  auto config = config_with({{files.account("alice", "the-same-secret")}, {}});
  config.discovery_auth = {{files.account("bob", "bob-has-another")},
                           files.account("storage", "the-same-secret")};
  const auto faults = load_credentials(config).faults;
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults[0].message.find("user alice"), std::string::npos);
}

TEST(Credentials, WarnOfUsersThatCanPassForEachOther) {
  const SecretFiles files;
  const auto shared = load_credentials(config_with(
      {{files.account("alice", "the-same-secret"), files.account("bob", "the-same-secret")}, {}}));
  EXPECT_TRUE(shared.faults.empty());
  EXPECT_EQ(shared.warnings.size(), 1U);
  auto twice = config_with({{files.account("alice", "alice-has-a-secret")}, {}});
  twice.discovery_auth = twice.targets[0].auth;
  EXPECT_TRUE(load_credentials(twice).warnings.empty()) << "one user at two doors";
}

}  // namespace
}  // namespace openiser::target
