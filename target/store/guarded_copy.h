// Copies to and from mapped files.
#pragma once

#include "target/store/store.h"

namespace openiser::target {

// copy_pieces() where `memory` is a mapped file. False when the file has no such page any more, or
// no room for one: somebody has cut it short, or its file system is full. What was copied until
// then stays. From the first call on the process's SIGBUS is caught, and ends it as ever where it
// is not about such a copy.
bool copy_pieces_guarded(const StoreRequest& request, std::byte* memory);

}  // namespace openiser::target
