#include "initiator/mount/byte_access.h"

#include <algorithm>

namespace openiser::initiator {
namespace {

// The blocks that hold a byte range.
struct Cover {
  Cover(std::uint64_t offset, std::uint64_t length, std::uint32_t block)
      : start(offset / block * block),
        length((offset + length + block - 1) / block * block - start) {}
  std::uint64_t start, length;
};

}  // namespace

ErrorCode ByteAccess::read_part(std::uint64_t offset, MutableBytes data) {
  const Cover cover(offset, data.size(), properties().block_size);
  std::vector<std::byte> blocks(cover.length);
  if (const ErrorCode error = device_.read(cover.start, blocks)) return error;
  std::copy_n(blocks.begin() + static_cast<std::ptrdiff_t>(offset - cover.start), data.size(),
              data.begin());
  return {};
}

ErrorCode ByteAccess::write_part(std::uint64_t offset, Bytes data) {
  const std::lock_guard lock(changing_);
  const Cover cover(offset, data.size(), properties().block_size);
  std::vector<std::byte> blocks(cover.length);
  if (const ErrorCode error = device_.read(cover.start, blocks)) return error;
  std::copy(data.begin(), data.end(),
            blocks.begin() + static_cast<std::ptrdiff_t>(offset - cover.start));
  return device_.write(cover.start, blocks);
}

void ByteAccess::read(std::uint64_t offset, MutableBytes data, BlockDevice::Done done) {
  if (whole(offset, data.size())) return device_.read(offset, data, std::move(done));
  done(read_part(offset, data));
}

void ByteAccess::write(std::uint64_t offset, Bytes data, BlockDevice::Done done) {
  if (whole(offset, data.size())) return device_.write(offset, data, false, std::move(done));
  done(write_part(offset, data));
}

void ByteAccess::write_zeroes(std::uint64_t offset, std::uint64_t length, BlockDevice::Done done) {
  const std::uint32_t block = properties().block_size;
  const std::uint64_t end = offset + length;
  const std::uint64_t first = std::min((offset + block - 1) / block * block, end);
  const std::uint64_t last = std::max(end / block * block, first);
  const std::vector<std::byte> zeroes(block);
  if (first > offset) {
    if (const ErrorCode error = write_part(offset, Bytes(zeroes).first(first - offset)))
      return done(error);
  }
  if (end > last) {
    if (const ErrorCode error = write_part(last, Bytes(zeroes).first(end - last)))
      return done(error);
  }
  if (first == last) return done({});
  device_.write_zeroes(first, last - first, std::move(done));
}

}  // namespace openiser::initiator
