// A LUN as a block device: what the front ends (cp, mount, attach, bench) work on. Calls may be
// made on any thread; each blocks until the command is done, or takes a completion. Errors are
// those of the command in words (command_error.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace openiser::initiator {

struct BlockDeviceProperties {
  std::uint64_t blocks = 0;
  std::uint32_t block_size = 512;
  std::uint32_t physical_block_size = 512;
  bool read_only = false;
  bool write_cache = false;               // flush() matters
  bool force_unit_access = false;         // write() may be asked for it
  bool unmap = false;                     // UNMAP; what is read afterwards is anybody's guess
  bool write_same = false;                // write_zeroes() is quick
  std::uint32_t max_transfer_blocks = 0;  // 0: no limit
  std::uint32_t max_unmap_blocks = 0;
  std::string vendor, product, revision, serial;

  std::uint64_t size() const { return blocks * block_size; }
};

class BlockDevice {
 public:
  virtual ~BlockDevice() = default;
  virtual const BlockDeviceProperties& properties() const = 0;

  using Done = std::function<void(ErrorCode)>;
  // Lengths and offsets in bytes, multiples of the block size. The memory stays valid until `done`,
  // which is called on the device's own thread.
  virtual void read(std::uint64_t offset, MutableBytes data, Done done) = 0;
  virtual void write(std::uint64_t offset, Bytes data, bool force_unit_access, Done done) = 0;
  // Everything written before is on stable storage when done (SYNCHRONIZE CACHE).
  virtual void flush(Done done) = 0;
  virtual void unmap(std::uint64_t offset, std::uint64_t length, Done done) = 0;
  // Reads give zeroes afterwards; with `deallocate` the device need not keep room for them.
  virtual void write_zeroes(std::uint64_t offset, std::uint64_t length, bool deallocate,
                            Done done) = 0;

  // The same, waited for. Not on the device's own thread.
  ErrorCode read(std::uint64_t offset, MutableBytes data);
  ErrorCode write(std::uint64_t offset, Bytes data, bool force_unit_access = false);
  ErrorCode flush();
  ErrorCode unmap(std::uint64_t offset, std::uint64_t length);
  ErrorCode write_zeroes(std::uint64_t offset, std::uint64_t length, bool deallocate = true);
};

}  // namespace openiser::initiator
