#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "target/store/blocking_io.h"
#include "target/store/store.h"

namespace openiser::target {
namespace {

// Reads that the page cache can answer are done on the spot: a copy is quicker than a round through
// any engine. On tmpfs everything is memory, and io_uring would send each request to a worker
// thread, so there writes are done on the spot too. Requests beyond kInlineLimit never are: they
// would hold up the loop.
enum class Inline : std::uint8_t { cached_reads, everything };
constexpr std::uint64_t kInlineLimit = std::uint64_t{1} << 20;

class FileStore final : public Store {
 public:
  // `follows`: the size is the file's, whatever that comes to be.
  FileStore(Descriptor file, StoreProperties properties, bool follows, Inline inline_work)
      : file_(std::move(file)),
        properties_(std::move(properties)),
        size_(properties_.size),
        follows_(follows),
        inline_(inline_work) {}

  StoreProperties properties() const override {
    StoreProperties now = properties_;
    now.size = size_;
    const off_t end = follows_ ? lseek(file_.get(), 0, SEEK_END) : -1;
    if (end >= 0) now.size = static_cast<std::uint64_t>(end);
    return now;
  }

  void submit(StoreEngine& engine, StoreRequest& request) override {
    request.error = {};
    if (properties_.read_only && request.changes_data()) {
      request.error = {EROFS, boost::system::generic_category()};
      return request.done();
    }
    if (done_on_the_spot(request)) return request.done();
    engine.submit(file_.get(), request);
  }

  Status grow(std::uint64_t size) override;

 private:
  bool done_on_the_spot(StoreRequest& request) const {
    if (request.length > kInlineLimit) return false;
    if (inline_ == Inline::everything) {
      request.error = perform(file_.get(), request);
      return true;
    }
    return request.operation == StoreRequest::Operation::read &&
           try_read(file_.get(), request, RWF_NOWAIT);
  }

  Descriptor file_;
  const StoreProperties properties_;
  std::atomic<std::uint64_t> size_;  // unless it follows
  const bool follows_;
  const Inline inline_;
};

// So that a file just made is still there after a power cut.
void sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const Descriptor fd(
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) fsync(fd.get());
}

// Whoever has the file open for writing has it alone; readers may share. Held until closed, and it
// also keeps two LUNs of one daemon apart. A killed daemon's io_uring lets go of the file, and with
// it of the lock, only once the kernel has ended what it had begun: that comes after the process's
// end, and to take the file before it would let an old write in over a new one.
ErrorCode lock_file(int fd, bool read_only, std::chrono::milliseconds wait) {
  constexpr std::chrono::milliseconds kPause{20};
  while (flock(fd, (read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return last_system_error();
    if (wait <= std::chrono::milliseconds(0)) {
      return ErrorCode(EBUSY, boost::system::generic_category());
    }
    std::this_thread::sleep_for(kPause);
    wait -= kPause;
  }
  return {};
}

Result<Descriptor> open_locked(const std::string& path, bool create, bool read_only,
                               std::chrono::milliseconds lock_wait) {
  const int flags = (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | (create ? O_CREAT : 0);
  Descriptor file(open(path.c_str(), flags, 0600));
  if (!file) return last_system_error();
  if (const ErrorCode error = lock_file(file.get(), read_only, lock_wait)) return error;
  return file;
}

// The usable size of a file or block device, once it is as large as `wanted` (0: as it is).
Result<std::uint64_t> fit_size(int fd, std::uint64_t wanted, bool read_only) {
  struct stat status;
  if (fstat(fd, &status) != 0) return last_system_error();
  if (S_ISDIR(status.st_mode)) return ErrorCode(EISDIR, boost::system::generic_category());
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode)) {
    return ErrorCode(EINVAL, boost::system::generic_category());
  }
  const off_t end = lseek(fd, 0, SEEK_END);
  if (end < 0) return last_system_error();
  const auto size = static_cast<std::uint64_t>(end);
  if (wanted == 0) wanted = size;
  if (wanted == 0) return ErrorCode(EINVAL, boost::system::generic_category());
  if (wanted <= size) return wanted;
  if (read_only || !S_ISREG(status.st_mode))
    return ErrorCode(ENOSPC, boost::system::generic_category());
  if (wanted > static_cast<std::uint64_t>(INT64_MAX)) {
    return ErrorCode(EFBIG, boost::system::generic_category());
  }
  if (ftruncate(fd, static_cast<off_t>(wanted)) != 0) return last_system_error();
  return wanted;
}

Status FileStore::grow(std::uint64_t size) {
  const auto fitted = fit_size(file_.get(), size, properties_.read_only);
  if (!fitted) return fitted.error();
  if (*fitted > size_) size_ = *fitted;
  return {};
}

// Asks by way of a hole beyond the end of the file, which changes nothing.
bool can_punch_holes(int fd) {
  const off_t end = lseek(fd, 0, SEEK_END);
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, end, 4096) == 0;
}

}  // namespace

Result<std::unique_ptr<Store>> open_file_store(const std::string& path, std::uint64_t size,
                                               bool read_only,
                                               std::chrono::milliseconds lock_wait) {
  const bool create = !read_only && size != 0;
  const bool is_new = create && access(path.c_str(), F_OK) != 0;
  auto file = open_locked(path, create, read_only, lock_wait);
  if (!file) return file.error();
  const int fd = file->get();
  const auto fitted = fit_size(fd, size, read_only);
  if (!fitted) return fitted.error();
  if (is_new) sync_folder_of(path);
  StoreProperties properties{.size = *fitted,
                             .read_only = read_only,
                             .discard = !read_only && can_punch_holes(fd),
                             .volatile_cache = !read_only,
                             .description = "file " + path};
  const Inline inline_work = is_in_memory(fd) ? Inline::everything : Inline::cached_reads;
  return std::unique_ptr<Store>(
      std::make_unique<FileStore>(std::move(*file), std::move(properties), size == 0, inline_work));
}

}  // namespace openiser::target
