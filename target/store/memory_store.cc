#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/descriptor.h"
#include "target/store/blocking_io.h"
#include "target/store/store.h"

namespace openiser::target {
namespace {

// A file in memory without a name, mapped: sparse until written, and it knows its holes. Shared by
// all threads without a lock. Requests that overlap and run on different threads mix, as they may
// on a disk.
class MemoryStore final : public Store {
 public:
  MemoryStore(std::uint64_t size, bool read_only)
      : size_(size), read_only_(read_only), file_(memfd_create("open-iser", MFD_CLOEXEC)) {
    const std::uint64_t mapped = std::max<std::uint64_t>(size, 1);
    if (!file_ || ftruncate(file_.get(), static_cast<off_t>(mapped)) != 0) throw_last();
    void* memory =
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
    if (memory == MAP_FAILED) throw_last();
    memory_ = static_cast<std::byte*>(memory);
  }
  ~MemoryStore() override { munmap(memory_, std::max<std::uint64_t>(size_, 1)); }
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  StoreProperties properties() const override {
    return {.size = size_,
            .read_only = read_only_,
            .discard = !read_only_,
            .volatile_cache = false,
            .volatile_content = true,
            .description = "memory"};
  }

  void submit(StoreEngine&, StoreRequest& request) override {
    request.error = perform(request);
    request.done();
  }

 private:
  ErrorCode perform(StoreRequest& request) {
    if (request.changes_data() && read_only_) return {EROFS, boost::system::generic_category()};
    switch (request.operation) {
      case StoreRequest::Operation::read:
      case StoreRequest::Operation::write:
        copy(request);
        return {};
      case StoreRequest::Operation::flush:
        return {};
      case StoreRequest::Operation::query_space:
        return {EOPNOTSUPP, boost::system::generic_category()};
      case StoreRequest::Operation::prefetch:
        request.is_cached = true;
        return {};
      case StoreRequest::Operation::find_extent:
      case StoreRequest::Operation::discard:
      case StoreRequest::Operation::write_zeroes:
        return target::perform(file_.get(), request);
    }
    return {};
  }

  void copy(const StoreRequest& request) {
    std::byte* at = memory_ + request.offset;
    std::uint64_t rest = request.length;
    for (const MutableBytes& piece : request.pieces) {
      const std::size_t size = std::min<std::uint64_t>(piece.size(), rest);
      if (size == 0) continue;
      if (request.operation == StoreRequest::Operation::read) {
        std::memcpy(piece.data(), at, size);
      } else {
        std::memcpy(at, piece.data(), size);
      }
      at += size;
      rest -= size;
    }
  }

  [[noreturn]] static void throw_last() {
    throw std::system_error(errno, std::generic_category(), "memory for a disk");
  }

  std::uint64_t size_;
  bool read_only_;
  Descriptor file_;
  std::byte* memory_ = nullptr;
};

}  // namespace

std::unique_ptr<Store> make_memory_store(std::uint64_t size, bool read_only) {
  return std::make_unique<MemoryStore>(size, read_only);
}

}  // namespace openiser::target
