// What O_DIRECT asks of requests, and a way round it for those that cannot give it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "target/store/store.h"

namespace openiser::target {

// Powers of two, bytes.
struct DirectAlignment {
  std::uint32_t memory = 0;  // of addresses and lengths in memory
  std::uint32_t offset = 0;  // of places and lengths in the file
};

// Of a file opened with O_DIRECT. EOPNOTSUPP where its file system has no direct I/O.
Result<DirectAlignment> direct_alignment(int fd);

bool is_aligned(const StoreRequest& request, const DirectAlignment& alignment);

// Carries a read or write out through aligned memory of its own: one copy more. ENOMEM where there
// is none.
void submit_copied(int fd, StoreEngine& engine, StoreRequest& request,
                   const DirectAlignment& alignment);

}  // namespace openiser::target
