// Memory that the peer may reach: each region under an STag of its own. Where the device has memory
// windows, a window is bound to the queue pair over a registration of the pool's or of its own;
// where it has none, a registration.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "rdmap/rcap.h"
#include "rdmap/verbs/protection_domain.h"
#include "rdmap/verbs/send_queue.h"

namespace openiser::rdmap {

class ExposedRegions {
 public:
  ExposedRegions(ProtectionDomain& domain, SendQueue& sends, std::size_t most)
      : domain_(domain), sends_(sends), most_(most) {}

  Result<Stag> add(MutableBytes memory, Access access);
  // Its binding is with the device, which has to be waited for.
  bool unsettled(Stag stag) const;
  // At once; not while unsettled. Tolerates what is not there.
  void remove(Stag stag);
  void clear() { all_.clear(); }

  // The STag that a receive's completion says the peer has invalidated, if it is one of ours.
  std::optional<Stag> invalidated_by(const ibv_wc& completion);

 private:
  struct Region {
    Owned<ibv_mr> own;
    std::unique_ptr<Window> window;  // goes before what it is bound to
    bool invalidated = false;
  };
  Result<Stag> add_window(MutableBytes memory, int access);
  Result<Stag> add_registration(MutableBytes memory, int access);

  ProtectionDomain& domain_;
  SendQueue& sends_;
  std::size_t most_;
  std::unordered_map<std::uint32_t, Region> all_;
};

}  // namespace openiser::rdmap
