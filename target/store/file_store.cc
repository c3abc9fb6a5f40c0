#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "target/store/blocking_io.h"
#include "target/store/direct_io.h"
#include "target/store/file_mapping.h"
#include "target/store/store.h"

namespace openiser::target {
namespace {

// Reads that the page cache can answer are done on the spot: a copy is quicker than a round through
// any engine. On tmpfs everything is memory, and io_uring would send each request to a worker
// thread, so there writes are done on the spot too. Requests beyond kInlineLimit never are: they
// would hold up the loop.
enum class Inline : std::uint8_t { nothing, cached_reads, everything };
constexpr std::uint64_t kInlineLimit = std::uint64_t{1} << 20;

class FileStore final : public Store {
 public:
  // `follows`: the size is the file's, whatever that comes to be.
  FileStore(Descriptor file, StoreProperties properties, bool follows, Inline inline_work,
            std::optional<DirectAlignment> direct)
      : file_(std::move(file)),
        properties_(std::move(properties)),
        size_(properties_.size),
        follows_(follows),
        inline_(inline_work),
        direct_(direct),
        mapping_(inline_work == Inline::everything
                     ? FileMapping::create(file_.get(), size_, properties_.read_only)
                     : nullptr) {}

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
    if (mapping_) mapping_->about_to(request);
    if (done_on_the_spot(request)) return request.done();
    if (direct_ && !is_aligned(request, *direct_)) {
      return submit_copied(file_.get(), engine, request, *direct_);
    }
    engine.submit(file_.get(), request);
  }

  Status grow(std::uint64_t size) override;

 private:
  bool done_on_the_spot(StoreRequest& request) const {
    if (request.length > kInlineLimit) return false;
    if (inline_ == Inline::everything) {
      do_in_memory(request);
      return true;
    }
    return inline_ == Inline::cached_reads && request.operation == StoreRequest::Operation::read &&
           try_read(file_.get(), request, RWF_NOWAIT);
  }

  void do_in_memory(StoreRequest& request) const {
    if (mapping_ && mapping_->perform(request)) return;
    request.error = target::perform(file_.get(), request);
    if (mapping_ && !request.error) mapping_->has_done(request);
  }

  Descriptor file_;
  const StoreProperties properties_;
  std::atomic<std::uint64_t> size_;  // unless it follows
  const bool follows_;
  const Inline inline_;
  const std::optional<DirectAlignment> direct_;  // none: through the page cache
  const std::unique_ptr<FileMapping> mapping_;   // of a file in memory, unless there is none
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

Result<Descriptor> open_locked(const std::string& path, const FileStoreOptions& options) {
  const bool create = !options.read_only && options.size != 0;
  const int flags = (options.read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | (create ? O_CREAT : 0) |
                    (options.direct ? O_DIRECT : 0);
  const bool is_new = create && access(path.c_str(), F_OK) != 0;
  Descriptor file(open(path.c_str(), flags, 0600));
  if (!file && options.direct && errno == EINVAL) {
    return ErrorCode(EOPNOTSUPP, boost::system::generic_category());
  }
  if (!file) return last_system_error();
  if (const ErrorCode error = lock_file(file.get(), options.read_only, options.lock_wait)) {
    return error;
  }
  if (is_new) sync_folder_of(path);
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

// Partitions have no queue of their own, but their disk has. (Documentation/ABI/stable/sysfs-block)
bool device_can_deallocate(dev_t device) {
  const std::string folder =
      "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  for (const char* queue : {"/queue/", "/../queue/"}) {
    std::uint64_t bytes = 0;
    if (std::ifstream(folder + queue + "write_zeroes_max_bytes") >> bytes) return bytes != 0;
  }
  return false;
}

bool is_regular(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// A device says whether zeroing can deallocate; a file system is asked by way of a hole beyond the
// end of the file, which changes nothing.
bool can_punch_holes(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return false;
  if (S_ISBLK(status.st_mode)) return device_can_deallocate(status.st_rdev);
  const off_t end = lseek(fd, 0, SEEK_END);
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, end, 4096) == 0;
}

StoreProperties properties_of(int fd, const std::string& path, std::uint64_t size,
                              const FileStoreOptions& options) {
  return {.size = size,
          .read_only = options.read_only,
          .discard = !options.read_only && can_punch_holes(fd),
          .volatile_cache = !options.read_only,
          .tells_space = is_regular(fd),
          .description = "file " + path};
}

}  // namespace

Result<std::unique_ptr<Store>> open_file_store(const std::string& path,
                                               const FileStoreOptions& options) {
  auto file = open_locked(path, options);
  if (!file) return file.error();
  const int fd = file->get();
  const auto fitted = fit_size(fd, options.size, options.read_only);
  if (!fitted) return fitted.error();
  StoreProperties properties = properties_of(fd, path, *fitted, options);
  std::optional<DirectAlignment> direct;
  if (options.direct) {
    const auto alignment = direct_alignment(fd);
    if (!alignment) return alignment.error();
    direct = *alignment;
    properties.alignment = direct->offset;
  }
  const Inline inline_work = direct             ? Inline::nothing
                             : is_in_memory(fd) ? Inline::everything
                                                : Inline::cached_reads;
  return std::unique_ptr<Store>(std::make_unique<FileStore>(
      std::move(*file), std::move(properties), options.size == 0, inline_work, direct));
}

}  // namespace openiser::target
