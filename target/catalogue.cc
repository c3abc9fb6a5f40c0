#include "target/catalogue.h"

#include <algorithm>

#include "iscsi/errors.h"

namespace openiser::target {

namespace {

using Verdict = iscsi::LoginAuthority::Verdict;

// "127.0.0.1" of "127.0.0.1:3260", "[::1]" of "[::1]:3260".
std::string host_of(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

bool on_loopback(const std::string& address) {
  const auto bytes = address_bytes(address);
  return bytes && is_loopback(*bytes);
}

std::vector<std::string> addresses_of(const Catalogue& catalogue, const CatalogueTarget& target,
                                      const Arrival& arrival) {
  std::vector<std::string> addresses;
  const bool local = on_loopback(arrival.local_address);
  const auto add = [&](const std::string& address, std::uint16_t group) {
    if (!target.served_through(group) || (!local && on_loopback(address))) return;
    std::string record = address + ',' + std::to_string(group);
    if (std::ranges::find(addresses, record) == addresses.end()) {
      addresses.push_back(std::move(record));
    }
  };
  add(arrival.local_address, arrival.portal_group_tag);
  for (const PortalAddress& portal : catalogue.portals) {
    if (portal.wildcard) {
      add(host_of(arrival.local_address) + ':' + std::to_string(portal.port), portal.tag);
    } else {
      add(portal.address, portal.tag);
    }
  }
  return addresses;
}

void judge_discovery(const Catalogue& catalogue, const iscsi::LoginAuthority::Request& request,
                     const Arrival& arrival, Verdict& verdict) {
  verdict.chap = catalogue.discovery_chap;
  if (!catalogue.discovery_access.allows(normalised_name(request.initiator_name),
                                         arrival.peer_address)) {
    verdict.error = iscsi::errc::login_authorization_failed;
  }
}

void judge_normal(const Catalogue& catalogue, const CatalogueTarget& target,
                  const iscsi::LoginAuthority::Request& request, const Arrival& arrival,
                  Verdict& verdict) {
  const std::string initiator = normalised_name(request.initiator_name);
  const AccessRule* rule = target.access.find(initiator);
  verdict.target_alias = target.alias;
  verdict.chap = rule && rule->chap ? rule->chap : target.chap;
  if (!target.access.allows(initiator, arrival.peer_address)) {
    verdict.error = iscsi::errc::login_authorization_failed;
    return;
  }
  if (arrival.portal < catalogue.portals.size())
    verdict.redirection = catalogue.portals[arrival.portal].redirection;
  if (!verdict.redirection) verdict.redirection = target.redirection;
}

}  // namespace

std::string normalised_name(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

bool CatalogueTarget::served_through(std::uint16_t portal_group_tag) const {
  return portal_groups.empty() ||
         std::ranges::find(portal_groups, portal_group_tag) != portal_groups.end();
}

std::shared_ptr<const TargetDevice> CatalogueTarget::device_of(
    std::string_view initiator_name) const {
  const AccessRule* rule = access.find(normalised_name(initiator_name));
  if (!rule && !access.initiators.empty()) return nullptr;
  return rule && rule->device ? rule->device : device;
}

const CatalogueTarget* Catalogue::find(std::string_view name) const {
  const auto found = targets.find(normalised_name(name));
  return found == targets.end() ? nullptr : &found->second;
}

Verdict authorise(const Catalogue& catalogue, const iscsi::LoginAuthority::Request& request,
                  const Arrival& arrival) {
  Verdict verdict;
  verdict.target_portal_group_tag = arrival.portal_group_tag;
  const bool discovery = request.session_type == iscsi::SessionType::discovery;
  if (discovery) judge_discovery(catalogue, request, arrival, verdict);
  if (verdict.error || (discovery && request.target_name.empty())) return verdict;
  const CatalogueTarget* target = catalogue.find(request.target_name);
  if (!target || !target->served_through(arrival.portal_group_tag)) {
    verdict.error = iscsi::errc::login_target_not_found;
  } else if (!discovery) {
    judge_normal(catalogue, *target, request, arrival, verdict);
  }
  return verdict;
}

std::vector<iscsi::TargetRecord> target_records(const Catalogue& catalogue, std::string_view name,
                                                std::string_view initiator_name,
                                                const Arrival& arrival) {
  std::vector<iscsi::TargetRecord> records;
  const std::string wanted = normalised_name(name), initiator = normalised_name(initiator_name);
  for (const auto& [target_name, target] : catalogue.targets) {
    if (!wanted.empty() && wanted != target_name) continue;
    if (!target.access.allows(initiator, arrival.peer_address)) continue;
    auto addresses = addresses_of(catalogue, target, arrival);
    if (!addresses.empty()) records.push_back({target_name, target.alias, std::move(addresses)});
  }
  return records;
}

}  // namespace openiser::target
