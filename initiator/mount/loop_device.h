// A loop device over a file: the block device of `iser attach` and `iser mount`. Root only.
#pragma once

#include <cstdint>
#include <string>

namespace openiser::initiator {

// Whether this process may make loop devices; `why` says what is missing.
bool loop_devices_available(std::string& why);
// Attaches `file` to a free loop device and returns its path. Throws SessionError.
std::string attach_loop(const std::string& file, std::uint32_t block_size, bool read_only);
// Throws SessionError when it is in use.
void detach_loop(const std::string& device);

}  // namespace openiser::initiator
