#include "target/catalogue.h"

#include <gtest/gtest.h>

#include "iscsi/errors.h"

namespace openiser::target {
namespace {

using iscsi::errc;
using iscsi::SessionType;
using Strings = std::vector<std::string>;

constexpr const char* kHost = "iqn.2026-11.org.example:host";
constexpr const char* kDisk1 = "iqn.2026-11.org.example:disk1";
constexpr const char* kDisk2 = "iqn.2026-11.org.example:disk2";

Catalogue catalogue(std::vector<PortalAddress> portals = {}) {
  Catalogue made;
  made.targets[kDisk1] = {std::make_shared<TargetDevice>(), "first"};
  made.targets[kDisk2] = {std::make_shared<TargetDevice>(), ""};
  made.portals = std::move(portals);
  return made;
}

iscsi::LoginAuthority::Verdict ask(SessionType type, std::string_view target) {
  iscsi::LoginAuthority::Request request{};
  request.session_type = type;
  request.initiator_name = kHost;
  request.target_name = target;
  return authorise(catalogue(), request, 7);
}

TEST(Authority, KnowsItsTargets) {
  const auto verdict = ask(SessionType::normal, kDisk1);
  EXPECT_FALSE(verdict.error);
  EXPECT_EQ(verdict.target_alias, "first");
  EXPECT_EQ(verdict.target_portal_group_tag, 7);
}

TEST(Authority, NamesAreComparedInLowerCase) {
  EXPECT_FALSE(ask(SessionType::normal, "IQN.2026-11.org.Example:Disk1").error);
}

TEST(Authority, AnUnknownTargetIsNotFound) {
  for (const char* name : {"", "iqn.2026-11.org.example:disk", "iqn.2026-11.org.example:disk11"}) {
    EXPECT_EQ(ask(SessionType::normal, name).error, errc::login_target_not_found) << name;
  }
}

TEST(Authority, DiscoveryNeedsNoTarget) {
  EXPECT_FALSE(ask(SessionType::discovery, "").error);
  EXPECT_FALSE(ask(SessionType::discovery, kDisk2).error);
  EXPECT_EQ(ask(SessionType::discovery, "iqn.x:y").error, errc::login_target_not_found);
}

TEST(SendTargets, ListsAllOrOne) {
  const auto all = target_records(catalogue(), "", "127.0.0.1:3260", 1);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, kDisk1);
  EXPECT_EQ(all[0].alias, "first");
  EXPECT_EQ(all[1].name, kDisk2);
  const auto one = target_records(catalogue(), kDisk2, "127.0.0.1:3260", 1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].name, kDisk2);
  EXPECT_TRUE(target_records(catalogue(), "iqn.x:y", "127.0.0.1:3260", 1).empty());
}

Strings addresses(std::vector<PortalAddress> portals, const std::string& local, std::uint16_t tag) {
  return target_records(catalogue(std::move(portals)), kDisk1, local, tag).at(0).addresses;
}

TEST(SendTargets, TheAddressInUseComesFirst) {
  const std::vector<PortalAddress> portals{
      {.address = "10.0.0.1:3260", .port = 3260, .tag = 1, .wildcard = false},
      {.address = "10.0.0.2:3261", .port = 3261, .tag = 2, .wildcard = false}};
  EXPECT_EQ(addresses(portals, "10.0.0.2:3261", 2),
            (Strings{"10.0.0.2:3261,2", "10.0.0.1:3260,1"}));
}

TEST(SendTargets, AWildcardPortalIsNamedByTheAddressInUse) {
  const std::vector<PortalAddress> portals{
      {.address = "[::]:3260", .port = 3260, .tag = 1, .wildcard = true},
      {.address = "[::]:860", .port = 860, .tag = 1, .wildcard = true}};
  EXPECT_EQ(addresses(portals, "192.0.2.7:3260", 1),
            (Strings{"192.0.2.7:3260,1", "192.0.2.7:860,1"}));
  EXPECT_EQ(addresses(portals, "[2001:db8::1]:860", 1),
            (Strings{"[2001:db8::1]:860,1", "[2001:db8::1]:3260,1"}));
}

}  // namespace
}  // namespace openiser::target
