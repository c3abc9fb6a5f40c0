// What only RDMA devices have: connections that are set up by a connection manager, memory of a
// pool that is registered by the slab, links that are cut. For the address in
// OPENISER_VERBS_ADDRESS.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "rdmap/errors.h"
#include "rdmap/tcp/event_loop.h"
#include "rdmap/verbs/verbs.h"
#include "tests/support/rcap_client.h"

namespace openiser::conformance {
namespace {

using rdmap::errc;
using rdmap::VerbsQueuePair;
using test::noise;
using Kind = rdmap::Completion::Kind;
using Made = Result<std::unique_ptr<VerbsQueuePair>>;

std::vector<std::string> addresses() {
  const char* const address = std::getenv("OPENISER_VERBS_ADDRESS");
  return address ? std::vector<std::string>{address} : std::vector<std::string>{};
}

// An end of a connection with its client.
struct End {
  void take(Made made) {
    ASSERT_TRUE(made) << (made ? "" : made.error().message());
    pair = std::move(*made);
    client.emplace(*pair);
  }
  bool ended() const { return client && client->why(); }

  std::unique_ptr<VerbsQueuePair> pair;
  std::optional<test::RecordingClient> client;
};

class VerbsDevice : public ::testing::TestWithParam<std::string> {
 protected:
  ~VerbsDevice() override { connect_.reset(); }

  std::unique_ptr<rdmap::VerbsListener> listen(std::function<void(rdmap::VerbsRequest)> requested) {
    auto made = rdmap::VerbsListener::open(loop_, GetParam(), 0, std::move(requested));
    EXPECT_TRUE(made) << (made ? "" : made.error().message());
    return made ? std::move(*made) : nullptr;
  }
  void connect(std::uint16_t port) {
    connect_ = std::make_unique<rdmap::VerbsConnect>(
        loop_, pool_, GetParam(), port, rdmap::VerbsSettings(),
        [this](Made made) { a_.take(std::move(made)); });
  }
  void join() {
    listener_ =
        listen([this](rdmap::VerbsRequest request) { b_.take(request.accept(loop_, pool_, {})); });
    connect(listener_->port());
    run_until([&] { return a_.client && a_.client->how() && b_.client && b_.client->how(); });
  }
  // Fails if it takes far too long.
  template <class Done>
  void run_until(Done done) {
    bool late = false;
    rdmap::Timer guard(loop_, [&] { late = true, loop_.stop(); });
    guard.set(loop_.now() + std::chrono::seconds(60));
    while (!done() && !late) {
      rdmap::Timer look(loop_, [&] { loop_.stop(); });
      look.set(loop_.now() + std::chrono::milliseconds(5));
      loop_.run();
    }
    ASSERT_TRUE(done());
  }
  Buffer pooled(Bytes bytes) {
    Buffer buffer = pool_.take(bytes.size());
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    return buffer;
  }

  BufferPool pool_;
  rdmap::EventLoop loop_;
  End a_;
  End b_;
  std::unique_ptr<rdmap::VerbsListener> listener_;
  std::unique_ptr<rdmap::VerbsConnect> connect_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(VerbsDevice);
INSTANTIATE_TEST_SUITE_P(, VerbsDevice, ::testing::ValuesIn(addresses()),
                         [](const auto&) { return "Verbs"; });

TEST_P(VerbsDevice, IsFoundByItsAddress) {
  EXPECT_TRUE(rdmap::verbs_built());
  EXPECT_TRUE(rdmap::verbs_device_carries(GetParam()));
  for (const char* any : {"", "0.0.0.0", "::", "[::]"})
    EXPECT_TRUE(rdmap::verbs_device_carries(any)) << any;
  EXPECT_FALSE(rdmap::verbs_device_carries("192.0.2.77"));
}

TEST_P(VerbsDevice, TellsBothAddresses) {
  join();
  EXPECT_EQ(a_.pair->peer_address(), listener_->address());
  EXPECT_EQ(b_.pair->local_address(), listener_->address());
  EXPECT_EQ(a_.pair->local_address(), b_.pair->peer_address());
}

TEST_P(VerbsDevice, MemoryOfThePoolGoesBothWays) {
  join();
  for (const std::size_t size : {100, 5000, 70'000, 300'000}) {
    const auto data = noise(size);
    b_.pair->post_receive(pool_.take(size), 1);
    Buffer sink = pooled(noise(size, 2));
    auto region = b_.pair->register_memory(sink.bytes(), rdmap::Access::remote_read_write);
    ASSERT_TRUE(region);
    const rdmap::RemoteMemory there{region->stag(), region->base_offset()};
    a_.client->completions.clear();
    b_.client->completions.clear();
    a_.pair->post_write({.id = 1, .data = pooled(data), .sink = there});
    a_.pair->post_read({.id = 2, .sink = pool_.take(size), .source = there});
    a_.pair->post_send({.id = 3,
                        .head = pooled(Bytes(data).first(50)),
                        .body = pooled(Bytes(data).subspan(50)),
                        .invalidate = {}});
    a_.pair->flush();
    run_until(
        [&] { return a_.client->completions.size() == 3 && b_.client->completions.size() == 1; });
    EXPECT_TRUE(std::ranges::equal(sink.bytes(), data)) << size;
    EXPECT_TRUE(std::ranges::equal(a_.client->at(Kind::read, 0).buffer.bytes(), data)) << size;
    EXPECT_TRUE(std::ranges::equal(b_.client->at(Kind::receive, 0).buffer.bytes(), data)) << size;
  }
}

// What a region opens of a slab is the region.
TEST_P(VerbsDevice, TheRestOfASlabIsOutOfReach) {
  join();
  Buffer one = pooled(noise(256)), next = pooled(noise(256, 3));
  auto region = b_.pair->register_memory(one.bytes(), rdmap::Access::remote_write);
  ASSERT_TRUE(region);
  const auto distance = static_cast<std::uint64_t>(next.data() - one.data());
  a_.pair->post_write({.id = 1,
                       .data = pooled(noise(256, 9)),
                       .sink = {region->stag(), region->base_offset() + distance}});
  a_.pair->flush();
  run_until([&] { return a_.ended() && b_.ended(); });
  EXPECT_TRUE(std::ranges::equal(next.bytes(), noise(256, 3)));
}

TEST_P(VerbsDevice, RefusesWhereNobodyListens) {
  const std::uint16_t port = listen([](rdmap::VerbsRequest) {})->port();
  connect(port);
  run_until([&] { return a_.ended(); });
  EXPECT_TRUE(*a_.client->why() == boost::system::errc::connection_refused);
  EXPECT_FALSE(a_.client->how());
}

TEST_P(VerbsDevice, ARequestThatIsDroppedIsRejected) {
  listener_ = listen([](rdmap::VerbsRequest) {});
  connect(listener_->port());
  run_until([&] { return a_.ended(); });
  EXPECT_TRUE(*a_.client->why() == errc::rejected ||
              *a_.client->why() == boost::system::errc::connection_refused)
      << a_.client->why()->message();
}

TEST_P(VerbsDevice, AConnectThatIsGivenUpIsNotHeardOf) {
  listener_ = listen([](rdmap::VerbsRequest) {});
  bool heard = false;
  for (int n = 0; n < 3; ++n) {
    rdmap::VerbsConnect given_up(loop_, pool_, GetParam(), listener_->port(), {},
                                 [&](Made) { heard = true; });
  }
  bool passed = false;
  loop_.post([&] { passed = true; });
  run_until([&] { return passed; });
  EXPECT_FALSE(heard);
}

// The listener's loop hears of the connection, another has it.
TEST_P(VerbsDevice, ARequestMayMoveToAnotherThread) {
  rdmap::EventLoop other;
  std::optional<BufferPool> pool;
  bool echoed = false;
  std::thread thread([&] {
    pool.emplace();
    other.run();
  });
  End far;
  listener_ = listen([&](rdmap::VerbsRequest request) {
    auto moved = std::make_shared<rdmap::VerbsRequest>(std::move(request));
    other.post([&, moved] {
      far.take(moved->accept(other, *pool, {}));
      far.pair->post_receive(pool->take(100), 1);
      far.client->on_completions = [&] {
        if (far.client->count(Kind::receive) == 0 || std::exchange(echoed, true)) return;
        far.pair->post_send({.id = 2, .head = pool->take(100), .body = {}, .invalidate = {}});
        far.pair->flush();
      };
    });
  });
  connect(listener_->port());
  run_until([&] { return a_.client && a_.client->how(); });
  a_.pair->post_receive(pool_.take(100), 1);
  a_.pair->post_send({.id = 2, .head = pooled(noise(100)), .body = {}, .invalidate = {}});
  a_.pair->flush();
  run_until([&] { return a_.client->count(Kind::receive) == 1; });
  a_.pair->disconnect();
  run_until([&] { return a_.ended(); });
  other.post([&] {
    far.client.reset();
    far.pair->set_client(nullptr);
    far.pair.reset();
    other.stop();
  });
  thread.join();
  EXPECT_TRUE(echoed);
}

// By the command in OPENISER_VERBS_CUT; the last thing that can be done with the link.
TEST_P(VerbsDevice, AConnectionWhoseLinkGoesEnds) {
  const char* const cut = std::getenv("OPENISER_VERBS_CUT");
  if (!cut) GTEST_SKIP() << "OPENISER_VERBS_CUT does not say how to cut the link";
  join();
  test::CountingOwner leases;
  std::vector<std::byte> memory(1000);
  auto region = b_.pair->register_memory(memory, rdmap::Access::remote_read_write);
  ASSERT_TRUE(region);
  b_.pair->post_receive(leases.lease(100), 1);
  a_.pair->post_receive(leases.lease(100'000), 1);
  ASSERT_EQ(std::system(cut), 0);
  for (End* end : {&a_, &b_}) {
    end->pair->post_send({.id = 2, .head = leases.lease(50), .body = {}, .invalidate = {}});
    end->pair->flush();
  }
  run_until([&] { return a_.ended() && b_.ended(); });
  EXPECT_TRUE(*a_.client->why() || *b_.client->why());
  a_.client->completions.clear();
  b_.client->completions.clear();
  EXPECT_EQ(leases.out, 0);
}

}  // namespace
}  // namespace openiser::conformance
