#include "target/catalogue_builder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "target/device_builder.h"

namespace openiser::target {

namespace {

// For what a daemon killed just now has left to the kernel to end. At a reload there was none.
constexpr std::chrono::seconds kLockWait{10};

bool same_disk(const config::Lun& a, const config::Lun& b) {
  // Files grow, other stores do not.
  return a.kind == b.kind && a.path == b.path && a.block_size == b.block_size &&
         a.physical_block_size == b.physical_block_size && a.soft_threshold == b.soft_threshold &&
         a.direct == b.direct && a.read_only == b.read_only && a.vendor == b.vendor &&
         a.product == b.product && a.serial == b.serial &&
         (a.kind == config::Lun::Kind::file || a.size == b.size);
}

class Builder {
 public:
  // `now` null: a start, where nothing may go wrong.
  Builder(const Credentials& credentials, const UnitCommons& commons, const Catalogue* now)
      : credentials_(credentials), commons_(commons), now_(now) {}

  CatalogueTarget build(const config::Target& target);
  Access discovery(const config::Daemon& config) const;
  std::vector<std::string> troubles;

 private:
  void add_unit(const std::string& name, const config::Lun& lun, const CatalogueTarget* before,
                TargetDevice& device, CatalogueTarget& built);
  void keep_unit(const std::string& name, const config::Lun& lun, const config::Lun& before,
                 LogicalUnit& unit);
  AccessRule rule(const config::Initiator& initiator, const TargetDevice& device) const;

  const Credentials& credentials_;
  const UnitCommons& commons_;
  const Catalogue* const now_;
};

CatalogueTarget Builder::build(const config::Target& target) {
  auto device = std::make_shared<TargetDevice>();
  device->name = normalised_name(target.name);
  const CatalogueTarget* before = now_ ? now_->find(target.name) : nullptr;
  if (before) device->nexuses = before->device->nexuses;
  CatalogueTarget built;
  built.alias = target.alias;
  built.chap = credentials_.targets.at(device->name);
  for (const config::Lun& lun : target.luns) add_unit(device->name, lun, before, *device, built);
  for (const config::Initiator& each : target.initiators)
    built.access.initiators.push_back(rule(each, *device));
  built.access.networks = target.networks;
  for (const config::PortalGroup& group : target.portal_groups)
    built.portal_groups.push_back(group.tag);
  for (const auto& [lun, unit] : device->units) serve_through(*unit, built.portal_groups);
  built.redirection = redirection_of(target.redirect);
  built.device = std::move(device);
  return built;
}

void Builder::add_unit(const std::string& name, const config::Lun& lun,
                       const CatalogueTarget* before, TargetDevice& device,
                       CatalogueTarget& built) {
  const std::string words = name + " LUN " + std::to_string(lun.lun);
  if (before) {
    const auto definition = std::ranges::find(before->luns, lun.lun, &config::Lun::lun);
    if (definition != before->luns.end()) {
      const auto& unit = before->device->units.at(lun.lun);
      keep_unit(words, lun, *definition, *unit);
      device.units.emplace(lun.lun, unit);
      built.luns.push_back(*definition);
      return;
    }
  }
  try {
    const auto lock_wait = now_ ? std::chrono::seconds(0) : kLockWait;
    device.units.emplace(lun.lun, build_unit(name, lun, commons_, lock_wait));
    built.luns.push_back(lun);
  } catch (const StartError& error) {
    if (!now_) throw;
    troubles.emplace_back(error.what());
  }
}

void Builder::keep_unit(const std::string& name, const config::Lun& lun, const config::Lun& before,
                        LogicalUnit& unit) {
  if (!same_disk(lun, before)) {
    troubles.push_back(name +
                       " is another disk now: that takes a restart, or a reload without it " +
                       "and then one with it");
  } else if (lun.kind != config::Lun::Kind::file || lun.size == 0) {
    check_capacity(unit);
  } else if (const Status grown = grow(unit, lun.size); !grown) {
    troubles.push_back(name + ": cannot grow " + lun.path + ": " + grown.error().message());
  }
}

AccessRule Builder::rule(const config::Initiator& initiator, const TargetDevice& device) const {
  AccessRule rule{normalised_name(initiator.name)};
  const auto chap = credentials_.initiators.find({device.name, rule.name});
  if (chap != credentials_.initiators.end()) rule.chap = chap->second;
  if (initiator.luns.empty() && !initiator.read_only) return rule;
  auto view = std::make_shared<TargetDevice>(device);
  if (!initiator.luns.empty()) view->units.clear();
  for (const config::ViewLun& lun : initiator.luns) {
    const auto unit = device.units.find(lun.disk);
    if (unit != device.units.end()) view->units.emplace(lun.lun, unit->second);
    if (lun.read_only) view->read_only.insert(lun.lun);
  }
  if (initiator.read_only)
    for (const auto& [lun, unit] : view->units) view->read_only.insert(lun);
  rule.device = std::move(view);
  return rule;
}

Access Builder::discovery(const config::Daemon& config) const {
  Access access;
  for (const config::Initiator& each : config.discovery_initiators)
    access.initiators.push_back({normalised_name(each.name)});
  access.networks = config.discovery_networks;
  return access;
}

std::shared_ptr<Catalogue> build(const config::Daemon& config, const Credentials& credentials,
                                 Builder& builder) {
  auto catalogue = std::make_shared<Catalogue>();
  for (const config::Target& target : config.targets)
    catalogue->targets.emplace(normalised_name(target.name), builder.build(target));
  catalogue->discovery_chap = credentials.discovery;
  catalogue->discovery_access = builder.discovery(config);
  return catalogue;
}

}  // namespace

std::shared_ptr<Catalogue> build_catalogue(const config::Daemon& config,
                                           const Credentials& credentials,
                                           const UnitCommons& commons) {
  Builder builder(credentials, commons, nullptr);
  return build(config, credentials, builder);
}

std::shared_ptr<Catalogue> rebuild_catalogue(const config::Daemon& next,
                                             const Credentials& credentials,
                                             const UnitCommons& commons, const Catalogue& now,
                                             std::vector<std::string>& troubles) {
  Builder builder(credentials, commons, &now);
  auto catalogue = build(next, credentials, builder);
  catalogue->portals = now.portals;
  troubles = std::move(builder.troubles);
  return catalogue;
}

std::optional<Redirection> redirection_of(const config::Redirect& redirect) {
  if (redirect.host.empty()) return {};
  const bool six = redirect.host.find(':') != std::string::npos;
  const std::string host = six ? "[" + redirect.host + "]" : redirect.host;
  return Redirection{host + ":" + std::to_string(redirect.port), redirect.permanent,
                     redirect.after_authentication};
}

}  // namespace openiser::target
