// What the conformance suite needs of a provider: two queue pairs joined, and a way to let bytes
// go.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rdmap/rcap.h"

namespace openiser::conformance {

struct ProviderSettings {
  std::uint32_t outbound_reads = 8;
  std::uint32_t inbound_reads = 8;
  std::uint32_t max_regions = 4096;
  bool zero_based_offsets = false;
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual rdmap::QueuePair& first() = 0;
  virtual rdmap::QueuePair& second() = 0;
  // Starts the set-up of the connection; what each end shows the other is "from first" and "from
  // second".
  virtual void establish() = 0;
  // Lets a little happen; false when nothing is left to happen.
  virtual bool step() = 0;
  // A payload that is large here: many segments, yet done in little time.
  virtual std::size_t large() const = 0;
  // The transport breaks under both ends. False if this provider has none.
  virtual bool cut() { return false; }
};

struct ProviderParam {
  std::string name;
  std::function<std::unique_ptr<Provider>(const ProviderSettings& first,
                                          const ProviderSettings& second)>
      make;
};

std::vector<ProviderParam> every_provider();

std::vector<ProviderParam> loopback_providers();
std::vector<ProviderParam> simulated_iwarp_providers();
std::vector<ProviderParam> iwarp_over_tcp_providers();

}  // namespace openiser::conformance
