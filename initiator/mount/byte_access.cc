#include "initiator/mount/byte_access.h"

#include <algorithm>
#include <cerrno>

namespace openiser::initiator {
namespace {

// The blocks that hold a byte range.
struct Cover {
  Cover(std::uint64_t offset, std::uint64_t length, std::uint32_t block)
      : start(offset / block * block),
        length((offset + length + block - 1) / block * block - start) {}
  std::uint64_t start, length;
};

// The whole blocks within a byte range; none: first == last.
struct Inside {
  Inside(std::uint64_t offset, std::uint64_t length, std::uint32_t block)
      : first(std::min((offset + block - 1) / block * block, offset + length)),
        last(std::max((offset + length) / block * block, first)) {}
  std::uint64_t first, last;
};

}  // namespace

int errno_of(ErrorCode error) {
  if (!error) return 0;
  const bool system = error.category() == boost::system::generic_category() ||
                      error.category() == boost::system::system_category();
  return system ? error.value() : EIO;
}

ErrorCode ByteAccess::read_part(std::uint64_t offset, MutableBytes data) {
  const Cover cover(offset, data.size(), properties().block_size);
  std::vector<std::byte> blocks(cover.length);
  if (const ErrorCode error = device_.read(cover.start, blocks)) return error;
  std::copy_n(blocks.begin() + static_cast<std::ptrdiff_t>(offset - cover.start), data.size(),
              data.begin());
  return {};
}

ErrorCode ByteAccess::write_part(std::uint64_t offset, Bytes data, bool force_unit_access) {
  const std::lock_guard lock(changing_);
  const Cover cover(offset, data.size(), properties().block_size);
  std::vector<std::byte> blocks(cover.length);
  if (const ErrorCode error = device_.read(cover.start, blocks)) return error;
  std::copy(data.begin(), data.end(),
            blocks.begin() + static_cast<std::ptrdiff_t>(offset - cover.start));
  return device_.write(cover.start, blocks, force_unit_access);
}

void ByteAccess::read(std::uint64_t offset, MutableBytes data, BlockDevice::Done done) {
  if (whole(offset, data.size())) return device_.read(offset, data, std::move(done));
  done(read_part(offset, data));
}

void ByteAccess::write(std::uint64_t offset, Bytes data, bool force_unit_access,
                       BlockDevice::Done done) {
  if (whole(offset, data.size()))
    return device_.write(offset, data, force_unit_access, std::move(done));
  done(write_part(offset, data, force_unit_access));
}

void ByteAccess::write_zeroes(std::uint64_t offset, std::uint64_t length, bool deallocate,
                              BlockDevice::Done done) {
  const std::uint32_t block = properties().block_size;
  const std::uint64_t end = offset + length;
  const auto [first, last] = Inside(offset, length, block);
  const std::vector<std::byte> zeroes(block);
  if (first > offset) {
    if (const ErrorCode error = write_part(offset, Bytes(zeroes).first(first - offset), false))
      return done(error);
  }
  if (end > last) {
    if (const ErrorCode error = write_part(last, Bytes(zeroes).first(end - last), false))
      return done(error);
  }
  if (first == last) return done({});
  device_.write_zeroes(first, last - first, deallocate, std::move(done));
}

void ByteAccess::unmap(std::uint64_t offset, std::uint64_t length, BlockDevice::Done done) {
  const auto [first, last] = Inside(offset, length, properties().block_size);
  if (first == last) return done({});
  device_.unmap(first, last - first, std::move(done));
}

}  // namespace openiser::initiator
