#include "target/daemon.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "base/log.h"
#include "iscsi/errors.h"
#include "target/credentials.h"
#include "target/device_builder.h"

namespace openiser::target {

namespace {

std::string place_of(const config::Position& at) {
  return at.line == 0 ? "" : " (line " + std::to_string(at.line) + ")";
}

void give(Catalogue& catalogue, const Credentials& credentials) {
  for (const std::string& warning : credentials.warnings) log::warn("daemon", warning);
  catalogue.discovery_chap = credentials.discovery;
  for (const auto& [name, chap] : credentials.targets)
    if (const auto target = catalogue.targets.find(name); target != catalogue.targets.end())
      target->second.chap = chap;
}

std::optional<StateFolder> state_folder(const config::Daemon& config) {
  if (config.state_directory.empty()) return {};
  return std::optional<StateFolder>(std::in_place, config.state_directory);
}

std::shared_ptr<const Catalogue> first_catalogue(const config::Daemon& config, StateFolder* state,
                                                 const std::vector<PortGroupSettings>& groups) {
  const Credentials credentials = load_credentials(config);
  if (!credentials.faults.empty()) {
    const config::Fault& fault = credentials.faults.front();
    throw StartError(fault.message + place_of(fault.at));
  }
  auto catalogue = std::make_shared<Catalogue>();
  for (const config::Target& target : config.targets) {
    catalogue->targets.emplace(normalised_name(target.name), build_target(target, state, groups));
  }
  give(*catalogue, credentials);
  return catalogue;
}

std::size_t worker_count(std::uint32_t configured) {
  return configured != 0 ? configured : std::max(std::thread::hardware_concurrency(), 1u);
}

}  // namespace

Daemon::Daemon(config::Daemon config)
    : config_(std::move(config)),
      groups_(port_groups(config_)),
      state_(state_folder(config_)),
      catalogue_(first_catalogue(config_, state(), groups_)),
      portals_(loop_, workers_, config_.limits.connections),
      drain_timer_(loop_, [this] { end_connections(); }) {
  const Worker::Shared shared{config_, catalogue_, sessions_,
                              [this] { loop_.post([this] { look_whether_drained(); }); }};
  for (std::size_t i = worker_count(config_.limits.threads); i != 0; --i) {
    workers_.push_back(std::make_unique<Worker>(shared));
  }
  auto catalogue = std::make_shared<Catalogue>(*catalogue_.get());
  for (const config::Portal& portal : config_.portals) {
    const auto opened = portals_.open(portal);
    if (!opened) {
      throw StartError("cannot listen at " + portal.host + ":" + std::to_string(portal.port) +
                       place_of(portal.at) + ": " + opened.error().message());
    }
    log::info("portal", "listening on " + opened->address);
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
  log::Level level = log::level();
  if (log::parse_level(next.log_level, level)) log::set_level(level);
  std::set<std::string> wanted;
  for (const config::Target& target : next.targets) wanted.insert(normalised_name(target.name));
  const auto changed_groups = take_over_groups(next);
  auto catalogue = std::make_shared<Catalogue>(*catalogue_.get());
  for (const auto& [name, target] : catalogue->targets) {
    for (const auto& [lun, unit] : target.device->units) {
      check_capacity(*unit);
      change_port_groups(*unit, changed_groups);
    }
    if (wanted.contains(name)) continue;
    log::warn("daemon", name + " is not in the file any more: it goes with a restart");
  }
  for (const config::Target& target : next.targets) {
    if (catalogue->find(target.name)) continue;
    try {
      catalogue->targets.emplace(normalised_name(target.name),
                                 build_target(target, state(), groups_));
      log::info("daemon", "added target " + target.name);
    } catch (const StartError& error) {
      log::error("daemon", error.what());
    }
  }
  give(*catalogue, credentials);
  catalogue_.publish(std::move(catalogue));
  log::info("daemon",
            "reloaded: log level, users and secrets, new targets, sizes of files, states of portal "
            "groups; all else takes a restart");
}

}  // namespace openiser::target
