// What a fuzzer's input is made of: control bytes, then a byte stream or records.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/bytes.h"
#include "base/clock.h"

namespace openiser::fuzz {

inline constexpr Time kStart{std::chrono::hours(1)};

inline ByteReader input_of(const std::uint8_t* data, std::size_t size) {
  return ByteReader({reinterpret_cast<const std::byte*>(data), size});
}

// Two bytes of length and what they announce, or what is left of it.
inline Bytes take_record(ByteReader& in) {
  const std::size_t announced = in.be16();
  return in.bytes(std::min(announced, in.remaining()));
}

// The largest piece that a stream is fed in, from a control byte.
inline std::size_t step_of(std::uint8_t control) {
  return std::size_t{1} + control * 16u;
}

// What must hold whatever the peer does.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace openiser::fuzz
