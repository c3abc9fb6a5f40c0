#include "target/scsi/nexus_state.h"

namespace openiser::target {
namespace {

// A command that writes, sent as one that reads. The other way round a command is harmless: it
// finds no room for its data.
bool is_wrong_way(const Command& command, Direction direction) {
  const iscsi::TargetTask& task = command.task();
  return direction == Direction::out && task.read && !task.write &&
         task.expected_data_transfer_length != 0;
}

// The last byte of every CDB is CONTROL; NACA (bit 2) asks for what we have not (NORMACA=0).
bool wants_aca(Bytes cdb, const OpcodeRow& row) {
  return (load_u8(&cdb[row.cdb_length - 1]) & 0x04) != 0;
}

bool is_missing(const OpcodeRow& row, const LogicalUnit* unit) {
  return unit && !unit->provides(row.access) && !unit->write_protected();
}

bool conflicts(const Command& command, const OpcodeRow& row) {
  return command.unit() && !is_missing(row, command.unit()) &&
         conflicts_with_reservation(command, row.conflicts_with);
}

// Why the access state of the unit does not let the command through (SPC-4 section 5.15.2.4).
std::optional<Condition> inaccessible(const Command& command, unsigned access) {
  switch (access_state(command)) {
    case AccessState::active_optimized:
    case AccessState::active_non_optimized:
      return {};
    case AccessState::standby:
      if ((access & access::in_standby) != 0) return {};
      return Condition::port_in_standby_state;
    case AccessState::unavailable:
      if ((access & access::in_unavailable) != 0) return {};
      return Condition::port_in_unavailable_state;
    case AccessState::transitioning:
      if ((access & access::in_transition) != 0) return {};
      return Condition::access_state_transition;
  }
  return {};
}

// Why nothing may be written to the unit by this command.
std::optional<Condition> unwritable(const Command& command) {
  if (command.unit_state()->read_only) return Condition::write_protected;
  return command.unit()->unwritable();
}

// Work on the whole medium stops all but what tells about the unit; a failure, all but what repairs
// it, too. (SBC-3 sections 4.11.2 and 4.11.3)
std::optional<Sense> trouble_for(const OpcodeRow& row, const Medium& medium) {
  const Medium::State state = medium.state();
  const bool works = state == Medium::State::sanitizing || state == Medium::State::formatting;
  if ((row.access & access::passes_attention) != 0) return {};
  if (!works && (row.access & access::repairs_medium) != 0) return {};
  return medium.trouble();
}

void run_row(Command& command, const OpcodeRow& row) {
  const Bytes cdb = command.task().cdb;
  const LogicalUnit* unit = command.unit();
  if (const auto condition = unit ? inaccessible(command, row.access) : std::nullopt) {
    return command.fail({.condition = *condition});
  }
  if (cdb.size() < row.cdb_length) {
    return command.fail({.condition = Condition::invalid_field_in_cdb});
  }
  if (is_missing(row, unit)) return command.fail({.condition = Condition::invalid_opcode});
  if (wants_aca(cdb, row)) return command.fail(invalid_cdb(row.cdb_length - 1U, 2));
  if (is_wrong_way(command, row.direction)) {
    return command.fail({.condition = Condition::data_phase_error});
  }
  if (unit && (row.access & access::writes) != 0) {
    if (const auto condition = unwritable(command)) return command.fail({.condition = *condition});
  }
  if (unit && unit->medium().state() != Medium::State::usable) {
    if (const auto trouble = trouble_for(row, unit->medium())) return command.fail(*trouble);
  }
  row.handler(command);
}

}  // namespace

AccessState access_state(const Command& command) {
  const PortGroup* group = command.unit_state()->port_group;
  return group ? group->state() : AccessState::active_optimized;
}

bool conflicts_with_reservation(const Command& command, ConflictsWith kind) {
  return command.unit_state()->reservations.conflicts(command.unit()->reservations(),
                                                      command.nexus().i_t_nexus(), kind);
}

void dispatch(Command& command) {
  const Bytes cdb = command.task().cdb;
  if (cdb.empty()) return command.fail({.condition = Condition::invalid_opcode});
  const std::uint8_t service_action = cdb.size() > 1 ? load_u8(&cdb[1]) & 0x1f : 0;
  const OpcodeMatch match = find_opcode(load_u8(&cdb[0]), service_action);
  const unsigned access = match.row ? match.row->access : 0;

  if (!command.unit() && (access & access::any_lun) == 0) {
    return command.fail({.condition = Condition::logical_unit_not_supported});
  }
  // There is no auto contingent allegiance here to be cleared (SAM-5 section 8.6.5).
  if (command.task().attribute == iscsi::TaskAttribute::aca) {
    return command.fail({.condition = Condition::invalid_message});
  }
  UnitAttentions* attentions = command.unit() && (access & access::passes_attention) == 0
                                   ? &command.unit_state()->attentions
                                   : nullptr;
  // The order of SAM-5 section 5.3.3.
  if (const auto reset = attentions ? attentions->take_reset() : std::nullopt) {
    return command.fail({.condition = *reset});
  }
  if (match.row && conflicts(command, *match.row)) return command.refuse_for_reservation();
  if (const auto attention = attentions ? attentions->take() : std::nullopt) {
    return command.fail({.condition = *attention});
  }
  if (match.unknown_service_action) return command.fail(invalid_cdb(1, 4));
  if (!match.row) return command.fail({.condition = Condition::invalid_opcode});
  run_row(command, *match.row);
}

}  // namespace openiser::target
