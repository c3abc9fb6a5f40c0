// Any byte range of a BlockDevice: whole blocks go straight to it, ends that are not whole are
// read, changed and written back under a lock, waiting. Ranges lie within the device.
#pragma once

#include <mutex>
#include <vector>

#include "initiator/block_device.h"

namespace openiser::initiator {

class ByteAccess {
 public:
  explicit ByteAccess(BlockDevice& device, bool read_only = false)
      : device_(device), properties_(device.properties()) {
    properties_.read_only |= read_only;
  }

  const BlockDeviceProperties& properties() const { return properties_; }

  void read(std::uint64_t offset, MutableBytes data, BlockDevice::Done done);
  void write(std::uint64_t offset, Bytes data, BlockDevice::Done done);
  void write_zeroes(std::uint64_t offset, std::uint64_t length, BlockDevice::Done done);
  void flush(BlockDevice::Done done) { device_.flush(std::move(done)); }

 private:
  bool whole(std::uint64_t offset, std::uint64_t length) const {
    return offset % properties().block_size == 0 && length % properties().block_size == 0;
  }
  ErrorCode read_part(std::uint64_t offset, MutableBytes data);
  ErrorCode write_part(std::uint64_t offset, Bytes data);

  BlockDevice& device_;
  BlockDeviceProperties properties_;
  std::mutex changing_;
};

}  // namespace openiser::initiator
