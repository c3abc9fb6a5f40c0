#include "target/store/direct_io.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "target/store/blocking_io.h"
#include "target/store/transfer.h"

namespace openiser::target {
namespace {

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<std::byte, Free>;

AlignedMemory allocate(std::uint64_t size, std::uint32_t alignment) {
  const std::uint64_t whole = (size + alignment - 1) / alignment * alignment;
  return AlignedMemory(static_cast<std::byte*>(std::aligned_alloc(alignment, whole)));
}

// Owns itself until it is done.
class CopiedRequest final : public StoreRequest {
 public:
  CopiedRequest(StoreRequest& original, AlignedMemory memory)
      : original_(original), memory_(std::move(memory)), piece_(memory_.get(), original.length) {
    operation = original.operation;
    force_unit_access = original.force_unit_access;
    offset = original.offset;
    length = original.length;
    pieces = {&piece_, 1};
    if (operation == Operation::write) copy_pieces(original_, memory_.get());
  }
  void done() override {
    if (operation == Operation::read && !error) copy_pieces(original_, memory_.get());
    original_.error = error;
    StoreRequest& original = original_;
    delete this;
    original.done();
  }

 private:
  StoreRequest& original_;
  const AlignedMemory memory_;
  MutableBytes piece_;
};

}  // namespace

// Kernels before 6.1 do not say; a page is enough for every disk there is.
Result<DirectAlignment> direct_alignment(int fd) {
#ifdef STATX_DIOALIGN
  struct statx status {};
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0) {
    if (status.stx_dio_offset_align == 0) {
      return ErrorCode(EOPNOTSUPP, boost::system::generic_category());
    }
    return DirectAlignment{status.stx_dio_mem_align, status.stx_dio_offset_align};
  }
#else
  (void)fd;
#endif
  return DirectAlignment{4096, 4096};
}

bool is_aligned(const StoreRequest& request, const DirectAlignment& alignment) {
  return std::ranges::all_of(request.pieces, [&](const MutableBytes& piece) {
    return reinterpret_cast<std::uintptr_t>(piece.data()) % alignment.memory == 0 &&
           piece.size() % alignment.offset == 0;
  });
}

void submit_copied(int fd, StoreEngine& engine, StoreRequest& request,
                   const DirectAlignment& alignment) {
  AlignedMemory memory = allocate(request.length, std::max<std::uint32_t>(alignment.memory, 16));
  if (!memory) {
    request.error = {ENOMEM, boost::system::generic_category()};
    return request.done();
  }
  engine.submit(fd, *new CopiedRequest(request, std::move(memory)));
}

}  // namespace openiser::target
