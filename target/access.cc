#include "target/access.h"

#include <arpa/inet.h>

#include <algorithm>

namespace openiser::target {

namespace {

bool same_start(const AddressBytes& a, const AddressBytes& b, unsigned bits) {
  const auto whole = a.begin() + bits / 8;
  if (!std::equal(a.begin(), whole, b.begin())) return false;
  if (bits % 8 == 0) return true;
  const auto rest = static_cast<unsigned>(*whole ^ b[bits / 8]);
  return rest >> (8 - bits % 8) == 0;
}

}  // namespace

// Goes back to the last * where it does not fit: at most |pattern| times |name| steps.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0, taken = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (taken < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = taken;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[taken])) {
      ++at;
      ++taken;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      taken = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

std::optional<AddressBytes> address_bytes(std::string_view address) {
  AddressBytes bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::string host(address.substr(0, address.rfind(':')));
  if (!host.starts_with('[')) {
    if (inet_pton(AF_INET, host.c_str(), &bytes[12]) == 1) return bytes;
    return {};
  }
  // Without the scope of a link-local address.
  host = host.substr(1, host.find_first_of("]%") - 1);
  if (inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return bytes;
  return {};
}

bool contains(const config::Network& network, const AddressBytes& address) {
  return same_start(network.address, address, network.prefix);
}

bool is_loopback(const AddressBytes& address) {
  constexpr AddressBytes kFour{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  constexpr AddressBytes kSix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address == kSix || same_start(kFour, address, 104);
}

const AccessRule* Access::find(std::string_view initiator_name) const {
  const auto exact = std::ranges::find(initiators, initiator_name, &AccessRule::name);
  if (exact != initiators.end()) return &*exact;
  const auto fits = std::ranges::find_if(
      initiators, [&](const AccessRule& rule) { return matches(rule.name, initiator_name); });
  return fits == initiators.end() ? nullptr : &*fits;
}

bool Access::allows(std::string_view initiator_name, std::string_view peer_address) const {
  if (!initiators.empty() && !find(initiator_name)) return false;
  if (networks.empty()) return true;
  const auto address = address_bytes(peer_address);
  return address && std::ranges::any_of(networks, [&](const config::Network& network) {
           return contains(network, *address);
         });
}

}  // namespace openiser::target
