#include <netinet/tcp.h>
#include <sys/resource.h>

#include "base/log.h"
#include "rdmap/tcp/address.h"
#include "tests/support/tcp.h"

namespace openiser::rdmap {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::run_until;

class ListenConnectTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Listener>> open(const std::string& host, std::uint16_t port = 0) {
    return Listener::open(loop, host, port,
                          [this](Socket socket) { accepted.push_back(std::move(socket)); });
  }
  std::unique_ptr<Connect> connect(const std::string& host, std::uint16_t port,
                                   Duration timeout = seconds(10)) {
    return std::make_unique<Connect>(
        loop, host, port, timeout, [this](Result<Socket> socket) { outcome = std::move(socket); });
  }
  bool connected() {
    return run_until(loop, [this] { return outcome && !accepted.empty(); });
  }

  EventLoop loop;
  std::vector<Socket> accepted;
  std::optional<Result<Socket>> outcome;
};

TEST_F(ListenConnectTest, ConnectsOverIpv4) {
  const auto listener = open("127.0.0.1");
  ASSERT_TRUE(listener);
  const auto connecting = connect("127.0.0.1", (*listener)->port());
  ASSERT_TRUE(connected());
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((*outcome)->peer_address(), (*listener)->address());
  EXPECT_EQ(accepted[0].peer_address(), (*outcome)->local_address());
}

TEST_F(ListenConnectTest, ConnectsOverIpv6) {
  const auto listener = open("::1");
  if (!listener) GTEST_SKIP() << "no IPv6 here: " << listener.error().message();
  const auto connecting = connect("[::1]", (*listener)->port());
  ASSERT_TRUE(connected());
  EXPECT_EQ((*outcome)->peer_address(), "[::1]:" + std::to_string((*listener)->port()));
}

TEST_F(ListenConnectTest, LooksNamesUpAndTriesEachAddress) {
  // "localhost" may be ::1 first, where nobody listens.
  const auto listener = open("127.0.0.1");
  ASSERT_TRUE(listener);
  const auto connecting = connect("localhost", (*listener)->port());
  ASSERT_TRUE(connected());
  ASSERT_TRUE(*outcome) << outcome->error().message();
}

TEST_F(ListenConnectTest, AnEmptyHostListensEverywhere) {
  const auto listener = open("");
  ASSERT_TRUE(listener);
  const auto connecting = connect("127.0.0.1", (*listener)->port());
  ASSERT_TRUE(connected());
  // A peer that came by IPv4 looks like one, whatever the family of the listening socket.
  EXPECT_EQ(accepted[0].local_address(), "127.0.0.1:" + std::to_string((*listener)->port()));
}

TEST_F(ListenConnectTest, SocketsAreNonBlockingWithoutDelay) {
  const auto listener = open("127.0.0.1");
  ASSERT_TRUE(listener);
  const auto connecting = connect("127.0.0.1", (*listener)->port());
  ASSERT_TRUE(connected());
  for (const Socket* socket : {&accepted[0], &**outcome}) {
    int no_delay = 0;
    socklen_t size = sizeof no_delay;
    getsockopt(socket->fd(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &size);
    EXPECT_NE(no_delay, 0);
    EXPECT_NE(fcntl(socket->fd(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_GE(socket->emss(), 536u);
  }
}

TEST_F(ListenConnectTest, APortInUseIsAnError) {
  const auto first = open("127.0.0.1");
  ASSERT_TRUE(first);
  const auto second = open("127.0.0.1", (*first)->port());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(), boost::system::errc::address_in_use);
}

TEST_F(ListenConnectTest, AForeignAddressIsAnError) {
  const auto listener = open("192.0.2.1");
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error(), boost::system::errc::address_not_available);
}

TEST_F(ListenConnectTest, ANonsenseHostIsAResolverError) {
  const auto listener = open("not an address");
  ASSERT_FALSE(listener);
  EXPECT_STREQ(listener.error().category().name(), "resolver");
  EXPECT_FALSE(listener.error().message().empty());
}

TEST_F(ListenConnectTest, ConnectingWhereNobodyListensIsRefused) {
  std::uint16_t port = 0;
  {
    const auto listener = open("127.0.0.1");
    ASSERT_TRUE(listener);
    port = (*listener)->port();
  }
  const auto connecting = connect("127.0.0.1", port);
  EXPECT_FALSE(outcome) << "done() was called from inside the constructor";
  ASSERT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error(), boost::system::errc::connection_refused);
}

// A listening socket whose backlog is full drops the SYN of whoever comes next.
TEST_F(ListenConnectTest, ConnectingTimesOut) {
  const Socket full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(full.fd(), generic, size), 0);
  ASSERT_EQ(listen(full.fd(), 0), 0);
  ASSERT_EQ(getsockname(full.fd(), generic, &size), 0);
  std::vector<Socket> fillers;
  for (int i = 0; i < 4; ++i) {
    fillers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(fillers.back().fd(), generic, size);
  }
  const Time start = loop.now();
  const auto connecting = connect("127.0.0.1", ntohs(address.sin_port), milliseconds(100));
  ASSERT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error(), boost::system::errc::timed_out);
  EXPECT_GE(loop.now() - start, milliseconds(100));
}

TEST_F(ListenConnectTest, ADestroyedConnectIsSilent) {
  const auto listener = open("127.0.0.1");
  ASSERT_TRUE(listener);
  connect("127.0.0.1", (*listener)->port()).reset();  // before it began
  auto connecting = connect("localhost", (*listener)->port());
  bool begun = false;
  loop.post([&] {
    connecting.reset();  // while it looks the name up
    begun = true;
  });
  EXPECT_TRUE(run_until(loop, [&] { return begun; }));
  const auto last = connect("127.0.0.1", (*listener)->port());
  EXPECT_TRUE(connected());
  EXPECT_EQ(accepted.size(), 1u);
}

TEST_F(ListenConnectTest, ConnectMayBeDestroyedInDone) {
  const auto listener = open("127.0.0.1");
  ASSERT_TRUE(listener);
  std::unique_ptr<Connect> connecting;
  bool done = false;
  connecting = std::make_unique<Connect>(loop, "127.0.0.1", (*listener)->port(), seconds(10),
                                         [&](Result<Socket> socket) {
                                           EXPECT_TRUE(socket);
                                           connecting.reset();
                                           done = true;
                                         });
  EXPECT_TRUE(run_until(loop, [&] { return done; }));
}

TEST_F(ListenConnectTest, TheListenerMayBeDestroyedInAccepted) {
  std::unique_ptr<Listener> listener;
  bool done = false;
  auto opened = Listener::open(loop, "127.0.0.1", 0, [&](Socket) {
    listener.reset();
    done = true;
  });
  ASSERT_TRUE(opened);
  listener = std::move(*opened);
  const auto connecting = connect("127.0.0.1", listener->port());
  EXPECT_TRUE(run_until(loop, [&] { return done; }));
}

TEST_F(ListenConnectTest, SurvivesRunningOutOfDescriptors) {
  const auto listener = open("127.0.0.1");
  ASSERT_TRUE(listener);
  {
    // The sanitizer's first look at a type needs descriptors of its own: let it see them all now.
    const auto earlier = connect("127.0.0.1", (*listener)->port());
    bool later = false;
    Timer soon(loop, [&] { later = true; });
    soon.set(loop.now());
    ASSERT_TRUE(run_until(loop, [&] { return later && outcome && !accepted.empty(); }));
    accepted.clear();
    outcome.reset();
  }
  const auto connecting = connect("127.0.0.1", (*listener)->port());
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  // The sanitizer's look at the logger's type needs descriptors of its own.
  const auto usual_level = log::level();
  log::set_level(log::Level::off);
  bool tried = false;
  Timer wait(loop, [&] { tried = true; });
  loop.post([&] {
    // The connecting end has its descriptor by now; there is none for the accepted one.
    const Socket lowest_free(dup(0));
    const rlimit none{.rlim_cur = static_cast<rlim_t>(lowest_free.fd()),
                      .rlim_max = usual.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    wait.set(loop.now() + milliseconds(50));
  });
  const bool waited = run_until(loop, [&] { return tried && outcome; });
  setrlimit(RLIMIT_NOFILE, &usual);
  log::set_level(usual_level);
  ASSERT_TRUE(waited);
  EXPECT_TRUE(accepted.empty());
  EXPECT_TRUE(connected());
}

TEST(Address, TextOfEveryFamily) {
  const auto text = [](const char* host) {
    return look_up(host, 3260, Lookup::numeric).value().front().text();
  };
  EXPECT_EQ(text("127.0.0.1"), "127.0.0.1:3260");
  EXPECT_EQ(text("fe80::1"), "[fe80::1]:3260");
  EXPECT_EQ(text("[::1]"), "[::1]:3260");
  EXPECT_EQ(text("::ffff:10.0.0.1"), "10.0.0.1:3260");
}

TEST(Address, NumericLookUpNeverResolves) {
  EXPECT_FALSE(look_up("localhost", 1, Lookup::numeric));
}

TEST(Address, KnowsWhetherItIsAWildcard) {
  const auto wildcard = [](const char* host) {
    return look_up(host, 1, Lookup::numeric).value().front().is_wildcard();
  };
  for (const char* any : {"0.0.0.0", "::", "[::]"}) EXPECT_TRUE(wildcard(any)) << any;
  for (const char* one : {"127.0.0.1", "192.0.2.0", "::1", "::ffff:0.0.0.0"})
    EXPECT_FALSE(wildcard(one)) << one;
  EXPECT_FALSE(SocketAddress().is_wildcard());
}

TEST(Address, IsCopiedWithAnotherPort) {
  for (const char* host : {"192.0.2.1", "2001:db8::1"}) {
    const SocketAddress there = look_up(host, 3260, Lookup::numeric).value().front();
    EXPECT_EQ(SocketAddress::copy_of(*there.get()).text(), there.text());
    EXPECT_EQ(SocketAddress::copy_of(*there.get()).size, there.size);
    EXPECT_EQ(there.with_port(0).port(), 0);
    EXPECT_EQ(there.with_port(65535).text(),
              look_up(host, 65535, Lookup::numeric).value().front().text());
    EXPECT_EQ(there.port(), 3260);
  }
}

TEST(SocketTest, MovesAndCloses) {
  auto [first, second] = test::connected_pair();
  const int fd = first.fd();
  Socket moved(std::move(first));
  EXPECT_EQ(moved.fd(), fd);
  moved = Socket();
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  EXPECT_EQ(Socket().peer_address(), "unknown");
}

}  // namespace
}  // namespace openiser::rdmap
