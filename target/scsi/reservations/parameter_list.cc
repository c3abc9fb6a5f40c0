#include "target/scsi/reservations/parameter_list.h"

#include <algorithm>

#include "target/scsi/reservations/transport_id.h"

namespace openiser::target {
namespace {

constexpr std::size_t kBasicSize = 24;
constexpr Sense kWrongLength{.condition = Condition::parameter_list_length_error};

class Reader {
 public:
  Reader(Bytes list, const ReserveOutContext& context) : list_(list), context_(context) {
    command_.from = context.from;
    command_.action = context.action;
    command_.type = context.type;
  }

  // Null, or what is wrong.
  std::optional<Sense> read() {
    if (list_.size() < kBasicSize) return kWrongLength;
    command_.key = load_be64(&list_[0]);
    command_.service_action_key = load_be64(&list_[8]);
    return context_.action == ReserveOutAction::register_and_move ? read_move() : read_basic();
  }
  ReserveOut& command() { return command_; }

 private:
  bool flag(std::size_t byte, unsigned bit) const {
    return (load_u8(&list_[byte]) >> bit & 1) != 0;
  }

  // SPC-4 table 218
  std::optional<Sense> read_basic() {
    constexpr std::uint16_t kFlags = 20;
    constexpr std::uint8_t kSpecIPt = 3, kAllTgPt = 2, kAptpl = 0;
    const bool ignores = context_.action == ReserveOutAction::register_and_ignore_existing_key;
    const bool registers = ignores || context_.action == ReserveOutAction::register_key;
    const bool all_ports = registers && flag(kFlags, kAllTgPt);
    command_.names_others = flag(kFlags, kSpecIPt);
    if (command_.names_others && (ignores || !registers))
      return invalid_parameter(kFlags, kSpecIPt);
    command_.survive_power_loss = registers && flag(kFlags, kAptpl);
    if (command_.survive_power_loss && !context_.can_survive_power_loss) {
      return invalid_parameter(kFlags, kAptpl);
    }
    if (!command_.names_others) {
      if (list_.size() != kBasicSize) return kWrongLength;
    } else if (const auto fault = read_others(all_ports)) {
      return fault;
    }
    if (all_ports) add_ports(context_.from.initiator_port, command_.other_ports);
    std::erase(command_.other_ports, context_.from);
    return {};
  }

  // The TransportIDs behind the basic list (SPC-4 table 219).
  std::optional<Sense> read_others(bool all_ports) {
    constexpr std::size_t kFirst = 28;
    if (list_.size() < kFirst || list_.size() - kFirst != load_be32(&list_[kBasicSize])) {
      return kWrongLength;
    }
    for (std::size_t at = kFirst; at != list_.size();) {
      const auto id = decode_transport_id(list_.subspan(at));
      if (!id || !add_other(*id, all_ports)) return invalid_parameter(at);
      at += id->size;
    }
    return {};
  }

  // An initiator's name without a port stands for all its ports that are known; false: there are
  // none.
  bool add_other(const TransportId& id, bool all_ports) {
    if (id.is_port) return add_port(id.name, all_ports);
    bool any = false;
    for (const ItNexus& each : context_.known) {
      if (!each.initiator_port.starts_with(id.name + ",")) continue;
      any = add_port(each.initiator_port, all_ports);
    }
    return any;
  }
  bool add_port(const std::string& initiator_port, bool all_ports) {
    if (initiator_port == context_.from.initiator_port) return true;  // registers anyway
    if (all_ports) {
      add_ports(initiator_port, command_.others);
    } else {
      add({initiator_port, context_.from.relative_target_port}, command_.others);
    }
    return true;
  }
  void add_ports(const std::string& initiator_port, std::vector<ItNexus>& to) const {
    for (const std::uint16_t port : context_.target_ports) add({initiator_port, port}, to);
  }
  static void add(ItNexus nexus, std::vector<ItNexus>& to) {
    if (std::ranges::find(to, nexus) == to.end()) to.push_back(std::move(nexus));
  }

  // SPC-4 table 220
  std::optional<Sense> read_move() {
    constexpr std::uint16_t kFlags = 17, kRelativePort = 18, kLength = 20;
    constexpr std::uint8_t kUnreg = 1, kAptpl = 0;
    if (list_.size() - kBasicSize != load_be32(&list_[kLength])) return kWrongLength;
    command_.unregister = flag(kFlags, kUnreg);
    command_.survive_power_loss = flag(kFlags, kAptpl);
    if (command_.survive_power_loss && !context_.can_survive_power_loss) {
      return invalid_parameter(kFlags, kAptpl);
    }
    const std::uint16_t port = load_be16(&list_[kRelativePort]);
    if (std::ranges::find(context_.target_ports, port) == context_.target_ports.end()) {
      return invalid_parameter(kRelativePort);
    }
    const Bytes rest = list_.subspan(kBasicSize);
    const auto id = decode_transport_id(rest);
    if (!id || !id->is_port || id->size != rest.size()) return invalid_parameter(kBasicSize);
    command_.destination = {id->name, port};
    return {};
  }

  const Bytes list_;
  const ReserveOutContext& context_;
  ReserveOut command_;
};

}  // namespace

std::variant<ReserveOut, Sense> read_parameter_list(Bytes list, const ReserveOutContext& context) {
  Reader reader(list, context);
  if (const auto fault = reader.read()) return *fault;
  return std::move(reader.command());
}

}  // namespace openiser::target
