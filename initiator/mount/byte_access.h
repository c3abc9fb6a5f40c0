// Any byte range of a BlockDevice: whole blocks go straight to it, ends that are not whole are
// read, changed and written back under a lock, waiting (so: not on the device's own thread).
// Ranges lie within the device.
#pragma once

#include <mutex>
#include <vector>

#include "initiator/block_device.h"

namespace openiser::initiator {

// What a kernel calls an error: 0 for none, EIO for what is no errno.
int errno_of(ErrorCode error);

class ByteAccess {
 public:
  explicit ByteAccess(BlockDevice& device, bool read_only = false)
      : device_(device), properties_(device.properties()) {
    properties_.read_only |= read_only;
  }

  const BlockDeviceProperties& properties() const { return properties_; }

  void read(std::uint64_t offset, MutableBytes data, BlockDevice::Done done);
  void write(std::uint64_t offset, Bytes data, bool force_unit_access, BlockDevice::Done done);
  void write_zeroes(std::uint64_t offset, std::uint64_t length, bool deallocate,
                    BlockDevice::Done done);
  // The whole blocks within the range; nobody minds the rest.
  void unmap(std::uint64_t offset, std::uint64_t length, BlockDevice::Done done);
  void flush(BlockDevice::Done done) { device_.flush(std::move(done)); }

 private:
  bool whole(std::uint64_t offset, std::uint64_t length) const {
    return offset % properties().block_size == 0 && length % properties().block_size == 0;
  }
  ErrorCode read_part(std::uint64_t offset, MutableBytes data);
  ErrorCode write_part(std::uint64_t offset, Bytes data, bool force_unit_access);

  BlockDevice& device_;
  BlockDeviceProperties properties_;
  std::mutex changing_;
};

}  // namespace openiser::initiator
