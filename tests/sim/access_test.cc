// Who sees what, with the whole initiator and the whole daemon: lists, networks, accounts of one
// initiator, portal groups, LUN views, redirections, and a reload that changes them.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>

#include "initiator/lun.h"
#include "initiator/scsi_query.h"
#include "initiator/session.h"
#include "tests/support/daemon.h"
#include "tests/support/raw_iscsi.h"
#include "tests/support/secret_files.h"
#include "tests/support/temporary_folder.h"

namespace openiser::test {
namespace {

using initiator::Session;
using initiator::SessionError;
using Luns = std::vector<std::uint16_t>;

constexpr const char* kDisk = "iqn.2026-11.org.example:disk1";
constexpr const char* kOther = "iqn.2026-11.org.example:disk2";
constexpr int kNotAuthorised = 0x0202;
constexpr int kNotFound = 0x0203;

std::string host(const std::string& what) {
  return "iqn.2026-11.org.example:" + what;
}

config::Lun memory(std::uint16_t lun, std::uint64_t size = 1 << 20) {
  config::Lun made;
  made.lun = lun;
  made.kind = config::Lun::Kind::memory;
  made.size = size;
  return made;
}

config::Initiator initiator_named(const std::string& name) {
  config::Initiator made;
  made.name = name;
  return made;
}

config::Network network(std::array<std::uint8_t, 4> start, unsigned bits) {
  config::Network made;
  made.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, start[0], start[1], start[2], start[3]};
  made.prefix = static_cast<std::uint8_t>(96 + bits);
  return made;
}

// Status of a login to `target` as `name`.
int log_in(std::uint16_t port, const std::string& name, const std::string& target = kDisk) {
  RawIscsi host(port);
  return host.log_in("InitiatorName=" + name + "|TargetName=" + target + "|");
}

struct Way {
  const char* name;
  const char* scheme;
  const char* keys;
};
void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}
constexpr Way kPlain{"plain", "iscsi", ""};

initiator::Url url_of(std::uint16_t port, const Way& way, const std::string& user = {},
                      const std::string& target = kDisk) {
  return initiator::parse_url(std::string(way.scheme) + "://127.0.0.1:" + std::to_string(port) +
                              "/" + target + "/0?" + way.keys +
                              (user.empty() ? "" : "user=" + user));
}
initiator::SessionOptions options_of(const std::string& name) {
  initiator::SessionOptions options;
  options.initiator_name = host(name);
  return options;
}
std::shared_ptr<Session> open(std::uint16_t port, const std::string& name,
                              const Way& way = kPlain) {
  return Session::open(url_of(port, way), options_of(name));
}
std::string failure(const std::function<void()>& call) {
  try {
    call();
    return {};
  } catch (const SessionError& error) {
    return error.what();
  }
}

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() {
    config.targets[0].luns = {memory(0), memory(1), memory(300)};
    config.log_level = "off";  // a reload sets it
  }
  void start() { daemon.emplace(config); }
  std::uint16_t port(std::size_t portal = 0) const { return (*daemon)->portals().at(portal).port; }
  // With a second session, as the first may have a unit attention waiting.
  Luns seen_by(const std::string& name) const {
    return initiator::report_luns(*open(port(), name));
  }

  const QuietLog quiet;
  config::Daemon config = daemon_config();
  mutable std::optional<RunningDaemon> daemon;
};

// --- lists ---

TEST_F(AccessTest, InitiatorsOnTheListAlone) {
  config.targets[0].initiators = {initiator_named(host("a")), initiator_named(host("lab-*"))};
  start();
  EXPECT_EQ(log_in(port(), host("a")), 0);
  EXPECT_EQ(log_in(port(), "IQN.2026-11.org.example:A"), 0) << "names are compared in lower case";
  EXPECT_EQ(log_in(port(), host("lab-7")), 0);
  EXPECT_EQ(log_in(port(), host("b")), kNotAuthorised);
  EXPECT_EQ(log_in(port(), host("lab")), kNotAuthorised);
  EXPECT_EQ(log_in(port(), host("b"), kOther), kNotFound);
  EXPECT_NE(failure([&] { open(port(), "b"); }).find("may not use the target"), std::string::npos);
}

TEST_F(AccessTest, NetworksOnTheListAlone) {
  config.targets[0].networks = {network({192, 0, 2, 0}, 24)};
  config.targets.push_back(config.targets[0]);
  config.targets[1].name = kOther;
  config.targets[1].networks = {network({192, 0, 2, 0}, 24), network({127, 0, 0, 0}, 8)};
  start();
  EXPECT_EQ(log_in(port(), host("a")), kNotAuthorised);
  EXPECT_EQ(log_in(port(), host("a"), kOther), 0);
}

TEST_F(AccessTest, DiscoveryHasListsOfItsOwnAndTellsWhatIsOpenToTheAsker) {
  config.targets[0].initiators = {initiator_named(host("a"))};
  config.targets.push_back(config.targets[0]);
  config.targets[1].name = kOther;
  config.targets[1].initiators.clear();
  config.discovery_initiators = {initiator_named(host("*"))};
  start();
  const auto told = [&](const std::string& name) {
    std::vector<std::string> names;
    for (const auto& record : Session::discover(url_of(port(), kPlain), options_of(name)))
      names.push_back(record.name);
    return names;
  };
  EXPECT_EQ(told("a"), (std::vector<std::string>{kDisk, kOther}));
  EXPECT_EQ(told("b"), (std::vector<std::string>{kOther}));
  RawIscsi stranger(port());
  EXPECT_EQ(stranger.log_in("InitiatorName=iqn.x:y|SessionType=Discovery|"), kNotAuthorised);
  config.discovery_initiators.clear();
  config.discovery_networks = {network({192, 0, 2, 0}, 24)};
  start();
  RawIscsi elsewhere(port());
  EXPECT_EQ(elsewhere.log_in("InitiatorName=iqn.x:y|SessionType=Discovery|"), kNotAuthorised);
}

TEST_F(AccessTest, TheAliasIsTold) {
  config.targets[0].alias = "First disk";
  start();
  RawIscsi host(port());
  ASSERT_EQ(host.log_in(), 0);
  EXPECT_EQ(value_in(host.text_answer, "TargetAlias"), "First disk");
  EXPECT_EQ(open(port(), "a")->info().parameters.target_alias, "First disk");
}

TEST_F(AccessTest, AnAccountOfOneInitiatorIsForItAlone) {
  const SecretFiles files;
  config.targets[0].auth = files.auth();
  config.targets[0].initiators = {initiator_named(host("own")), initiator_named(host("*"))};
  config.targets[0].initiators[0].auth.users = {files.account("owner", "a-secret-of-its-own")};
  start();
  const auto failure_of = [&](const std::string& name, const std::string& user,
                              std::string_view secret) {
    return failure([&] {
      auto options = options_of(name);
      options.secret = Secret(as_bytes(secret));
      Session::open(url_of(port(), kPlain, user), options);
    });
  };
  EXPECT_EQ(failure_of("own", "owner", "a-secret-of-its-own"), "");
  EXPECT_EQ(failure_of("another", "alice", kAliceSecret), "");
  for (const auto& [name, user, secret] : {std::tuple{"own", "alice", kAliceSecret},
                                           std::tuple{"another", "owner", "a-secret-of-its-own"}}) {
    EXPECT_NE(failure_of(name, user, secret).find("authentication failed"), std::string::npos);
  }
}

// --- portal groups ---

TEST_F(AccessTest, ATargetIsFoundInItsPortalGroupsAlone) {
  config.portals.push_back({.host = "127.0.0.1", .port = 0, .tag = 2, .at = {}});
  config.portals.push_back({.host = "127.0.0.1", .port = 0, .tag = 3, .at = {}});
  config.targets[0].portal_groups = {{2, {}}, {3, {}}};
  start();
  EXPECT_EQ(log_in(port(0), host("a")), kNotFound);
  EXPECT_EQ(log_in(port(1), host("a")), 0);
  EXPECT_EQ(log_in(port(2), host("a")), 0);
  const auto records = Session::discover(url_of(port(0), kPlain), options_of("a"));
  ASSERT_EQ(records.size(), 1u);
  const std::string start_of = "127.0.0.1:";
  EXPECT_EQ(records[0].addresses,
            (std::vector<std::string>{start_of + std::to_string(port(1)) + ",2",
                                      start_of + std::to_string(port(2)) + ",3"}));
  const auto in_use = Session::discover(url_of(port(2), kPlain), options_of("a"));
  EXPECT_EQ(in_use.at(0).addresses.at(0), start_of + std::to_string(port(2)) + ",3");
}

// --- views ---

TEST_F(AccessTest, EachInitiatorSeesItsView) {
  auto& list = config.targets[0].initiators;
  list = {initiator_named(host("view")), initiator_named(host("reader")), initiator_named("*")};
  list[0].luns = {{0, 300, false, {}, {}}, {7, 0, true, {}, {}}};
  list[1].read_only = true;
  start();
  EXPECT_EQ(seen_by("anybody"), (Luns{0, 1, 300}));
  EXPECT_EQ(seen_by("view"), (Luns{0, 7}));
  EXPECT_EQ(seen_by("reader"), (Luns{0, 1, 300}));
  std::array<std::byte, 512> data, back{};
  data.fill(std::byte{0x42});
  EXPECT_FALSE(initiator::Lun::open(open(port(), "view"), 0)->write(0, data));
  EXPECT_FALSE(initiator::Lun::open(open(port(), "anybody"), 300)->read(0, back));
  EXPECT_EQ(back, data);
  EXPECT_TRUE(initiator::Lun::open(open(port(), "view"), 7)->write(0, data));
  EXPECT_TRUE(initiator::Lun::open(open(port(), "reader"), 300)->write(0, data));
  EXPECT_FALSE(initiator::Lun::open(open(port(), "anybody"), 0)->write(0, data));
}

TEST_F(AccessTest, SixteenThousandLuns) {
  config.targets[0].luns.clear();
  for (std::uint16_t lun = 0; lun < 16384; ++lun) {
    config.targets[0].luns.push_back(memory(lun));
    config.targets[0].luns.back().kind = config::Lun::Kind::null;
  }
  start();
  for (const Way& way : {kPlain, Way{"rdma", "iser", "wire=rdma-first&"}}) {
    const auto session = open(port(), "a", way);
    const Luns luns = initiator::report_luns(*session);
    ASSERT_EQ(luns.size(), 16384u);
    EXPECT_EQ(luns.back(), 16383);
    std::array<std::byte, 512> data{};
    EXPECT_FALSE(initiator::Lun::open(session, 16383)->read(0, data));
  }
}

// --- reload ---

TEST_F(AccessTest, AReloadAddsAndRemovesLuns) {
  start();
  const auto session = open(port(), "a");
  EXPECT_EQ(initiator::report_luns(*session), (Luns{0, 1, 300}));
  const auto kept = initiator::Lun::open(session, 0);
  const auto leaving = initiator::Lun::open(session, 1);
  config.targets[0].luns = {memory(0), memory(2), memory(300)};
  (*daemon)->reload(config);
  EXPECT_TRUE(eventually([&] { return initiator::report_luns(*session) == Luns{0, 2, 300}; }));
  std::array<std::byte, 512> data{};
  EXPECT_TRUE(leaving->read(0, data)) << "25/00";
  EXPECT_FALSE(kept->read(0, data)) << "the unit attention is not an error to it";
  EXPECT_FALSE(initiator::Lun::open(session, 2)->read(0, data));
  config.targets[0].luns = {memory(0), memory(1)};
  (*daemon)->reload(config);
  EXPECT_TRUE(eventually([&] { return initiator::report_luns(*session) == Luns{0, 1}; }));
  EXPECT_FALSE(initiator::Lun::open(session, 1)->read(0, data));
}

TEST_F(AccessTest, AReloadGrowsFiles) {
  const TemporaryFolder folder;
  config.targets[0].luns.resize(1);
  auto& lun = config.targets[0].luns[0];
  lun.kind = config::Lun::Kind::file;
  lun.path = folder.path("disk");
  start();
  const auto session = open(port(), "a");
  EXPECT_EQ(initiator::Lun::open(session, 0)->properties().blocks, 2048u);
  lun.size = 2 << 20;
  (*daemon)->reload(config);
  EXPECT_TRUE(
      eventually([&] { return initiator::Lun::open(session, 0)->properties().blocks == 4096u; }));
}

TEST_F(AccessTest, AReloadChangesWhoMayLogIn) {
  start();
  RawIscsi stays(port()), goes(port());
  goes.requests.header.isid[5] = std::byte{9};
  ASSERT_EQ(stays.log_in("InitiatorName=iqn.x:a|TargetName=" + std::string(kDisk) + "|"), 0);
  ASSERT_EQ(goes.log_in("InitiatorName=iqn.x:b|TargetName=" + std::string(kDisk) + "|"), 0);
  config.targets[0].initiators = {initiator_named("iqn.x:a")};
  (*daemon)->reload(config);
  const auto message = goes.receive();
  ASSERT_TRUE(message) << "an Async Message: the connection is dropped";
  EXPECT_EQ(message->bhs.opcode(), iscsi::Opcode::async_message);
  EXPECT_TRUE(goes.sees_end());
  goes.close();
  EXPECT_EQ(log_in(port(), "iqn.x:b"), kNotAuthorised);
  EXPECT_TRUE(eventually([&] {
    const auto sessions = (*daemon)->sessions().list();
    return sessions.size() == 1 && sessions[0].nexus.initiator_name == "iqn.x:a";
  }));
}

TEST_F(AccessTest, AReloadTakesATargetAway) {
  config.targets.push_back(config.targets[0]);
  config.targets[1].name = kOther;
  start();
  RawIscsi goes(port());
  ASSERT_EQ(goes.log_in("InitiatorName=iqn.x:a|TargetName=" + std::string(kOther) + "|"), 0);
  config.targets.pop_back();
  (*daemon)->reload(config);
  EXPECT_TRUE(goes.receive());
  EXPECT_TRUE(goes.sees_end());
  EXPECT_EQ(log_in(port(), "iqn.x:a", kOther), kNotFound);
}

TEST_F(AccessTest, AReloadChangesViewsOfSessionsThere) {
  start();
  const auto session = open(port(), "a");
  EXPECT_EQ(initiator::report_luns(*session), (Luns{0, 1, 300}));
  config.targets[0].initiators = {initiator_named(host("*"))};
  config.targets[0].initiators[0].luns = {{5, 300, false, {}, {}}};
  (*daemon)->reload(config);
  EXPECT_TRUE(eventually([&] { return initiator::report_luns(*session) == Luns{5}; }));
}

// --- redirection ---

class RedirectTest : public ::testing::TestWithParam<Way> {
 protected:
  RedirectTest() {
    config.log_level = "off";
    there.emplace(daemon_config());
    config.targets[0].redirect = {.host = "127.0.0.1", .port = there->port(), .at = {}};
  }
  void start() { here.emplace(config); }
  std::size_t sessions(RunningDaemon& daemon) const { return daemon->sessions().list().size(); }
  std::shared_ptr<Session> open_here(std::string user = {}, std::string_view secret = {}) {
    auto options = options_of("a");
    options.secret = Secret(as_bytes(secret));
    return Session::open(url_of(here->port(), GetParam(), user), options);
  }
  void expect_to_work(Session& session) const {
    std::array<std::byte, 64> data{};
    EXPECT_EQ(session.ping(data).size, data.size());
  }

  const QuietLog quiet;
  config::Daemon config = daemon_config();
  std::optional<RunningDaemon> here, there;
};

INSTANTIATE_TEST_SUITE_P(Ways, RedirectTest,
                         ::testing::Values(kPlain,
                                           Way{"stream_first", "iser", "wire=stream-first&"},
                                           Way{"rdma_first", "iser", "wire=rdma-first&"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(RedirectTest, ATargetSendsLoginsOn) {
  for (const bool permanent : {false, true}) {
    config.targets[0].redirect.permanent = permanent;
    start();
    const auto session = open_here();
    expect_to_work(*session);
    EXPECT_EQ(sessions(*here), 0u);
    EXPECT_EQ(sessions(*there), 1u);
  }
}

TEST_P(RedirectTest, APortalSendsLoginsOn) {
  config.targets[0].redirect = {};
  config.portals.push_back({.host = "127.0.0.1", .port = 0, .tag = 1, .at = {}});
  config.portals[0].redirect = {.host = "127.0.0.1", .port = there->port(), .at = {}};
  start();
  expect_to_work(*open_here());
  EXPECT_EQ(log_in((*here)->portals().at(1).port, host("b")), 0) << "another portal does not";
}

TEST_P(RedirectTest, AfterAuthenticationOnly) {
  const SecretFiles files;
  config.targets[0].auth = files.auth();
  config.targets[0].redirect.after_authentication = true;
  there.emplace([&] {
    auto other = daemon_config();
    other.targets[0].auth = files.auth();
    return other;
  }());
  config.targets[0].redirect.port = there->port();
  start();
  EXPECT_NE(failure([&] { open_here(); }).find("authentication failed"), std::string::npos);
  EXPECT_NE(failure([&] { open_here("alice", "not-her-secret"); }).find("authentication failed"),
            std::string::npos);
  expect_to_work(*open_here("alice", kAliceSecret));
}

TEST_P(RedirectTest, AWordWithEachStep) {
  start();
  for (const bool permanent : {false, true}) {
    config.targets[0].redirect.permanent = permanent;
    start();
    RawIscsi host(here->port());
    EXPECT_EQ(host.log_in(), permanent ? 0x0102 : 0x0101);
    EXPECT_EQ(host.text_answer, "TargetAddress=127.0.0.1:" + std::to_string(there->port()) + "|");
    EXPECT_TRUE(host.sees_end());
  }
}

TEST_P(RedirectTest, ACircleIsLeft) {
  config.portals[0].port = 0;
  start();
  // To itself: its port is known only now.
  config.targets[0].redirect.port = here->port();
  (*here)->reload(config);
  ASSERT_TRUE(eventually([&] {
    RawIscsi host(here->port());
    host.log_in();
    return value_in(host.text_answer, "TargetAddress") ==
           "127.0.0.1:" + std::to_string(here->port());
  }));
  const std::string why = failure([&] { open_here(); });
  EXPECT_NE(why.find("moved temporarily"), std::string::npos) << why;
  EXPECT_NE(why.find("the last of 6 in a row"), std::string::npos) << why;
}

TEST_P(RedirectTest, NobodyThereIsAnError) {
  config.targets[0].redirect.port = 1;
  start();
  const std::string why = failure([&] { open_here(); });
  EXPECT_NE(why.find("127.0.0.1:1"), std::string::npos) << why;
}

}  // namespace
}  // namespace openiser::test
