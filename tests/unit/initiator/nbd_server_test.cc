// The NBD server over a socket pair, in place of the kernel, on a device in memory.
#include "initiator/mount/nbd_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <deque>
#include <random>
#include <thread>

#include "tests/support/memory_device.h"

namespace openiser::initiator::nbd {
namespace {

using test::MemoryDevice;

std::array<Descriptor, 2> socket_pair() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A device that keeps what it is asked for until told to do it, in any order.
class SlowDevice final : public BlockDevice {
 public:
  explicit SlowDevice(MemoryDevice& memory) : memory_(memory) {}
  const BlockDeviceProperties& properties() const override { return memory_.properties(); }
  void read(std::uint64_t offset, MutableBytes data, Done done) override {
    keep([this, offset, data, done] { memory_.read(offset, data, done); });
  }
  void write(std::uint64_t offset, Bytes data, bool fua, Done done) override {
    keep([this, offset, data, fua, done] { memory_.write(offset, data, fua, done); });
  }
  void flush(Done done) override {
    keep([this, done] { memory_.flush(done); });
  }
  void unmap(std::uint64_t offset, std::uint64_t length, Done done) override {
    keep([this, offset, length, done] { memory_.unmap(offset, length, done); });
  }
  void write_zeroes(std::uint64_t offset, std::uint64_t length, bool gone, Done done) override {
    keep([this, offset, length, gone, done] { memory_.write_zeroes(offset, length, gone, done); });
  }

  void wait_for(std::size_t n) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return kept_.size() >= n; });
  }
  void do_last() {
    std::unique_lock lock(mutex_);
    const auto work = std::move(kept_.back());
    kept_.pop_back();
    lock.unlock();
    work();
  }

 private:
  void keep(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(work));
    more_.notify_one();
  }
  MemoryDevice& memory_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> kept_;
};

// The client's end, and a server on a thread.
class Client {
 public:
  explicit Client(BlockDevice& device, bool read_only = false)
      : Client(device, read_only, socket_pair()) {}
  ~Client() {
    hang_up();
    thread_.join();
  }

  void send(Command command, std::uint64_t cookie, std::uint64_t offset, std::uint32_t length,
            std::uint16_t flags = 0, Bytes data = {}) {
    std::vector<std::byte> bytes(kRequestSize + data.size());
    ByteWriter out{MutableBytes(bytes)};
    out.be32(0x25609513), out.be16(flags), out.be16(static_cast<std::uint16_t>(command));
    out.be64(cookie), out.be64(offset), out.be32(length), out.bytes(data);
    ASSERT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  std::vector<std::byte> receive(std::size_t n) {
    std::vector<std::byte> bytes(n);
    if (n > 0) {
      EXPECT_EQ(recv(socket_.get(), bytes.data(), n, MSG_WAITALL), static_cast<ssize_t>(n));
    }
    return bytes;
  }
  struct Reply {
    std::uint32_t error = 0;
    std::uint64_t cookie = 0;
  };
  Reply reply() {
    const auto bytes = receive(kReplySize);
    EXPECT_EQ(load_be32(bytes.data()), 0x67446698u);
    return {load_be32(&bytes[4]), load_be64(&bytes[8])};
  }
  // One request and its reply's error.
  std::uint32_t ask(Command command, std::uint64_t offset, std::uint32_t length,
                    std::uint16_t flags = 0, Bytes data = {}) {
    send(command, ++cookie_, offset, length, flags, data);
    const Reply got = reply();
    EXPECT_EQ(got.cookie, cookie_);
    return got.error;
  }
  bool at_end() {
    std::byte byte{};
    return recv(socket_.get(), &byte, 1, 0) == 0;
  }
  void hang_up() { shutdown(socket_.get(), SHUT_WR); }
  Server& server() { return server_; }

 private:
  Client(BlockDevice& device, bool read_only, std::array<Descriptor, 2> ends)
      : socket_(std::move(ends[0])),
        server_(device, read_only, std::move(ends[1])),
        thread_([this] { server_.run(); }) {}

  const Descriptor socket_;
  std::uint64_t cookie_ = 0;
  Server server_;
  std::thread thread_;
};

std::vector<std::byte> noise(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(n);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

class NbdServer : public ::testing::Test {
 protected:
  NbdServer() : device(64, 4096) {
    device.change().write_cache = device.change().force_unit_access = true;
    device.change().unmap = true;
  }
  MemoryDevice device;
};

TEST_F(NbdServer, MatchesAModelUnderRandomRequests) {
  Client client(device);
  std::vector<std::byte> model(device.bytes().size());
  std::mt19937 random(1);
  for (unsigned i = 0; i < 1000; ++i) {
    // Sectors, as the kernel sends them where a block is larger than its pages.
    const std::uint64_t sector = random() % 500;
    const std::uint64_t offset = sector * 512;
    const auto sectors = 1 + random() % std::min(40ul, 512 - sector);
    const auto length = static_cast<std::uint32_t>(sectors * 512);
    const auto at = model.begin() + static_cast<std::ptrdiff_t>(offset);
    if (i % 3 == 0) {
      const auto data = noise(length, i);
      ASSERT_EQ(client.ask(Command::write, offset, length, 0, data), 0u);
      std::ranges::copy(data, at);
    } else if (i % 3 == 1) {
      ASSERT_EQ(client.ask(Command::read, offset, length), 0u);
      ASSERT_TRUE(std::ranges::equal(client.receive(length), std::span(&*at, length))) << i;
    } else {
      ASSERT_EQ(client.ask(Command::write_zeroes, offset, length), 0u);
      std::fill_n(at, length, std::byte{0});
    }
  }
  EXPECT_EQ(device.bytes(), model);
}

TEST_F(NbdServer, AnswersInTheOrderOfCompletion) {
  SlowDevice slow(device);
  Client client(slow);
  const auto data = noise(3 * 4096, 2);
  std::ranges::copy(data, device.bytes().begin());
  for (std::uint64_t i = 0; i < 3; ++i) client.send(Command::read, i, i * 4096, 4096);
  slow.wait_for(3);
  for (int i = 2; i >= 0; --i) {
    slow.do_last();
    const auto reply = client.reply();
    EXPECT_EQ(reply.error, 0u);
    EXPECT_EQ(reply.cookie, static_cast<std::uint64_t>(i));
    EXPECT_TRUE(std::ranges::equal(client.receive(4096),
                                   Bytes(data).subspan(static_cast<std::size_t>(i) * 4096, 4096)));
  }
}

TEST_F(NbdServer, FlushesAndForces) {
  Client client(device);
  const auto data = noise(4096, 3);
  EXPECT_EQ(client.ask(Command::write, 0, 4096, 0, data), 0u);
  EXPECT_EQ(device.forced, 0);
  EXPECT_EQ(client.ask(Command::write, 0, 4096, kForceUnitAccess, data), 0u);
  EXPECT_EQ(device.forced, 1);
  EXPECT_EQ(device.flushes, 0);
  EXPECT_EQ(client.ask(Command::flush, 0, 0), 0u);
  EXPECT_EQ(device.flushes, 1);
}

TEST_F(NbdServer, FlushesWhereADeviceCannotForce) {
  device.change().force_unit_access = false;
  Client client(device);
  EXPECT_EQ(client.ask(Command::write, 0, 4096, kForceUnitAccess, noise(4096, 4)), 0u);
  EXPECT_EQ(device.forced, 0);
  EXPECT_EQ(device.flushes, 1);
  EXPECT_EQ(client.ask(Command::write_zeroes, 0, 4096, kForceUnitAccess), 0u);
  EXPECT_EQ(device.flushes, 2);
  EXPECT_EQ(client.ask(Command::trim, 0, 4096, kForceUnitAccess), 0u);
  EXPECT_EQ(device.flushes, 3);
  device.fail_at = 0;
  EXPECT_EQ(client.ask(Command::write, 0, 4096, kForceUnitAccess, noise(4096, 4)), EIO);
  EXPECT_EQ(device.flushes, 3);
}

TEST_F(NbdServer, TrimsWholeBlocksAndZeroesAll) {
  Client client(device);
  EXPECT_EQ(client.ask(Command::trim, 512, 4096), 0u);  // holds no whole block
  EXPECT_EQ(device.unmaps, 0);
  EXPECT_EQ(client.ask(Command::trim, 512, 8192), 0u);
  EXPECT_EQ(device.unmaps, 1);
  EXPECT_EQ(client.ask(Command::write_zeroes, 0, 4096), 0u);
  EXPECT_EQ(device.deallocations, 1);
  EXPECT_EQ(client.ask(Command::write_zeroes, 0, 4096, kNoHole), 0u);
  EXPECT_EQ(device.deallocations, 1);
  EXPECT_EQ(device.zeroings, 2);
}

TEST_F(NbdServer, TellsErrors) {
  Client client(device);
  const std::uint64_t size = device.bytes().size();
  const auto data = noise(4096, 5);
  EXPECT_EQ(client.ask(Command::read, size - 512, 1024), EINVAL);
  EXPECT_EQ(client.ask(Command::read, ~0ull, 512), EINVAL);
  EXPECT_EQ(client.ask(Command::write, size, 4096, 0, data), ENOSPC);
  EXPECT_EQ(client.ask(Command::write_zeroes, size, 4096), ENOSPC);
  EXPECT_EQ(client.ask(Command::trim, size, 4096), EINVAL);
  EXPECT_EQ(client.ask(static_cast<Command>(9), 0, 0), EINVAL);
  EXPECT_EQ(client.ask(Command::write, 0, 4096, 1 << 4, data), EINVAL);
  device.fail_at = 5000;
  EXPECT_EQ(client.ask(Command::read, 4096, 4096), EIO);
  EXPECT_EQ(client.ask(Command::read, 0, 4096), 0u);  // still in step
  client.receive(4096);
  EXPECT_EQ(device.writes, 0);
}

TEST_F(NbdServer, KeepsAReadOnlyDeviceAsItIs) {
  Client client(device, true);
  EXPECT_EQ(client.ask(Command::write, 0, 4096, 0, noise(4096, 6)), EPERM);
  EXPECT_EQ(client.ask(Command::write_zeroes, 0, 4096), EPERM);
  EXPECT_EQ(client.ask(Command::trim, 0, 4096), EPERM);
  EXPECT_EQ(client.ask(Command::flush, 0, 0), 0u);
  EXPECT_EQ(device.writes + device.zeroings + device.unmaps, 0);
}

TEST_F(NbdServer, AnswersWhatIsInFlightBeforeItDisconnects) {
  SlowDevice slow(device);
  Client client(slow);
  client.send(Command::flush, 1, 0, 0);
  client.send(Command::flush, 2, 0, 0);
  slow.wait_for(2);
  client.send(Command::disconnect, 3, 0, 0);
  slow.do_last();
  EXPECT_EQ(client.reply().cookie, 2u);
  slow.do_last();
  EXPECT_EQ(client.reply().cookie, 1u);
  EXPECT_TRUE(client.at_end());
}

TEST_F(NbdServer, StopsWhenTold) {
  SlowDevice slow(device);
  Client client(slow);
  client.send(Command::flush, 1, 0, 0);
  slow.wait_for(1);
  client.server().stop();
  slow.do_last();
  EXPECT_EQ(client.reply().cookie, 1u);
  EXPECT_TRUE(client.at_end());
}

TEST_F(NbdServer, GivesUpAStreamOutOfStep) {
  Client client(device);
  client.send(Command::write, 1, 0, kMaxPayload + 1);
  EXPECT_TRUE(client.at_end());
}

TEST_F(NbdServer, OutlivesAClientThatIsGone) {
  SlowDevice slow(device);
  auto ends = socket_pair();
  Server server(slow, false, std::move(ends[1]));
  std::thread thread([&] { server.run(); });
  std::array<std::byte, kRequestSize> request{};
  ByteWriter out{MutableBytes(request)};
  out.be32(0x25609513), out.be32(0), out.be64(1), out.be64(0), out.be32(4096);
  ASSERT_EQ(send(ends[0].get(), request.data(), request.size(), 0), 28);
  slow.wait_for(1);
  ends[0] = Descriptor();
  slow.do_last();
  thread.join();
}

}  // namespace
}  // namespace openiser::initiator::nbd
