#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "target/store/blocking_io.h"
#include "target/store/page_map.h"
#include "target/store/store.h"
#include "target/store/transfer.h"

namespace openiser::target {
namespace {

// Anonymous memory: sparse until written, and it knows where. Shared by all threads without a lock.
// Requests that overlap and run on different threads mix, as they may on a disk.
class MemoryStore final : public Store {
 public:
  MemoryStore(std::uint64_t size, bool read_only)
      : size_(size),
        read_only_(read_only),
        page_(static_cast<std::size_t>(getpagesize())),
        written_(size / page_ + 1) {
    void* memory = mmap(nullptr, std::max<std::uint64_t>(size, 1), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "memory for a disk");
    }
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
        copy_pieces(request, memory_ + request.offset);
        return {};
      case StoreRequest::Operation::write:
        copy_pieces(request, memory_ + request.offset);
        if (request.length != 0) {
          written_.mark(request.offset / page_, (request.offset + request.length - 1) / page_ + 1);
        }
        return {};
      case StoreRequest::Operation::flush:
        return {};
      case StoreRequest::Operation::find_extent:
        find_extent(request);
        return {};
      case StoreRequest::Operation::query_space:
        return {EOPNOTSUPP, boost::system::generic_category()};
      case StoreRequest::Operation::prefetch:
        request.is_cached = true;
        return {};
      case StoreRequest::Operation::discard:
      case StoreRequest::Operation::write_zeroes:
        return zero(memory_ + request.offset, request.length);
    }
    return {};
  }

  void find_extent(StoreRequest& request) const {
    if (request.length == 0) return;
    const std::uint64_t page = request.offset / page_;
    const std::uint64_t end = (request.offset + request.length - 1) / page_ + 1;
    request.is_hole = !written_.is_marked(page);
    request.length = std::min(request.length, written_.change(page, end) * page_ - request.offset);
  }

  // Whole pages go back to the system and come again as zeros; the edges are cleared.
  ErrorCode zero(std::byte* start, std::uint64_t length) {
    std::byte* end = start + length;
    std::byte* first_page = memory_ + (start - memory_ + page_ - 1) / page_ * page_;
    std::byte* last_page = memory_ + (end - memory_) / page_ * page_;
    if (first_page >= last_page) {
      std::memset(start, 0, length);
      return {};
    }
    std::memset(start, 0, first_page - start);
    std::memset(last_page, 0, end - last_page);
    written_.clear(static_cast<std::uint64_t>(first_page - memory_) / page_,
                   static_cast<std::uint64_t>(last_page - memory_) / page_);
    if (madvise(first_page, last_page - first_page, MADV_DONTNEED) != 0) return last_system_error();
    return {};
  }

  std::uint64_t size_;
  bool read_only_;
  std::size_t page_;
  PageMap written_;
  std::byte* memory_;
};

}  // namespace

std::unique_ptr<Store> make_memory_store(std::uint64_t size, bool read_only) {
  return std::make_unique<MemoryStore>(size, read_only);
}

}  // namespace openiser::target
