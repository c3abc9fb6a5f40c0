// Store requests done by system calls on the calling thread, start to end.
#pragma once

#include "base/result.h"
#include "target/store/store.h"

namespace openiser::target {

// What a failed system call left in errno.
ErrorCode last_system_error();

// May block for as long as the disk takes. A file that ends before the request does gives EIO.
ErrorCode perform(int fd, StoreRequest& request);

// One attempt at a read by preadv2 with `flags`; false when that did not give all of it, and the
// request is as good as new.
bool try_read(int fd, const StoreRequest& request, int flags);

// Whether the file is memory itself (tmpfs), so that nothing done to it waits for a disk. A
// device's node is not, although /dev is a tmpfs.
bool is_in_memory(int fd);

}  // namespace openiser::target
