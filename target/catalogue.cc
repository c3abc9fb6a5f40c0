#include "target/catalogue.h"

#include <algorithm>

#include "iscsi/errors.h"

namespace openiser::target {

namespace {

// "127.0.0.1" of "127.0.0.1:3260", "[::1]" of "[::1]:3260".
std::string host_of(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

std::vector<std::string> addresses_of(const Catalogue& catalogue, const std::string& local_address,
                                      std::uint16_t tag) {
  std::vector<std::string> addresses;
  const auto add = [&addresses](const std::string& address, std::uint16_t group) {
    std::string record = address + ',' + std::to_string(group);
    if (std::ranges::find(addresses, record) == addresses.end()) {
      addresses.push_back(std::move(record));
    }
  };
  add(local_address, tag);
  for (const PortalAddress& portal : catalogue.portals) {
    if (portal.wildcard) {
      add(host_of(local_address) + ':' + std::to_string(portal.port), portal.tag);
    } else {
      add(portal.address, portal.tag);
    }
  }
  return addresses;
}

}  // namespace

std::string normalised_name(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

const CatalogueTarget* Catalogue::find(std::string_view name) const {
  const auto found = targets.find(normalised_name(name));
  return found == targets.end() ? nullptr : &found->second;
}

iscsi::LoginAuthority::Verdict authorise(const Catalogue& catalogue,
                                         const iscsi::LoginAuthority::Request& request,
                                         std::uint16_t portal_group_tag) {
  iscsi::LoginAuthority::Verdict verdict;
  verdict.target_portal_group_tag = portal_group_tag;
  const bool discovery = request.session_type == iscsi::SessionType::discovery;
  verdict.chap = catalogue.discovery_chap;
  if (discovery && request.target_name.empty()) return verdict;
  if (const CatalogueTarget* target = catalogue.find(request.target_name)) {
    verdict.target_alias = target->alias;
    if (!discovery) verdict.chap = target->chap;
  } else {
    verdict.error = iscsi::errc::login_target_not_found;
  }
  return verdict;
}

std::vector<iscsi::TargetRecord> target_records(const Catalogue& catalogue, std::string_view name,
                                                const std::string& local_address,
                                                std::uint16_t tag) {
  std::vector<iscsi::TargetRecord> records;
  const auto addresses = addresses_of(catalogue, local_address, tag);
  const std::string wanted = normalised_name(name);
  for (const auto& [target_name, target] : catalogue.targets) {
    if (!wanted.empty() && wanted != target_name) continue;
    records.push_back({target_name, target.alias, addresses});
  }
  return records;
}

}  // namespace openiser::target
