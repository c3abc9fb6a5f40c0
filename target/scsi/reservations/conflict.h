// What reservations a command conflicts with. One word for each command, in the opcode table.
#pragma once

#include <cstdint>

namespace openiser::target {

// From `reserve` to `any_reservation` each conflicts with what the one before does, and more.
enum class ConflictsWith : std::uint8_t {
  nothing,
  reserve,            // RESERVE of another nexus (SPC-2 section 5.5.1)
  exclusive_access,   // and persistent reservations of exclusive access
  any_reservation,    // and of write exclusive
  reserve_of_anyone,  // RESERVE alone, of this nexus too: PERSISTENT RESERVE IN and OUT
  by_handler,         // which looks for itself
};

// The kinds of commands that a nexus is refused at a logical unit.
class ConflictSet {
 public:
  constexpr ConflictSet() = default;
  constexpr ConflictSet& add(ConflictsWith kind) {
    bits_ = static_cast<std::uint8_t>(bits_ | 1U << static_cast<unsigned>(kind));
    return *this;
  }
  constexpr bool contains(ConflictsWith kind) const {
    return (bits_ >> static_cast<unsigned>(kind) & 1U) != 0;
  }

 private:
  std::uint8_t bits_ = 0;
};

}  // namespace openiser::target
