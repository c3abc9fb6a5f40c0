// Tests in which a peer of the daemon misbehaves. However it does, a second connection goes on as
// if nothing were, and the daemon still takes logins: every test of this fixture ends with both.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "tests/support/bystander.h"
#include "tests/support/daemon.h"
#include "tests/support/raw_iser.h"

namespace openiser::test {

class HostileFixture {
 protected:
  // Starts the daemon, and the other connection.
  void serve(config::Daemon config = daemon_config()) {
    const std::string target = config.targets.at(0).name;
    daemon_.emplace(std::move(config));
    bystander_.emplace(daemon_->port(), target);
  }
  // Logins that do not come to an end are broken off after two seconds.
  void serve_impatiently() {
    auto config = daemon_config();
    config.limits.login_timeout = 2;
    serve(std::move(config));
  }
  std::uint16_t port() const { return daemon_->port(); }

  // What is true behind every misdeed.
  void expect_no_harm() {
    bystander_->more_rounds(2);
    RawIscsi next(port());
    next.requests.header.isid[5] = std::byte{0xee};
    EXPECT_EQ(next.log_in(), 0);
    next.close();
    // Nothing is left of those who have gone: the other connection alone.
    EXPECT_TRUE(eventually([&] { return (*daemon_)->sessions().list().size() == 1; }));
    bystander_.reset();
    daemon_.reset();
  }

  const QuietLog quiet;
  std::optional<RunningDaemon> daemon_;
  std::optional<Bystander> bystander_;
};

class HostileTest : public ::testing::Test, protected HostileFixture {
 protected:
  void TearDown() override { expect_no_harm(); }
};

template <class Case>
class HostileCaseTest : public ::testing::TestWithParam<Case>, protected HostileFixture {
 protected:
  void TearDown() override { expect_no_harm(); }
};

}  // namespace openiser::test
