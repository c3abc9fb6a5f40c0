#include "target/daemon.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.h"
#include "iscsi/errors.h"
#include "target/catalogue_builder.h"
#include "target/credentials.h"

namespace openiser::target {

namespace {

std::string place_of(const config::Position& at) {
  return at.line == 0 ? "" : " (line " + std::to_string(at.line) + ")";
}

std::optional<StateFolder> state_folder(const config::Daemon& config) {
  if (config.state_directory.empty()) return {};
  return std::optional<StateFolder>(std::in_place, config.state_directory);
}

void warn_of(const Credentials& credentials) {
  for (const std::string& warning : credentials.warnings) log::warn("daemon", warning);
}

std::shared_ptr<const Catalogue> first_catalogue(const config::Daemon& config,
                                                 const UnitCommons& commons) {
  const Credentials credentials = load_credentials(config);
  if (!credentials.faults.empty()) {
    const config::Fault& fault = credentials.faults.front();
    throw StartError(fault.message + place_of(fault.at));
  }
  warn_of(credentials);
  return build_catalogue(config, credentials, commons);
}

bool same_address(const config::Portal& a, const config::Portal& b) {
  return a.host == b.host && a.port == b.port && a.tag == b.tag && a.transport == b.transport;
}

// Catalogue::portals are in the order of the file that the daemon was started with.
void redirect_portals(Catalogue& catalogue, const config::Daemon& next,
                      const config::Daemon& first) {
  for (std::size_t i = 0; i < first.portals.size(); ++i) {
    const auto portal = std::ranges::find_if(
        next.portals, [&](const config::Portal& p) { return same_address(p, first.portals[i]); });
    if (portal != next.portals.end())
      catalogue.portals[i].redirection = redirection_of(portal->redirect);
  }
}

std::vector<std::string> changes_that_wait(const config::Daemon& next,
                                           const config::Daemon& first) {
  std::vector<std::string> names;
  if (!std::ranges::equal(next.portals, first.portals, same_address)) names.push_back("portals");
  if (next.negotiation != first.negotiation) names.push_back("negotiation");
  if (next.rdma != first.rdma) names.push_back("rdma");
  if (next.limits != first.limits) names.push_back("limits");
  if (next.store_engine != first.store_engine) names.push_back("store_engine");
  if (next.state_directory != first.state_directory) names.push_back("state_directory");
  return names;
}

// Whether the session could be had anew.
bool is_welcome(const Catalogue& catalogue, const SessionManager::SessionInfo& session) {
  const std::string initiator = normalised_name(session.nexus.initiator_name);
  if (session.nexus.target_name.empty())
    return catalogue.discovery_access.allows(initiator, session.peer_address);
  const CatalogueTarget* target = catalogue.find(session.nexus.target_name);
  return target && target->served_through(session.nexus.portal_group_tag) &&
         target->access.allows(initiator, session.peer_address);
}

// The units that `now` has no more, to be flushed.
std::shared_ptr<Catalogue> what_is_gone(const Catalogue& before, const Catalogue& now) {
  auto gone = std::make_shared<Catalogue>();
  for (const auto& [name, target] : before.targets) {
    auto device = std::make_shared<TargetDevice>(*target.device);
    const CatalogueTarget* still = now.find(name);
    if (still)
      std::erase_if(device->units,
                    [&](const auto& unit) { return still->device->units.contains(unit.first); });
    if (!device->units.empty()) gone->targets.emplace(name, CatalogueTarget{device, {}});
  }
  return gone;
}

}  // namespace

Daemon::Daemon(config::Daemon config)
    : config_(std::move(config)),
      groups_(port_groups(config_)),
      state_(state_folder(config_)),
      catalogue_(first_catalogue(config_, commons())),
      portals_(loop_, workers_, config_.limits.connections),
      drain_timer_(loop_, [this] { end_connections(); }) {
  const Worker::Shared shared{config_, catalogue_, sessions_,
                              [this] { loop_.post([this] { look_whether_drained(); }); }};
  const std::vector<unsigned>& cpus = config_.limits.cpus;
  for (std::size_t i = 0; i != worker_count(config_.limits); ++i) {
    workers_.push_back(std::make_unique<Worker>(
        shared, cpus.empty() ? std::nullopt : std::optional(cpus[i % cpus.size()])));
  }
  auto catalogue = std::make_shared<Catalogue>(*catalogue_.get());
  for (const config::Portal& portal : config_.portals) {
    const auto opened = portals_.open(portal);
    if (!opened) {
      const bool verbs = portal.transport == config::Portal::Transport::verbs;
      throw StartError(std::string("cannot listen ") + (verbs ? "by verbs " : "") + "at " +
                       portal.host + ":" + std::to_string(portal.port) + place_of(portal.at) +
                       ": " + opened.error().message());
    }
    catalogue->portals.push_back(*opened);
  }
  catalogue_.publish(std::move(catalogue));
}

Daemon::~Daemon() = default;

void Daemon::run() {
  loop_.run();
}

std::size_t Daemon::connections() const {
  std::size_t all = 0;
  for (const auto& worker : workers_) all += worker->connections();
  return all;
}

// --- drain ---

void Daemon::drain() {
  loop_.post([this] {
    if (phase_ == Phase::serving) {
      begin_drain();
    } else {
      end_connections();
    }
  });
}

void Daemon::begin_drain() {
  phase_ = Phase::draining;
  const auto grace = std::chrono::seconds(config_.limits.drain_timeout);
  log::info("daemon", "draining " + std::to_string(connections()) + " connections");
  portals_.close();
  for (const auto& worker : workers_) worker->drain(grace);
  // Sessions keep the grace themselves; this is for what keeps none.
  drain_timer_.set(loop_.now() + grace + std::chrono::seconds(1));
  look_whether_drained();
}

void Daemon::end_connections() {
  if (phase_ != Phase::draining) return;
  phase_ = Phase::ending;
  for (const auto& worker : workers_) worker->end_all(iscsi::errc::terminated);
}

void Daemon::look_whether_drained() {
  if (phase_ == Phase::serving || phase_ == Phase::flushing || connections() != 0) return;
  phase_ = Phase::flushing;
  drain_timer_.set({});
  log::info("daemon", "flushing stores");
  workers_.front()->flush_stores(catalogue_.get(), [this] { loop_.stop(); });
}

// --- reload ---

void Daemon::reload(config::Daemon next) {
  loop_.post([this, next = std::move(next)] {
    if (phase_ == Phase::serving) take_over(next);
  });
}

// Those whose configured state is another than before: what initiators have set meanwhile is left
// alone in the others.
std::vector<PortGroupSettings> Daemon::take_over_groups(const config::Daemon& next) {
  const auto configured = port_groups(next);
  std::vector<PortGroupSettings> changed;
  for (PortGroupSettings& group : groups_) {
    const auto same = std::ranges::find(configured, group.tag, &PortGroupSettings::tag);
    if (same == configured.end() || *same == group) continue;
    group = *same;
    changed.push_back(group);
  }
  return changed;
}

void Daemon::take_over(const config::Daemon& next) {
  const Credentials credentials = load_credentials(next);
  for (const config::Fault& fault : credentials.faults)
    log::error("daemon", fault.message + place_of(fault.at));
  if (!credentials.faults.empty()) {
    log::error("daemon", "nothing was taken over: going on with what was read before");
    return;
  }
  warn_of(credentials);
  log::Level level = log::level();
  if (log::parse_level(next.log_level, level)) log::set_level(level);
  std::vector<std::string> troubles;
  const auto changed_groups = take_over_groups(next);
  auto catalogue = rebuild_catalogue(next, credentials, commons(), *catalogue_.get(), troubles);
  for (const auto& [name, target] : catalogue->targets)
    for (const auto& [lun, unit] : target.device->units) change_port_groups(*unit, changed_groups);
  redirect_portals(*catalogue, next, config_);
  publish(std::move(catalogue));
  for (const std::string& trouble : troubles) log::error("daemon", trouble);
  for (const std::string& name : changes_that_wait(next, config_))
    log::warn("daemon", name + " has changed: that takes a restart");
  log::info("daemon", "reloaded");
}

// New sessions first, so that whoever is not told by change_devices() has seen `next` itself.
void Daemon::publish(std::shared_ptr<const Catalogue> next) {
  const auto before = catalogue_.get();
  catalogue_.publish(next);
  for (const auto& [name, target] : next->targets) {
    change_devices(*target.device->nexuses, [next, here = &target](const std::string& initiator) {
      return here->device_of(initiator);
    });
  }
  sessions_.end_where([&](const auto& session) { return !is_welcome(*next, session); },
                      iscsi::errc::terminated);
  workers_.front()->flush_stores(what_is_gone(*before, *next), [] {});
}

}  // namespace openiser::target
