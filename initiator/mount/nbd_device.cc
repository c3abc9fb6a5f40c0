// The driver takes its orders as ioctls or over netlink. These are ioctls, because
// - a device of NBD_DO_IT lives and dies with the process that serves it: if that is killed, the
//   kernel fails what is in flight at once. Set up over netlink it keeps such requests until
//   somebody disconnects it, for without a time limit on requests (they may wait for a target for a
//   day) it does not find out, and programs hang meanwhile;
// - the netlink family is there in the first network namespace only.
// The price: the devices are those the module made when it was loaded (nbds_max, 16).
#include "initiator/mount/nbd_device.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/nbd.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "initiator/mount/nbd_server.h"
#include "initiator/session.h"

extern char** environ;

namespace openiser::initiator::nbd {
namespace {

namespace fs = std::filesystem;

const fs::path kDevices = "/sys/block";

[[noreturn]] void fail(const std::string& what) {
  throw SessionError(what + ": " + std::strerror(errno));
}

std::vector<int> numbers() {
  std::vector<int> all;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kDevices, none)) {
    const std::string name = entry.path().filename().string();
    const char* end = name.data() + name.size();
    int number = 0;
    if (!name.starts_with("nbd")) continue;
    if (const auto [rest, error] = std::from_chars(name.data() + 3, end, number);
        error == std::errc() && rest == end)
      all.push_back(number);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string path_of(int number) {
  return "/dev/nbd" + std::to_string(number);
}

// The driver keeps the file `pid` from a device's start until its last user has closed it.
bool is_free(int number) {
  const fs::path path = path_of(number);
  return fs::exists(path) && !fs::exists(kDevices / path.filename() / "pid");
}

void load_module() {
  std::array<const char*, 4> argv{"modprobe", "-q", "nbd", nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, argv[0], nullptr, nullptr, const_cast<char**>(argv.data()), environ) ==
      0)
    waitpid(child, nullptr, 0);
}

// A socket pair: the first end is for the kernel.
std::array<Descriptor, 2> connected_sockets() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// Gives the first free device its socket, by which it is ours.
Descriptor take(int socket, std::string& path) {
  for (const int number : numbers()) {
    if (!is_free(number)) continue;
    path = path_of(number);
    Descriptor device(open(path.c_str(), O_RDWR | O_CLOEXEC));
    // Whoever was quicker has it: EBUSY, or EINVAL if over netlink.
    if (device && ioctl(device.get(), NBD_SET_SOCK, socket) == 0) return device;
  }
  throw SessionError("no nbd device is free: loaded anew with nbds_max=64 the module has more");
}

std::uint64_t size_of(const Descriptor& device) {
  std::uint64_t size = 0;
  return ioctl(device.get(), BLKGETSIZE64, &size) == 0 ? size : 0;
}

constexpr std::array<int, 2> kStopSignals{SIGTERM, SIGINT};
// Whom they stop.
std::atomic<const Server*> serving = nullptr;

void on_signal(int) {
  const int before = errno;
  if (const Server* server = serving.load()) server->stop();
  errno = before;
}

void stop_at_signals(const Server* server) {
  serving = server;
  struct sigaction action {};
  action.sa_handler = server ? on_signal : SIG_DFL;
  action.sa_flags = SA_RESTART;
  for (const int signal : kStopSignals) sigaction(signal, &action, nullptr);
}

}  // namespace

bool available(std::string& why) {
  if (geteuid() != 0) {
    why = "nbd devices need root";
    return false;
  }
  if (numbers().empty()) load_module();
  const std::vector<int> all = numbers();
  if (all.empty()) {
    why = "this kernel has no nbd driver ('modprobe nbd' does not help)";
  } else if (std::none_of(all.begin(), all.end(), is_free)) {
    why = "none of the " + std::to_string(all.size()) + " nbd devices is free";
  } else {
    return true;
  }
  return false;
}

class Device::State {
 public:
  State(BlockDevice& disk, bool read_only) : State(disk, read_only, connected_sockets()) {}
  const std::string& path() const { return path_; }

  void run(const std::function<void()>& ready) {
    stop_at_signals(&server_);
    std::atomic<bool> opened = false;
    std::jthread thread([&](const std::stop_token& stop) {
      if (wait_for_size(stop)) {
        ready();
        opened = true;
      }
      server_.run();
    });
    const int result = start();
    const int error = errno;
    thread.request_stop();
    server_.stop();
    thread.join();
    ioctl(device_.get(), NBD_CLEAR_SOCK);  // fails what the server has not taken
    stop_at_signals(nullptr);
    errno = error;
    if (result != 0 && !opened) fail("cannot start " + path_);
  }

 private:
  State(BlockDevice& disk, bool read_only, std::array<Descriptor, 2> sockets)
      : server_(disk, read_only, std::move(sockets[1])), device_(take(sockets[0].get(), path_)) {
    const BlockDeviceProperties& properties = server_.properties();
    // The driver takes blocks of up to a page; the server takes any part of a block.
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    order(NBD_SET_BLKSIZE, std::min<std::uint64_t>(properties.block_size, page), "block size");
    order(NBD_SET_SIZE, properties.size(), "size");
    order(NBD_SET_FLAGS, transmission_flags(properties), "flags");
    order(NBD_SET_TIMEOUT, 0, "timeout");  // a target may be waited for
  }
  void order(unsigned long request, std::uint64_t value, const char* what) {
    if (ioctl(device_.get(), request, value) != 0)
      fail("cannot set the " + std::string(what) + " of " + path_);
  }
  // Returns when the server has closed its end. The other threads take the signals: one that came
  // here would end it at once, and fail what is in flight.
  int start() const {
    sigset_t stops, before;
    sigemptyset(&stops);
    for (const int signal : kStopSignals) sigaddset(&stops, signal);
    pthread_sigmask(SIG_BLOCK, &stops, &before);
    const int result = ioctl(device_.get(), NBD_DO_IT);
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return result;
  }
  // NBD_DO_IT does not say when it has begun; the size says it.
  bool wait_for_size(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      if (size_of(device_) > 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  Server server_;
  std::string path_;
  const Descriptor device_;
};

Device::Device(BlockDevice& disk, bool read_only)
    : state_(std::make_unique<State>(disk, read_only)) {}
Device::~Device() = default;
const std::string& Device::path() const {
  return state_->path();
}
void Device::run(const std::function<void()>& ready) {
  state_->run(ready);
}

void disconnect(const std::string& path) {
  const Descriptor device(open(path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
  if (!device && errno == EBUSY) {
    throw SessionError(path +
                       " is in use: unmount it, or close the volumes (LVM, LUKS, swap) "
                       "on it, then detach again");
  }
  if (!device) fail("cannot open " + path);
  if (size_of(device) == 0) return;  // disconnected already
  if (fsync(device.get()) != 0) fail(path + " could not be written out");
  if (ioctl(device.get(), NBD_DISCONNECT) != 0) fail("cannot disconnect " + path);
}

}  // namespace openiser::initiator::nbd
