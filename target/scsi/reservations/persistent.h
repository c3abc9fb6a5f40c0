// Persistent reservations of one logical unit (SPC-4 section 5.12) as a value, and what PERSISTENT
// RESERVE OUT makes of it. Nothing here knows threads, sessions or files.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "target/scsi/reservations/conflict.h"
#include "target/scsi/reservations/it_nexus.h"
#include "target/scsi/sense.h"

namespace openiser::target {

// SPC-4 table 217
enum class ReservationType : std::uint8_t {
  write_exclusive = 1,
  exclusive_access = 3,
  write_exclusive_registrants_only = 5,
  exclusive_access_registrants_only = 6,
  write_exclusive_all_registrants = 7,
  exclusive_access_all_registrants = 8,
};
std::optional<ReservationType> reservation_type(std::uint8_t code);

struct Registration {
  ItNexus nexus{};
  std::uint64_t key = 0;  // never 0

  friend bool operator==(const Registration&, const Registration&) = default;
};

struct PersistentReservations {
  // What a unit can remember; more is INSUFFICIENT REGISTRATION RESOURCES.
  static constexpr std::size_t kMaxRegistrations = 1024;

  std::vector<Registration>
      registrations{};                    // in the order they were made; a nexus has one at most
  std::optional<ReservationType> type{};  // of the reservation, if there is one
  ItNexus holder{};                       // of a type that has only one
  std::uint32_t generation = 0;           // PRGENERATION
  bool survive_power_loss = false;        // APTPL as last set

  const Registration* find(const ItNexus& nexus) const;
  bool all_registrants() const;
  // The persistent reservation holder, or one of them (SPC-4 section 5.12.10).
  bool is_holder(const ItNexus& nexus) const;
  // What the reservation refuses to `nexus`.
  ConflictSet conflicts_of(const ItNexus& nexus) const;
  // RESERVE and RELEASE of this nexus are GOOD and do nothing, though there are registrations
  // (SPC-4 section 5.12.3; others conflict).
  bool passes_reserve_and_release(const ItNexus& nexus) const;

  friend bool operator==(const PersistentReservations&, const PersistentReservations&) = default;
};

// Service actions of PERSISTENT RESERVE OUT (SPC-4 table 216).
enum class ReserveOutAction : std::uint8_t {
  register_key = 0,
  reserve = 1,
  release = 2,
  clear = 3,
  preempt = 4,
  preempt_and_abort = 5,
  register_and_ignore_existing_key = 6,
  register_and_move = 7,
};

// A PERSISTENT RESERVE OUT, as its CDB and parameter list have it.
struct ReserveOut {
  ItNexus from{};
  ReserveOutAction action = ReserveOutAction::register_key;
  std::uint8_t type = 0;
  std::uint64_t key = 0;                 // RESERVATION KEY
  std::uint64_t service_action_key = 0;  // SERVICE ACTION RESERVATION KEY
  bool survive_power_loss = false;       // APTPL
  bool names_others = false;             // SPEC_I_PT
  // REGISTER: the nexuses of other initiator ports (SPEC_I_PT), each through every port that is
  // meant.
  std::vector<ItNexus> others{};
  // REGISTER, REGISTER AND IGNORE EXISTING KEY: the nexuses of this initiator port through the
  // other target ports (ALL_TG_PT).
  std::vector<ItNexus> other_ports{};
  // REGISTER AND MOVE
  ItNexus destination{};
  bool unregister = false;  // UNREG
};

struct ReserveOutResult {
  enum class Status : std::uint8_t { good, conflict, failed };
  struct Attention {
    ItNexus nexus{};
    Condition condition = Condition::no_sense;

    friend bool operator==(const Attention&, const Attention&) = default;
  };

  Status status = Status::good;
  Sense sense{};                        // of `failed`
  std::vector<Attention> attentions{};  // to be raised
  std::vector<ItNexus> aborted{};       // whose tasks end (PREEMPT AND ABORT)
};

// Carries the command out on `state`, which is of use afterwards only if the status is good.
ReserveOutResult carry_out(const ReserveOut& command, PersistentReservations& state);

}  // namespace openiser::target
