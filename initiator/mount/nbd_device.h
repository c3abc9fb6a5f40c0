// /dev/nbdN: a BlockDevice as a block device of the kernel's nbd driver, and the kernel's requests
// served by this process. Root only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "initiator/block_device.h"

namespace openiser::initiator::nbd {

// Whether the kernel has the driver, loaded if need be, and a device free; `why` says what is
// missing.
bool available(std::string& why);

class Device {
 public:
  // Takes a free one. Throws SessionError. `read_only`: whatever `disk` says.
  Device(BlockDevice& disk, bool read_only);
  ~Device();
  const std::string& path() const;
  // Serves on the calling thread and one more, until disconnect(), SIGTERM or SIGINT, whose
  // handlers it sets. Calls `ready` once when programs may open the device. Throws SessionError if
  // it never came to that.
  void run(const std::function<void()>& ready);

 private:
  class State;
  std::unique_ptr<State> state_;
};

// From any process: writes out what the kernel has kept back, then makes run() end. Throws
// SessionError while the device is mounted or claimed (by LVM, LUKS, swap ...).
void disconnect(const std::string& path);

}  // namespace openiser::initiator::nbd
