#include "target/store/blocking_io.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "target/store/transfer.h"

namespace openiser::target {
namespace {

ErrorCode move_all(int fd, const StoreRequest& request) {
  const bool write = request.operation == StoreRequest::Operation::write;
  const int flags = write && request.force_unit_access ? RWF_DSYNC : 0;
  Transfer transfer;
  transfer.start(request);
  while (!transfer.complete()) {
    const auto vectors = transfer.next();
    const int count = static_cast<int>(vectors.size());
    const auto offset = static_cast<off_t>(transfer.offset());
    const ssize_t n = write ? pwritev2(fd, vectors.data(), count, offset, flags)
                            : preadv2(fd, vectors.data(), count, offset, flags);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_system_error();
    if (n == 0) return {EIO, boost::system::generic_category()};
    transfer.advance(static_cast<std::uint64_t>(n));
  }
  return {};
}

ErrorCode allocate(int fd, const StoreRequest& request, int mode) {
  int result;
  do {
    result = fallocate(fd, mode | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(request.offset),
                       static_cast<off_t>(request.length));
  } while (result != 0 && errno == EINTR);
  return result == 0 ? ErrorCode() : last_system_error();
}

// For file systems that can neither zero a range nor punch a hole.
ErrorCode write_zero_bytes(int fd, const StoreRequest& request) {
  alignas(4096) static std::array<std::byte, 65536> zeros;  // only ever read
  std::uint64_t done = 0;
  while (done < request.length) {
    const std::size_t size = std::min<std::uint64_t>(zeros.size(), request.length - done);
    const ssize_t n = pwrite(fd, zeros.data(), size, static_cast<off_t>(request.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_system_error();
    if (n == 0) return {EIO, boost::system::generic_category()};
    done += static_cast<std::uint64_t>(n);
  }
  return {};
}

ErrorCode zero_range(int fd, const StoreRequest& request) {
  for (const int mode : {FALLOC_FL_ZERO_RANGE, FALLOC_FL_PUNCH_HOLE}) {
    const ErrorCode error = allocate(fd, request, mode);
    if (error.value() != EOPNOTSUPP) return error;
  }
  return write_zero_bytes(fd, request);
}

// lseek fails with ENXIO where there is no data to the end, and otherwise where a file system
// cannot tell.
void find_extent(int fd, StoreRequest& request) {
  const auto start = static_cast<off_t>(request.offset);
  const off_t data = lseek(fd, start, SEEK_DATA);
  if (data < 0 && errno == ENXIO) {
    request.is_hole = true;
    return;
  }
  request.is_hole = data > start;
  const off_t end = request.is_hole ? data : lseek(fd, start, SEEK_HOLE);
  if (end > start) {
    request.length = std::min(request.length, static_cast<std::uint64_t>(end - start));
  }
}

ErrorCode query_space(int fd, StoreSpace& space) {
  constexpr std::uint64_t kBlockOfStat = 512;
  struct stat file;
  struct statvfs system;
  if (fstat(fd, &file) != 0 || fstatvfs(fd, &system) != 0) return last_system_error();
  space.used = static_cast<std::uint64_t>(file.st_blocks) * kBlockOfStat;
  space.available = std::uint64_t{system.f_bavail} * system.f_frsize;
  return {};
}

ErrorCode sync_data(int fd) {
  return fdatasync(fd) == 0 ? ErrorCode() : last_system_error();
}

}  // namespace

ErrorCode last_system_error() {
  return {errno, boost::system::generic_category()};
}

ErrorCode perform(int fd, StoreRequest& request) {
  ErrorCode error;
  switch (request.operation) {
    case StoreRequest::Operation::read:
    case StoreRequest::Operation::write:
      return move_all(fd, request);
    case StoreRequest::Operation::flush:
      return sync_data(fd);
    case StoreRequest::Operation::find_extent:
      find_extent(fd, request);
      return {};
    case StoreRequest::Operation::query_space:
      return query_space(fd, request.space);
    case StoreRequest::Operation::prefetch:
      posix_fadvise(fd, static_cast<off_t>(request.offset), static_cast<off_t>(request.length),
                    POSIX_FADV_WILLNEED);
      return {};
    case StoreRequest::Operation::discard:
      if (request.length != 0) error = allocate(fd, request, FALLOC_FL_PUNCH_HOLE);
      break;
    case StoreRequest::Operation::write_zeroes:
      if (request.length != 0) error = zero_range(fd, request);
      break;
  }
  return !error && request.force_unit_access ? sync_data(fd) : error;
}

bool try_read(int fd, const StoreRequest& request, int flags) {
  Transfer transfer;
  transfer.start(request);
  while (!transfer.complete()) {
    const auto vectors = transfer.next();
    const ssize_t n = preadv2(fd, vectors.data(), static_cast<int>(vectors.size()),
                              static_cast<off_t>(transfer.offset()), flags);
    if (n <= 0) return false;
    transfer.advance(static_cast<std::uint64_t>(n));
  }
  return true;
}

bool is_in_memory(int fd) {
  struct stat file;
  struct statfs file_system;
  return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && fstatfs(fd, &file_system) == 0 &&
         file_system.f_type == TMPFS_MAGIC;
}

}  // namespace openiser::target
