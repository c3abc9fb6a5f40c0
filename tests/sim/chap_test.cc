// CHAP between the whole initiator and the whole target daemon, over every wire: who gets in, who
// does not, and what is said of it.
#include <gtest/gtest.h>

#include <array>
#include <future>
#include <optional>

#include "initiator/lun.h"
#include "initiator/session.h"
#include "tests/support/chap.h"
#include "tests/support/daemon.h"
#include "tests/support/raw_target.h"
#include "tests/support/secret_files.h"

namespace openiser::test {
namespace {

using initiator::Session;
using initiator::SessionError;
using initiator::UsageError;

Secret secret(std::string_view text) {
  return Secret(as_bytes(text));
}

struct Way {
  const char* name;
  const char* scheme;
  const char* keys;
};

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

class ChapTest : public ::testing::TestWithParam<Way> {
 protected:
  ChapTest() {
    auto config = daemon_config();
    config.targets[0].auth = files_.auth();
    config.discovery_auth = files_.auth();
    config.discovery_auth.users = {files_.account("finder", "finds-the-targets")};
    daemon_.emplace(config);
  }

  initiator::Url url(const std::string& user) const {
    return initiator::parse_url(std::string(GetParam().scheme) +
                                "://127.0.0.1:" + std::to_string(daemon_->port()) +
                                "/iqn.2026-11.org.example:disk1/0?" + GetParam().keys +
                                (user.empty() ? "" : "user=" + user));
  }
  static initiator::SessionOptions options(std::string_view own, std::string_view target = {},
                                           std::string target_user = {}) {
    initiator::SessionOptions options;
    options.initiator_name = "iqn.2026-11.org.example:host";
    options.secret = secret(own);
    options.target_secret = secret(target);
    options.target_user = std::move(target_user);
    return options;
  }
  // What is said of the failure; empty if there was none.
  static std::string failure(const initiator::Url& url, initiator::SessionOptions options) {
    try {
      Session::open(url, std::move(options));
      return {};
    } catch (const SessionError& error) {
      return error.what();
    }
  }
  // What is written comes back.
  static void expect_to_work(const initiator::Url& url, initiator::SessionOptions options) {
    const auto lun = initiator::Lun::open(Session::open(url, std::move(options)), 0);
    std::array<std::byte, 4096> out, in{};
    out.fill(std::byte{0xa7});
    EXPECT_FALSE(lun->write(8192, out));
    EXPECT_FALSE(lun->read(8192, in));
    EXPECT_EQ(in, out);
  }

  const QuietLog quiet;
  const SecretFiles files_;
  std::optional<RunningDaemon> daemon_;
};

INSTANTIATE_TEST_SUITE_P(Ways, ChapTest,
                         ::testing::Values(Way{"plain", "iscsi", ""},
                                           Way{"stream_first", "iser", "wire=stream-first&"},
                                           Way{"rdma_first", "iser", "wire=rdma-first&"},
                                           Way{"rfc5046", "iser", "rfc=5046&"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(ChapTest, LetsInWhoKnowsTheSecret) {
  expect_to_work(url("alice"), options(kAliceSecret));
}

TEST_P(ChapTest, ProvesTheTargetToo) {
  expect_to_work(url("alice"), options(kAliceSecret, kStorageSecret));
  expect_to_work(url("alice"), options(kAliceSecret, kStorageSecret, "storage"));
}

TEST_P(ChapTest, KeepsOutWhoDoesNot) {
  for (const auto& [user, own] :
       {std::pair{"alice", "not-her-secret"}, std::pair{"bob", kAliceSecret}, std::pair{"", ""}}) {
    const std::string why = failure(url(user), options(own));
    EXPECT_NE(why.find("authentication failed"), std::string::npos) << why;
    EXPECT_NE(why.find("user"), std::string::npos) << why;
    EXPECT_EQ(why.find(own, 0), *own ? std::string::npos : 0U) << "a secret in a message";
  }
}

TEST_P(ChapTest, LeavesATargetThatCannotProveItself) {
  for (const auto& [secret, name] :
       {std::pair{"what-it-would-be", ""}, std::pair{kStorageSecret, "another"}}) {
    const std::string why = failure(url("alice"), options(kAliceSecret, secret, name));
    EXPECT_NE(why.find("authentication failed"), std::string::npos) << why;
  }
}

TEST_P(ChapTest, GoesOnAfterAFailure) {
  failure(url("alice"), options("not-her-secret"));
  expect_to_work(url("alice"), options(kAliceSecret));
}

TEST_P(ChapTest, LogsInAgainWithTheSameSecret) {
  auto patient = options(kAliceSecret, kStorageSecret);
  patient.recovery_timeout = std::chrono::seconds(30);
  const auto session = Session::open(url("alice"), patient);
  auto config = daemon_config();
  config.portals[0].port = daemon_->port();
  config.targets[0].auth = files_.auth();
  (*daemon_)->drain();
  daemon_.reset();
  daemon_.emplace(config);
  const auto lun = initiator::Lun::open(session, 0);
  std::array<std::byte, 512> block;
  EXPECT_FALSE(lun->read(0, block));
}

TEST_P(ChapTest, GivesUpWhereTheSecretHasChanged) {
  auto patient = options(kAliceSecret);
  patient.recovery_timeout = std::chrono::hours(1);
  const auto session = Session::open(url("alice"), patient);
  const auto lun = initiator::Lun::open(session, 0);
  auto config = daemon_config();
  config.portals[0].port = daemon_->port();
  config.targets[0].auth.users = {files_.account("alice", "another-secret-now")};
  (*daemon_)->drain();
  daemon_.reset();
  daemon_.emplace(config);
  std::array<std::byte, 512> block;
  EXPECT_EQ(lun->read(0, block), iscsi::errc::login_authentication_failed);
}

TEST(ChapDiscovery, HasASettingOfItsOwn) {
  const QuietLog quiet;
  const SecretFiles files;
  auto config = daemon_config();
  config.targets[0].auth = files.auth();
  config.discovery_auth.users = {files.account("finder", "finds-the-targets")};
  RunningDaemon daemon(config);
  const std::string portal = "://127.0.0.1:" + std::to_string(daemon.port());
  initiator::SessionOptions options;
  for (const std::string& url :
       {"iscsi" + portal + "?user=finder", "iser" + portal + "?wire=rdma-first&user=finder"}) {
    options.secret = secret("finds-the-targets");
    EXPECT_EQ(Session::discover(initiator::parse_portal(url), options).size(), 1U) << url;
    options.secret = secret(kAliceSecret);
    EXPECT_THROW(Session::discover(initiator::parse_portal(url), options), SessionError) << url;
  }
  EXPECT_THROW(
      Session::discover(initiator::parse_portal("iscsi" + portal + "?user=alice"), options),
      SessionError)
      << "a user of the target is none of discovery";
  EXPECT_THROW(Session::discover(initiator::parse_portal("iscsi" + portal)), SessionError);
}

// The target's own setting says nothing about discovery, and the other way round.
TEST(ChapDiscovery, IsOpenWhereOnlyTheTargetIsClosed) {
  const QuietLog quiet;
  const SecretFiles files;
  auto config = daemon_config();
  config.targets[0].auth = files.auth();
  RunningDaemon closed(config);
  EXPECT_EQ(Session::discover(initiator::parse_portal("127.0.0.1:" + std::to_string(closed.port())))
                .size(),
            1U);
  config = daemon_config();
  config.discovery_auth = files.auth();
  RunningDaemon open(config);
  const std::string portal = "127.0.0.1:" + std::to_string(open.port());
  EXPECT_THROW(Session::discover(initiator::parse_portal(portal)), SessionError);
  EXPECT_NO_THROW(Session::open(
      initiator::parse_url("iscsi://" + portal + "/iqn.2026-11.org.example:disk1/0")));
}

// tgt, which takes 7 for SHA-1, calls the response of SHA-256 an error of the initiator's.
class MistakenTarget {
 public:
  // Takes one login; true if it was let in. `offers` is what CHAP_A said.
  bool serve(std::string& offers) {
    EXPECT_TRUE(target_.accept_connection());
    Authority authority;
    authority.verdict.chap = chap_settings(false);
    iscsi::Preferences preferences;
    preferences.rdma_extensions = true;
    iscsi::TargetLogin login(preferences, authority, true, kStart);
    while (const auto message = target_.peer().receive()) {
      const std::string text = with_bars(message->pdu.data.bytes());
      if (text.find("CHAP_A=") != std::string::npos) offers = value_in(text, "CHAP_A");
      auto step = login.receive(message->pdu, kStart);
      if (offers != "5" && text.find("CHAP_R=") != std::string::npos) {
        iscsi::LoginResponse refusal;
        refusal.status_class = 2;
        refusal.isid = iscsi::decode<iscsi::LoginRequest>(message->pdu.bhs)->isid;
        EXPECT_TRUE(target_.peer().send(refusal));
        return false;
      }
      if (step.outcome == Outcome::authorize) step = login.grant(0x77, 32);
      EXPECT_TRUE(target_.peer().send(*step.send));
      if (step.outcome == Outcome::succeeded) return true;
    }
    return false;
  }
  std::uint16_t port() const { return target_.port(); }
  void end() { target_.peer().socket.close(); }

 private:
  RawTarget target_;
};

TEST(ChapDigests, AreLessWhereTheTargetMistakesThem) {
  const QuietLog quiet;
  MistakenTarget target;
  auto opened = std::async(std::launch::async, [&] {
    initiator::SessionOptions options;
    options.secret = secret("alice-has-a-secret");
    return Session::open(initiator::parse_url("iser://127.0.0.1:" + std::to_string(target.port()) +
                                              "/" + kTargetName + "/0?wire=rdma-first&user=alice"),
                         options);
  });
  std::string offers;
  EXPECT_FALSE(target.serve(offers));
  EXPECT_EQ(offers, "8,7,6,5");
  offers.clear();
  EXPECT_TRUE(target.serve(offers));
  EXPECT_EQ(offers, "5");
  const auto session = opened.get();
  target.end();
}

TEST(ChapOptions, GoTogether) {
  const auto url = [](const char* user) {
    return initiator::parse_url(std::string("iscsi://127.0.0.1:1/iqn.2026-11.org.example:a/0") +
                                user);
  };
  const auto refused = [&](const char* user, std::string_view own, std::string_view target = {}) {
    initiator::SessionOptions options;
    options.secret = secret(own);
    options.target_secret = secret(target);
    EXPECT_THROW(Session::open(url(user), options), UsageError) << user << own << target;
  };
  refused("?user=alice", "");
  refused("?user=alice", "eleven-byte");
  refused("?user=alice", "twelve-bytes", "short");
  refused("?user=alice", "twelve-bytes", "twelve-bytes");
  refused("", "twelve-bytes");
  refused("", "", "twelve-bytes");
  EXPECT_THROW(Session::discover(initiator::parse_portal("iscsi://127.0.0.1:1?user=alice")),
               UsageError);
}

TEST(ChapReload, TakesNewUsersAndSecrets) {
  const QuietLog quiet;
  const SecretFiles files;
  RunningDaemon daemon;
  const std::string text =
      "iscsi://127.0.0.1:" + std::to_string(daemon.port()) + "/iqn.2026-11.org.example:disk1/0";
  const auto open = [&](const std::string& keys, std::string_view own) {
    initiator::SessionOptions options;
    options.secret = secret(own);
    try {
      Session::open(initiator::parse_url(text + keys), options);
      return true;
    } catch (const SessionError&) {
      return false;
    }
  };
  const auto reload = [&](const config::Auth& auth) {
    auto next = daemon_config();
    next.targets[0].auth = auth;
    daemon->reload(next);
    std::promise<void> done;
    daemon->loop().post([&] { done.set_value(); });
    done.get_future().wait();
  };
  EXPECT_TRUE(open("", ""));
  reload(files.auth());
  EXPECT_FALSE(open("", ""));
  EXPECT_TRUE(open("?user=alice", kAliceSecret));
  config::Auth broken = files.auth();
  broken.users[0].secret_file = files.write("open.secret", "everybody-reads-it", 0644);
  reload(broken);
  EXPECT_TRUE(open("?user=alice", kAliceSecret)) << "as before";
  EXPECT_FALSE(open("", ""));
}

}  // namespace
}  // namespace openiser::test
