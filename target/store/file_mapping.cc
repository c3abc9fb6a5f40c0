#include "target/store/file_mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "target/store/guarded_copy.h"

namespace openiser::target {
namespace {

// A mapping costs a bit a page from the start, and an address range.
constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;

}  // namespace

std::unique_ptr<FileMapping> FileMapping::create(int fd, std::uint64_t size, bool read_only) {
  if (size == 0 || size > kLargest) return nullptr;
  const int protection = read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* memory = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<FileMapping>(
      new FileMapping(static_cast<std::byte*>(memory), size, read_only));
}

FileMapping::FileMapping(std::byte* memory, std::uint64_t size, bool read_only)
    : memory_(memory),
      size_(size),
      read_only_(read_only),
      page_(static_cast<std::size_t>(getpagesize())),
      present_(size / page_ + 1) {}

FileMapping::~FileMapping() {
  munmap(memory_, size_);
}

bool FileMapping::perform(const StoreRequest& request) {
  const bool moves = request.operation == StoreRequest::Operation::read ||
                     request.operation == StoreRequest::Operation::write;
  if (!moves || !is_mapped(request)) return false;
  const auto [first, end] = pages_of(request);
  if (!present_.is_marked(first) || present_.change(first, end) != end) return false;
  if (copy_pieces_guarded(request, memory_ + request.offset)) return true;
  present_.clear(first, end);
  return false;
}

void FileMapping::about_to(const StoreRequest& request) {
  const bool deallocates = request.operation == StoreRequest::Operation::discard ||
                           request.operation == StoreRequest::Operation::write_zeroes;
  if (!deallocates || !is_mapped(request)) return;
  const auto [first, end] = pages_of(request);
  present_.clear(first, end);
}

void FileMapping::has_done(const StoreRequest& request) {
  if (!is_mapped(request)) return;
  const auto [first, end] = pages_of(request);
  if (request.operation == StoreRequest::Operation::write) mark({first, end});
  if (request.operation == StoreRequest::Operation::read) note_present({first, end});
}

bool FileMapping::is_mapped(const StoreRequest& request) const {
  return request.length != 0 && request.offset <= size_ && request.length <= size_ - request.offset;
}

FileMapping::Pages FileMapping::pages_of(const StoreRequest& request) const {
  return {request.offset / page_, (request.offset + request.length - 1) / page_ + 1};
}

// mincore(2) tells what pages the file has in memory, whether this process has touched them or not.
// It is asked for some around those that were read too, which costs little more.
void FileMapping::note_present(Pages pages) {
  constexpr std::uint64_t kAround = 16;
  pages.first = pages.first / kAround * kAround;
  pages.end = std::min((pages.end + kAround - 1) / kAround * kAround, (size_ + page_ - 1) / page_);
  std::array<unsigned char, 256> in_memory;
  for (std::uint64_t at = pages.first; at < pages.end; at += in_memory.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(in_memory.size(), pages.end - at);
    if (mincore(memory_ + at * page_, count * page_, in_memory.data()) != 0) return;
    for (std::uint64_t i = 0; i < count;) {
      const std::uint64_t start = i;
      while (i < count && (in_memory[i] & 1) != 0) ++i;
      if (i > start) mark({at + start, at + i});
      if (i < count) ++i;
    }
  }
}

// The pages will be used: to map them all now takes one call instead of a fault each. Kernels
// before 5.14 cannot.
void FileMapping::mark(Pages present) {
  madvise(memory_ + present.first * page_, (present.end - present.first) * page_,
          read_only_ ? MADV_POPULATE_READ : MADV_POPULATE_WRITE);
  present_.mark(present.first, present.end);
}

}  // namespace openiser::target
