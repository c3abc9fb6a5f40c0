// wr_id tells completions of the send queue, which are numbered, from those of receives, since that
// of a failed work has no opcode.
#pragma once

#include <cstdint>

namespace openiser::rdmap {

constexpr std::uint64_t kReceiveNumber = UINT64_MAX;
}  // namespace openiser::rdmap
