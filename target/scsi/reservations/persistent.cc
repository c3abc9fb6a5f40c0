#include "target/scsi/reservations/persistent.h"

#include <algorithm>

namespace openiser::target {
namespace {

using Result = ReserveOutResult;
using Status = ReserveOutResult::Status;
using Type = ReservationType;

bool is_registrants_only(Type type) {
  return type == Type::write_exclusive_registrants_only ||
         type == Type::exclusive_access_registrants_only;
}

bool is_all_registrants(Type type) {
  return type == Type::write_exclusive_all_registrants ||
         type == Type::exclusive_access_all_registrants;
}

bool is_write_exclusive(Type type) {
  return type == Type::write_exclusive || type == Type::write_exclusive_registrants_only ||
         type == Type::write_exclusive_all_registrants;
}

Result conflict() {
  return {.status = Status::conflict};
}

Result failed(const Sense& sense) {
  return {.status = Status::failed, .sense = sense};
}

// Where the fields of the parameter list are (SPC-4 tables 218 and 220).
constexpr std::uint16_t kServiceActionKey = 8;
constexpr std::uint16_t kFlags = 20;
constexpr std::uint8_t kSpecIPt = 3;
// SCOPE and TYPE in the CDB.
constexpr std::uint16_t kScopeAndType = 2;

// Every registered nexus but `from` gets to know.
void tell_registered(const PersistentReservations& state, const ItNexus& from, Condition condition,
                     Result& result) {
  for (const Registration& each : state.registrations) {
    if (each.nexus != from) result.attentions.push_back({each.nexus, condition});
  }
}

void end_reservation(PersistentReservations& state) {
  state.type.reset();
  state.holder = {};
}

// SPC-4 section 5.12.11.2.2: registrants lose what a reservation of these types gave them.
void release_and_tell(PersistentReservations& state, const ItNexus& from, Result& result) {
  if (is_registrants_only(*state.type) || is_all_registrants(*state.type)) {
    tell_registered(state, from, Condition::reservations_released, result);
  }
  end_reservation(state);
}

// SPC-4 section 5.12.11.3: the reservation goes with its holder, or with the last of them.
void unregister(PersistentReservations& state, const ItNexus& nexus, const ItNexus& from,
                Result& result) {
  const bool held = state.is_holder(nexus);
  std::erase_if(state.registrations, [&](const auto& each) { return each.nexus == nexus; });
  if (held && (!state.all_registrants() || state.registrations.empty())) {
    release_and_tell(state, from, result);
  }
}

void set_key(PersistentReservations& state, const ItNexus& nexus, std::uint64_t key) {
  const auto found = std::ranges::find(state.registrations, nexus, &Registration::nexus);
  if (found != state.registrations.end()) {
    found->key = key;
  } else {
    state.registrations.push_back({nexus, key});
  }
}

// SPC-4 section 5.12.7, tables 60 and 61
Result register_key(const ReserveOut& command, PersistentReservations& state) {
  const bool checks_key = command.action == ReserveOutAction::register_key;
  const auto key_is_wrong = [&](const ItNexus& nexus) {
    const Registration* registration = state.find(nexus);
    return checks_key && registration && registration->key != command.key;
  };
  const Registration* own = state.find(command.from);
  if (checks_key && command.key != (own ? own->key : 0)) return conflict();
  if (std::ranges::any_of(command.other_ports, key_is_wrong)) return conflict();
  if (own && command.names_others) {
    return failed(invalid_parameter(kFlags, kSpecIPt));
  }
  Result result;
  if (!own && command.service_action_key == 0) return result;
  std::vector<ItNexus> all{command.from};
  all.insert(all.end(), command.other_ports.begin(), command.other_ports.end());
  if (command.service_action_key == 0) {
    for (const ItNexus& nexus : all) unregister(state, nexus, command.from, result);
  } else {
    // Of those that come by name none may be registered: it would have to have key 0.
    for (const ItNexus& nexus : command.others) {
      if (state.find(nexus)) return conflict();
    }
    all.insert(all.end(), command.others.begin(), command.others.end());
    for (const ItNexus& nexus : all) set_key(state, nexus, command.service_action_key);
  }
  state.survive_power_loss = command.survive_power_loss;
  ++state.generation;
  return result;
}

// SPC-4 section 5.12.9
Result reserve(const ReserveOut& command, PersistentReservations& state) {
  const auto type = reservation_type(command.type);
  if (!type) return failed(invalid_cdb(kScopeAndType, 3));
  if (!state.type) {
    state.type = type;
    if (!is_all_registrants(*type)) state.holder = command.from;
    return {};
  }
  return state.is_holder(command.from) && state.type == type ? Result{} : conflict();
}

// SPC-4 section 5.12.11.2
Result release(const ReserveOut& command, PersistentReservations& state) {
  const auto type = reservation_type(command.type);
  if (!type) return failed(invalid_cdb(kScopeAndType, 3));
  Result result;
  if (!state.is_holder(command.from)) return result;
  if (state.type != type) return failed({.condition = Condition::invalid_release});
  release_and_tell(state, command.from, result);
  return result;
}

// SPC-4 section 5.12.11.6
Result clear(const ReserveOut& command, PersistentReservations& state) {
  Result result;
  tell_registered(state, command.from, Condition::reservations_preempted, result);
  end_reservation(state);
  state.registrations.clear();
  ++state.generation;
  return result;
}

// Removes the registrations that `goes` picks. Who loses one gets to know, except for `from`.
template <class Goes>
std::size_t preempt_registrations(const ReserveOut& command, PersistentReservations& state,
                                  Goes goes, Result& result) {
  const bool aborts = command.action == ReserveOutAction::preempt_and_abort;
  return std::erase_if(state.registrations, [&](const Registration& each) {
    if (!goes(each)) return false;
    if (each.nexus == command.from) return true;
    result.attentions.push_back({each.nexus, Condition::registrations_preempted});
    if (aborts) result.aborted.push_back(each.nexus);
    return true;
  });
}

// SPC-4 section 5.12.11.4.3: takes the reservation over; the type may change with it.
Result preempt_reservation(const ReserveOut& command, PersistentReservations& state) {
  const auto type = reservation_type(command.type);
  if (!type) return failed(invalid_cdb(kScopeAndType, 3));
  Result result;
  const bool all = state.all_registrants();
  const auto goes = [&](const Registration& each) {
    return each.nexus != command.from && (all || each.key == command.service_action_key);
  };
  preempt_registrations(command, state, goes, result);
  if (state.type != type) {
    tell_registered(state, command.from, Condition::reservations_released, result);
  }
  state.type = type;
  state.holder = is_all_registrants(*type) ? ItNexus{} : command.from;
  ++state.generation;
  return result;
}

// SPC-4 section 5.12.11.4.4: the reservation stays, unless nobody is left who could hold it.
Result remove_registrations(const ReserveOut& command, PersistentReservations& state) {
  Result result;
  const auto goes = [&](const Registration& each) {
    return each.key == command.service_action_key;
  };
  if (preempt_registrations(command, state, goes, result) == 0) return conflict();
  if (state.registrations.empty()) end_reservation(state);
  ++state.generation;
  return result;
}

// SPC-4 section 5.12.11.4.1: the service action reservation key says which of the two it is.
Result preempt(const ReserveOut& command, PersistentReservations& state) {
  const std::uint64_t victim = command.service_action_key;
  if (state.all_registrants()) {
    return victim == 0 ? preempt_reservation(command, state) : remove_registrations(command, state);
  }
  if (victim == 0) return failed(invalid_parameter(kServiceActionKey));
  const bool holders = state.type && state.find(state.holder)->key == victim;
  return holders ? preempt_reservation(command, state) : remove_registrations(command, state);
}

// SPC-4 section 5.12.8
Result register_and_move(const ReserveOut& command, PersistentReservations& state) {
  constexpr std::uint16_t kTransportId = 24;
  if (!state.type) return failed(invalid_cdb(1, 4));
  if (state.all_registrants() || !state.is_holder(command.from)) return conflict();
  if (command.service_action_key == 0) return failed(invalid_parameter(kServiceActionKey));
  if (command.destination.initiator_port == command.from.initiator_port) {
    return failed(invalid_parameter(kTransportId));
  }
  Result result;
  set_key(state, command.destination, command.service_action_key);
  state.holder = command.destination;
  if (command.unregister) unregister(state, command.from, command.from, result);
  state.survive_power_loss = command.survive_power_loss;
  ++state.generation;
  return result;
}

// What only a registered nexus may ask, with its key.
Result as_registered(const ReserveOut& command, PersistentReservations& state) {
  const Registration* own = state.find(command.from);
  if (!own || own->key != command.key) return conflict();
  switch (command.action) {
    case ReserveOutAction::reserve:
      return reserve(command, state);
    case ReserveOutAction::release:
      return release(command, state);
    case ReserveOutAction::clear:
      return clear(command, state);
    case ReserveOutAction::register_and_move:
      return register_and_move(command, state);
    default:
      return preempt(command, state);
  }
}

}  // namespace

std::optional<ReservationType> reservation_type(std::uint8_t code) {
  switch (static_cast<Type>(code)) {
    case Type::write_exclusive:
    case Type::exclusive_access:
    case Type::write_exclusive_registrants_only:
    case Type::exclusive_access_registrants_only:
    case Type::write_exclusive_all_registrants:
    case Type::exclusive_access_all_registrants:
      return static_cast<Type>(code);
  }
  return {};
}

const Registration* PersistentReservations::find(const ItNexus& nexus) const {
  const auto found = std::ranges::find(registrations, nexus, &Registration::nexus);
  return found == registrations.end() ? nullptr : &*found;
}

bool PersistentReservations::all_registrants() const {
  return type && is_all_registrants(*type);
}

bool PersistentReservations::is_holder(const ItNexus& nexus) const {
  if (!type) return false;
  return all_registrants() ? find(nexus) != nullptr : holder == nexus;
}

// SPC-4 tables 66 and 67, SBC-3 table 13: each command is in one of two kinds.
ConflictSet PersistentReservations::conflicts_of(const ItNexus& nexus) const {
  ConflictSet set;
  if (!type || is_holder(nexus)) return set;
  if (is_registrants_only(*type) && find(nexus)) return set;
  set.add(ConflictsWith::any_reservation);
  if (!is_write_exclusive(*type)) set.add(ConflictsWith::exclusive_access);
  return set;
}

bool PersistentReservations::passes_reserve_and_release(const ItNexus& nexus) const {
  return is_holder(nexus) || (type && is_registrants_only(*type) && find(nexus));
}

ReserveOutResult carry_out(const ReserveOut& command, PersistentReservations& state) {
  const bool registers = command.action == ReserveOutAction::register_key ||
                         command.action == ReserveOutAction::register_and_ignore_existing_key;
  Result result = registers ? register_key(command, state) : as_registered(command, state);
  if (result.status == Status::good &&
      state.registrations.size() > PersistentReservations::kMaxRegistrations) {
    return failed({.condition = Condition::insufficient_registration_resources});
  }
  return result;
}

}  // namespace openiser::target
