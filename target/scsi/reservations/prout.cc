// PERSISTENT RESERVE OUT (SPC-4 section 6.16). The commands of a unit are carried out one after the
// other. What has to survive a loss of power is on stable storage before it comes into force.
#include <algorithm>
#include <memory>
#include <utility>

#include "target/scsi/handlers.h"
#include "target/scsi/kept_state.h"
#include "target/scsi/nexus_state.h"
#include "target/scsi/reservations/parameter_list.h"
#include "target/scsi/reservations/saved.h"

namespace openiser::target {
namespace {

constexpr std::uint32_t kLeastList = 24;
constexpr std::uint32_t kMostList = 65536;

// A change that is being made: what there will be, and who has to know.
struct Change {
  PersistentReservations next;
  ReserveOutResult result;
};

// Those that are logged in to the target, and those that are registered.
std::vector<ItNexus> known_nexuses(const Command& command, const PersistentReservations& state) {
  std::vector<ItNexus> known = command.nexus().device().nexuses->names();
  for (const Registration& each : state.registrations) known.push_back(each.nexus);
  return known;
}

// There is one target port in each portal group that the target is served through.
std::vector<std::uint16_t> target_ports(LogicalUnit& unit) {
  std::vector<std::uint16_t> ports;
  for (const PortGroup& group : unit.port_groups().all()) {
    if (group.served()) ports.push_back(group.tag());
  }
  return ports;
}

std::variant<ReserveOut, Sense> read_command(Command& command,
                                             const PersistentReservations& state) {
  const Cdb cdb = command.cdb();
  const std::vector<ItNexus> known = known_nexuses(command, state);
  const std::vector<std::uint16_t> ports = target_ports(*command.unit());
  std::vector<std::byte> list = command.gather_data();
  list.resize(std::min<std::size_t>(list.size(), cdb.be32(5)));
  return read_parameter_list(list,
                             {.from = command.nexus().i_t_nexus(),
                              .action = static_cast<ReserveOutAction>(cdb.u8(1) & 0x1f),
                              .type = static_cast<std::uint8_t>(cdb.u8(2) & 0x0f),
                              .can_survive_power_loss = command.unit()->settings().state != nullptr,
                              .target_ports = ports,
                              .known = known});
}

// A nexus whose tasks have been aborted may be told of that, too, beside what became of its
// registration.
void tell(Nexus& nexus, const LogicalUnit& unit, const ReserveOutResult& result,
          Command::Ending how, const std::shared_ptr<void>& token) {
  for (const auto& [who, condition] : result.attentions) {
    if (who == nexus.i_t_nexus()) nexus.raise(unit.lun(), condition);
  }
  if (std::ranges::find(result.aborted, nexus.i_t_nexus()) == result.aborted.end()) return;
  nexus.clear_for_another(unit, token, how);
}

// The change comes into force. The status follows when every nexus concerned knows of it, and tasks
// that were to end no longer touch the store.
void come_into_force(Command& command, const std::shared_ptr<Change>& change) {
  LogicalUnit& unit = *command.unit();
  unit.reservations().end_change(std::move(change->next));
  const std::uint64_t length = command.work().transfer_length;
  const auto& result = change->result;
  if (result.attentions.empty() && result.aborted.empty()) return command.good(length);
  const auto token = command.good_when_let_go(length);
  const auto how = ending_for_others(unit);
  unit.post_to_nexuses(command.nexus().mailbox().get(),
                       [change, token, how, shared = unit.shared_from_this()](Nexus& nexus) {
                         tell(nexus, *shared, change->result, how, token);
                       });
}

Sense sense_of_save_error(ErrorCode error) {
  const bool full = error.value() == ENOSPC || error.value() == EDQUOT;
  return {.condition = full ? Condition::insufficient_registration_resources
                            : Condition::internal_target_failure};
}

std::vector<std::byte> to_be_kept(const PersistentReservations& state) {
  const bool keeps = state.survive_power_loss && !state.registrations.empty();
  return keeps ? encode_saved(state) : std::vector<std::byte>();
}

void keep_first(Command& command, const std::shared_ptr<Change>& change) {
  LogicalUnit& unit = *command.unit();
  save_first(command, unit.kept_state(kReservationsKind, kReservationsVersion),
             to_be_kept(change->next), [&command, &unit, change](ErrorCode error) {
               if (!error) return come_into_force(command, change);
               unit.reservations().end_change({});
               command.fail(sense_of_save_error(error));
             });
}

// The command has its data, and no other of its kind is under way on this unit.
void change_reservations(Command& command) {
  UnitReservations& reservations = command.unit()->reservations();
  const auto before = reservations.begin_change();
  if (!before) return command.refuse_for_reservation();
  const auto change = std::make_shared<Change>(Change{.next = *before, .result = {}});
  const auto read = read_command(command, *before);
  if (const auto* out = std::get_if<ReserveOut>(&read)) {
    change->result = carry_out(*out, change->next);
  } else {
    change->result = {.status = ReserveOutResult::Status::failed, .sense = std::get<Sense>(read)};
  }
  if (change->result.status != ReserveOutResult::Status::good) {
    reservations.end_change({});
    const bool conflict = change->result.status == ReserveOutResult::Status::conflict;
    return conflict ? command.refuse_for_reservation() : command.fail(change->result.sense);
  }
  const bool saves = before->survive_power_loss || change->next.survive_power_loss;
  if (saves && change->next != *before) return keep_first(command, change);
  come_into_force(command, change);
}

void list_received(Command& command) {
  command.wait_for_gate(command.unit()->reservations_gate(), change_reservations);
}

}  // namespace

void persistent_reserve_out(Command& command) {
  const Cdb cdb = command.cdb();
  const std::uint32_t length = cdb.be32(5);
  const auto action = static_cast<ReserveOutAction>(cdb.u8(1) & 0x1f);
  const bool has_scope = action == ReserveOutAction::reserve || action == ReserveOutAction::release;
  if (has_scope && (cdb.u8(2) & 0xf0) != 0) return command.fail(invalid_cdb(2, 7));
  if (length < kLeastList || length > kMostList) {
    return command.fail({.condition = Condition::parameter_list_length_error});
  }
  command.work().transfer_length = length;
  command.receive(length, list_received);
}

}  // namespace openiser::target
