// The addresses the daemon listens at. Accepts on the main thread and places each connection on the
// worker that has the fewest.
#pragma once

#include <memory>
#include <vector>

#include "config/settings.h"
#include "rdmap/tcp/tcp.h"
#include "target/catalogue.h"
#include "target/worker.h"

namespace openiser::target {

class Portals {
 public:
  // `workers` outlive it; there is at least one. `limit`: connections over all of them.
  Portals(rdmap::EventLoop& loop, std::vector<std::unique_ptr<Worker>>& workers, std::size_t limit);

  // In the order of Catalogue::portals.
  Result<PortalAddress> open(const config::Portal& portal);
  // No more connections; those there are stay.
  void close();

 private:
  void place(rdmap::Socket socket, std::size_t portal, std::uint16_t portal_group_tag);

  rdmap::EventLoop& loop_;
  std::vector<std::unique_ptr<Worker>>& workers_;
  const std::size_t limit_;
  bool full_ = false;
  std::vector<std::unique_ptr<rdmap::Listener>> listeners_;
};

}  // namespace openiser::target
