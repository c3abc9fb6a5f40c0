#include "initiator/mount/loop_device.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "initiator/session.h"

namespace openiser::initiator {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw SessionError(what + ": " + std::strerror(errno));
}

}  // namespace

bool loop_devices_available(std::string& why) {
  const Descriptor control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (control.get() >= 0) return true;
  why = std::string("/dev/loop-control: ") + std::strerror(errno) + "; loop devices need root";
  return false;
}

std::string attach_loop(const std::string& file, std::uint32_t block_size, bool read_only) {
  const Descriptor backing(open(file.c_str(), (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC));
  if (backing.get() < 0) fail("cannot open " + file);
  const Descriptor control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (control.get() < 0) fail("cannot open /dev/loop-control");
  for (int attempt = 0; attempt < 64; ++attempt) {
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) fail("no free loop device");
    const std::string path = "/dev/loop" + std::to_string(number);
    const Descriptor device(open(path.c_str(), (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC));
    if (device.get() < 0) fail("cannot open " + path);
    loop_config config{};
    config.fd = static_cast<std::uint32_t>(backing.get());
    config.block_size = block_size;
    // Direct I/O lets the loop device keep many requests in flight; without it there is one at a
    // time.
    config.info.lo_flags = LO_FLAGS_DIRECT_IO | (read_only ? LO_FLAGS_READ_ONLY : 0);
    std::strncpy(reinterpret_cast<char*>(config.info.lo_file_name), file.c_str(), LO_NAME_SIZE - 1);
    if (ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) return path;
    if (errno == EBUSY) continue;  // somebody else was quicker
    config.info.lo_flags &= ~static_cast<std::uint32_t>(LO_FLAGS_DIRECT_IO);
    if (ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) return path;
    if (errno != EBUSY) fail("cannot attach " + file + " to " + path);
  }
  throw SessionError("no loop device could be had: others took every free one first");
}

void detach_loop(const std::string& device) {
  const Descriptor loop(open(device.c_str(), O_RDONLY | O_CLOEXEC));
  if (loop.get() < 0) fail("cannot open " + device);
  fsync(loop.get());
  if (ioctl(loop.get(), LOOP_CLR_FD) != 0 && errno != ENXIO) fail("cannot detach " + device);
}

}  // namespace openiser::initiator
