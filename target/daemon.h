// The whole target: targets with their stores, workers, portals; from construction to the end of
// the drain. Knows no signals, no command line and no file: main.cc does, and a test needs none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "rdmap/tcp/event_loop.h"
#include "target/catalogue.h"
#include "target/device_builder.h"
#include "target/portals.h"
#include "target/session_manager.h"
#include "target/start_error.h"
#include "target/state_file.h"
#include "target/worker.h"

namespace openiser::target {

class Daemon {
 public:
  // Opens every store and portal. Throws StartError.
  explicit Daemon(config::Daemon config);
  // After run(), or instead of it.
  ~Daemon();

  // Serves on the calling thread (for accepting) and the workers' until drained.
  void run();
  // Any thread: stops accepting, asks initiators to log out, ends what is left after
  // limits.drain_timeout, flushes the stores; then run() returns. A second call does not wait for
  // initiators.
  void drain();
  // Any thread: takes over of a new configuration what can change while serving: the log level,
  // targets and their LUNs, who may log in and sees what, users and their secrets, redirections,
  // larger files, how portal groups are accessed. Sessions of who may not log in any more end.
  // Anything else is said to need a restart. Opens new files on the main thread, which does not
  // accept meanwhile.
  void reload(config::Daemon next);

  // The main thread's loop, for what else it has to do, such as watching for signals.
  rdmap::EventLoop& loop() { return loop_; }
  // With real ports.
  std::vector<PortalAddress> portals() const { return catalogue_.get()->portals; }
  const SessionManager& sessions() const { return sessions_; }

 private:
  enum class Phase : std::uint8_t { serving, draining, ending, flushing };

  UnitCommons commons() { return {state_ ? &*state_ : nullptr, groups_}; }
  std::size_t connections() const;
  void begin_drain();
  void end_connections();
  void look_whether_drained();
  void take_over(const config::Daemon& next);
  std::vector<PortGroupSettings> take_over_groups(const config::Daemon& next);
  void publish(std::shared_ptr<const Catalogue> next);

  const config::Daemon config_;
  // As last configured; which there are stays as it was at the start.
  std::vector<PortGroupSettings> groups_;
  std::optional<StateFolder> state_;  // before all that holds units
  rdmap::EventLoop loop_;
  SessionManager sessions_;
  CurrentCatalogue catalogue_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Portals portals_;
  rdmap::Timer drain_timer_;
  Phase phase_ = Phase::serving;
};

}  // namespace openiser::target
