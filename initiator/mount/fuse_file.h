// A BlockDevice as a file in a FUSE file system of its own, for loop devices and for programs that
// open files. Reads and writes go to the device as they come (no page cache of ours in between);
// fsync is SYNCHRONIZE CACHE; punching holes and zeroing ranges are WRITE SAME.
#pragma once

#include <memory>
#include <string>

#include "initiator/block_device.h"

namespace openiser::initiator {

class FuseFile {
 public:
  static constexpr const char* kFileName = "disk";

  // Mounts on the existing folder `dir`; `read_only`: whatever the device says. Throws
  // SessionError.
  FuseFile(BlockDevice& device, const std::string& dir, bool read_only);
  ~FuseFile();
  // Serves until the file system is unmounted, or SIGTERM or SIGINT comes.
  void run();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace openiser::initiator
