// The addresses the daemon listens at. Accepts on the main thread and places each connection on the
// worker that has the fewest.
#pragma once

#include <memory>
#include <vector>

#include "config/settings.h"
#include "rdmap/tcp/tcp.h"
#include "rdmap/verbs/verbs.h"
#include "target/catalogue.h"
#include "target/worker.h"

namespace openiser::target {

class Portals {
 public:
  // `workers` outlive it; there is at least one. `limit`: connections over all of them.
  Portals(rdmap::EventLoop& loop, std::vector<std::unique_ptr<Worker>>& workers, std::size_t limit);

  // In the order of Catalogue::portals. Listens on TCP, by verbs, or both, as the portal's
  // transport says.
  Result<PortalAddress> open(const config::Portal& portal);
  // No more connections; those there are stay.
  void close();

 private:
  Result<PortalAddress> listen(const config::Portal& portal, std::size_t number);
  Result<PortalAddress> listen_by_verbs(const config::Portal& portal, std::uint16_t port,
                                        std::size_t number);
  Worker* worker_for(const std::string& peer_address);
  template <class Incoming>
  void place(Incoming incoming, std::size_t portal, std::uint16_t portal_group_tag);

  rdmap::EventLoop& loop_;
  std::vector<std::unique_ptr<Worker>>& workers_;
  const std::size_t limit_;
  bool full_ = false;
  std::size_t opened_ = 0;
  std::vector<std::unique_ptr<rdmap::Listener>> listeners_;
  std::vector<std::unique_ptr<rdmap::VerbsListener>> verbs_listeners_;
};

}  // namespace openiser::target
