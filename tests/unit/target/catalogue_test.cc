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

Arrival at(const std::string& local_address, std::uint16_t tag, std::size_t portal = 0) {
  return {.peer_address = "192.0.2.200:50000",
          .local_address = local_address,
          .portal_group_tag = tag,
          .portal = portal};
}

iscsi::LoginAuthority::Verdict ask(const Catalogue& of, SessionType type, std::string_view target,
                                   std::string_view initiator = kHost,
                                   const Arrival& arrival = at("192.0.2.1:3260", 7)) {
  iscsi::LoginAuthority::Request request{};
  request.session_type = type;
  request.initiator_name = initiator;
  request.target_name = target;
  return authorise(of, request, arrival);
}
iscsi::LoginAuthority::Verdict ask(SessionType type, std::string_view target) {
  return ask(catalogue(), type, target);
}

Access access_of(const std::string& name) {
  Access access;
  access.initiators.push_back({name});
  return access;
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

// Lists come first: who may not log in learns of no redirection, and is asked for no secret.
TEST(Authority, ListsThenRedirections) {
  auto made = catalogue({{.address = "192.0.2.1:3260", .redirection = Redirection{"portal:1"}},
                         {.address = "192.0.2.1:3261"}});
  made.targets[kDisk1].access = access_of(kHost);
  made.targets[kDisk1].redirection = Redirection{"target:1", true, true};
  const auto stranger = ask(made, SessionType::normal, kDisk1, "iqn.x:y");
  EXPECT_EQ(stranger.error, errc::login_authorization_failed);
  EXPECT_FALSE(stranger.redirection);
  const auto first = ask(made, SessionType::normal, kDisk1);
  EXPECT_FALSE(first.error);
  EXPECT_EQ(first.redirection, Redirection{"portal:1"});
  const auto second = ask(made, SessionType::normal, kDisk1, kHost, at("192.0.2.1:3261", 7, 1));
  EXPECT_EQ(second.redirection, (Redirection{"target:1", true, true}));
  EXPECT_FALSE(ask(made, SessionType::normal, kDisk2, kHost, at("a:1", 7, 1)).redirection);
  EXPECT_FALSE(ask(made, SessionType::discovery, kDisk1).redirection) << "discovery stays";
}

TEST(Authority, ATargetIsNotFoundThroughOtherPortalGroups) {
  auto made = catalogue();
  made.targets[kDisk1].portal_groups = {1, 8};
  for (const SessionType type : {SessionType::normal, SessionType::discovery}) {
    EXPECT_EQ(ask(made, type, kDisk1).error, errc::login_target_not_found);
    EXPECT_FALSE(ask(made, type, kDisk1, kHost, at("a:1", 8)).error);
  }
}

TEST(Authority, DiscoveryHasItsOwnList) {
  auto made = catalogue();
  made.discovery_access = access_of("iqn.x:*");
  made.targets[kDisk1].access = access_of(kHost);
  EXPECT_EQ(ask(made, SessionType::discovery, "").error, errc::login_authorization_failed);
  EXPECT_FALSE(ask(made, SessionType::normal, kDisk1).error);
  EXPECT_FALSE(ask(made, SessionType::discovery, "", "iqn.x:y").error);
}

TEST(Authority, AnAccountOfTheInitiatorTakesThePlaceOfTheTargets) {
  auto made = catalogue();
  auto& disk = made.targets[kDisk1];
  disk.chap = std::make_shared<const iscsi::ChapSettings>();
  disk.access.initiators = {{"iqn.x:own", std::make_shared<const iscsi::ChapSettings>()},
                            {"iqn.x:*"}};
  EXPECT_EQ(ask(made, SessionType::normal, kDisk1, "iqn.x:own").chap,
            disk.access.initiators[0].chap);
  EXPECT_EQ(ask(made, SessionType::normal, kDisk1, "IQN.x:Own").chap,
            disk.access.initiators[0].chap);
  EXPECT_EQ(ask(made, SessionType::normal, kDisk1, "iqn.x:b").chap, disk.chap);
}

TEST(Views, AreThoseOfTheRule) {
  auto made = catalogue();
  auto& disk = made.targets[kDisk1];
  disk.access.initiators = {{"iqn.x:own", nullptr, std::make_shared<TargetDevice>()}, {"iqn.x:*"}};
  EXPECT_EQ(disk.device_of("iqn.X:own"), disk.access.initiators[0].device);
  EXPECT_EQ(disk.device_of("iqn.x:b"), disk.device);
  EXPECT_EQ(disk.device_of("iqn.y:b"), nullptr) << "not on the list";
}

TEST(SendTargets, TellsWhatTheInitiatorMayUse) {
  auto made = catalogue();
  made.targets[kDisk1].access = access_of("iqn.x:y");
  const auto told = [&](std::string_view initiator) {
    return target_records(made, "", initiator, at("192.0.2.1:3260", 1)).size();
  };
  EXPECT_EQ(told(kHost), 1u);
  EXPECT_EQ(told("iqn.x:y"), 2u);
  EXPECT_TRUE(target_records(made, kDisk1, kHost, at("192.0.2.1:3260", 1)).empty());
}

TEST(SendTargets, TellsPortalsThatServeTheTarget) {
  auto made = catalogue({{.address = "192.0.2.1:3260", .tag = 1},
                         {.address = "192.0.2.2:3260", .tag = 2},
                         {.address = "192.0.2.3:3260", .tag = 3}});
  made.targets[kDisk1].portal_groups = {2, 3};
  EXPECT_EQ(target_records(made, kDisk1, kHost, at("192.0.2.1:3260", 1)).at(0).addresses,
            (Strings{"192.0.2.2:3260,2", "192.0.2.3:3260,3"}));
  EXPECT_EQ(target_records(made, kDisk1, kHost, at("192.0.2.3:3260", 3)).at(0).addresses,
            (Strings{"192.0.2.3:3260,3", "192.0.2.2:3260,2"}));
  made.targets[kDisk1].portal_groups = {9};
  EXPECT_TRUE(target_records(made, kDisk1, kHost, at("192.0.2.1:3260", 1)).empty());
}

// Of no use to anybody else.
TEST(SendTargets, TellsLoopbackAddressesOnlyThere) {
  const auto made = catalogue(
      {{.address = "127.0.0.1:3260"}, {.address = "[::1]:3260"}, {.address = "192.0.2.1:3260"}});
  EXPECT_EQ(target_records(made, kDisk1, kHost, at("192.0.2.1:3260", 1)).at(0).addresses,
            (Strings{"192.0.2.1:3260,1"}));
  EXPECT_EQ(target_records(made, kDisk1, kHost, at("[::1]:3260", 1)).at(0).addresses.size(), 3u);
}

TEST(SendTargets, ListsAllOrOne) {
  const auto all = target_records(catalogue(), "", kHost, at("127.0.0.1:3260", 1));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, kDisk1);
  EXPECT_EQ(all[0].alias, "first");
  EXPECT_EQ(all[1].name, kDisk2);
  const auto one = target_records(catalogue(), kDisk2, kHost, at("127.0.0.1:3260", 1));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].name, kDisk2);
  EXPECT_TRUE(target_records(catalogue(), "iqn.x:y", kHost, at("127.0.0.1:3260", 1)).empty());
}

Strings addresses(std::vector<PortalAddress> portals, const std::string& local, std::uint16_t tag) {
  return target_records(catalogue(std::move(portals)), kDisk1, kHost, at(local, tag))
      .at(0)
      .addresses;
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
