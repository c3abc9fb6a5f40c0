// What a fuzzer's input is made of: control bytes, then a byte stream or records.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

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

// The same; or, with the top bit set, that many bytes of which only the first are in the input: a
// byte counts them, the rest is zero. Large messages of small inputs.
inline std::vector<std::byte> take_expanded(ByteReader& in) {
  const std::size_t announced = in.be16();
  const bool expands = (announced & 0x8000) != 0;
  const std::size_t there = expands ? in.u8() : announced;
  const Bytes bytes = in.bytes(std::min(there, in.remaining()));
  std::vector<std::byte> content(bytes.begin(), bytes.end());
  if (expands) content.resize(announced & 0x7fff);
  return content;
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
