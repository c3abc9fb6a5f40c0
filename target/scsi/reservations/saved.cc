#include "target/scsi/reservations/saved.h"

#include <iomanip>
#include <sstream>

namespace openiser::target {
namespace {

bool read_registrations(std::istream& in, PersistentReservations& state) {
  std::string word;
  while (in >> word) {
    Registration each;
    bool holds = false;
    if (word != "registration" || !(in >> std::hex >> each.key >> std::dec >> holds >>
                                    each.nexus.relative_target_port >> each.nexus.initiator_port)) {
      return false;
    }
    if (each.key == 0 || state.find(each.nexus)) return false;
    if (holds) state.holder = each.nexus;
    state.registrations.push_back(std::move(each));
  }
  return in.eof();
}

}  // namespace

std::vector<std::byte> encode_saved(const PersistentReservations& state) {
  std::ostringstream out;
  out << "type " << (state.type ? static_cast<unsigned>(*state.type) : 0U) << '\n';
  for (const Registration& each : state.registrations) {
    const bool holds = state.type && !state.all_registrants() && state.holder == each.nexus;
    out << "registration " << std::hex << std::setw(16) << std::setfill('0') << each.key << std::dec
        << ' ' << holds << ' ' << each.nexus.relative_target_port << ' '
        << each.nexus.initiator_port << '\n';
  }
  const std::string text = out.str();
  const Bytes bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::optional<PersistentReservations> decode_saved(Bytes content) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(content.data()), content.size()));
  PersistentReservations state{.survive_power_loss = true};
  std::string word;
  unsigned type = 0;
  if (!(in >> word >> type) || word != "type" || type > UINT8_MAX) return {};
  state.type = reservation_type(static_cast<std::uint8_t>(type));
  if (type != 0 && !state.type) return {};
  if (!read_registrations(in, state) || state.registrations.empty()) return {};
  const bool needs_holder = state.type && !state.all_registrants();
  if (needs_holder != !state.holder.initiator_port.empty()) return {};
  return state;
}

}  // namespace openiser::target
