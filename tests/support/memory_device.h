// A BlockDevice in memory for tests: counts what is asked of it, and fails on demand.
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "initiator/block_device.h"

namespace openiser::test {

class MemoryDevice final : public initiator::BlockDevice {
 public:
  MemoryDevice(std::uint64_t blocks, std::uint32_t block_size) : bytes_(blocks * block_size) {
    properties_.blocks = blocks;
    properties_.block_size = block_size;
    properties_.write_same = true;
  }

  using BlockDevice::read;
  using BlockDevice::write;
  const initiator::BlockDeviceProperties& properties() const override { return properties_; }
  initiator::BlockDeviceProperties& change() { return properties_; }
  std::vector<std::byte>& bytes() { return bytes_; }

  void read(std::uint64_t offset, MutableBytes data, Done done) override {
    if (const auto error = check(offset, data.size())) return done(error);
    std::memcpy(data.data(), bytes_.data() + offset, data.size());
    done({});
  }
  void write(std::uint64_t offset, Bytes data, bool force_unit_access, Done done) override {
    if (const auto error = check(offset, data.size())) return done(error);
    std::memcpy(bytes_.data() + offset, data.data(), data.size());
    ++writes;
    forced += force_unit_access;
    done({});
  }
  void flush(Done done) override {
    ++flushes;
    done({});
  }
  void unmap(std::uint64_t offset, std::uint64_t length, Done done) override {
    if (const auto error = check(offset, length)) return done(error);
    ++unmaps;
    done({});
  }
  void write_zeroes(std::uint64_t offset, std::uint64_t length, bool deallocate,
                    Done done) override {
    if (const auto error = check(offset, length)) return done(error);
    std::memset(bytes_.data() + offset, 0, length);
    ++zeroings;
    deallocations += deallocate;
    done({});
  }

  int writes = 0, forced = 0, flushes = 0, unmaps = 0, zeroings = 0, deallocations = 0;
  std::optional<std::uint64_t> fail_at;  // requests that touch this byte fail with EIO

 private:
  ErrorCode check(std::uint64_t offset, std::uint64_t length) const {
    const bool whole = offset % properties_.block_size == 0 && length % properties_.block_size == 0;
    if (!whole || offset > bytes_.size() || length > bytes_.size() - offset) {
      return boost::system::errc::make_error_code(boost::system::errc::invalid_argument);
    }
    if (fail_at && *fail_at >= offset && *fail_at < offset + length) {
      return boost::system::errc::make_error_code(boost::system::errc::io_error);
    }
    return {};
  }

  initiator::BlockDeviceProperties properties_;
  std::vector<std::byte> bytes_;
};

}  // namespace openiser::test
