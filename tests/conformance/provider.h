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

  // What a device may lack.
  // The peer hears why the other end ended the connection.
  virtual bool tells_reasons() const { return true; }
  virtual bool tells_solicited_events() const { return true; }
  // A receive tells which STag its Send invalidated.
  virtual bool tells_invalidated() const { return true; }
  // A second invalidation of an STag ends the connection.
  virtual bool refuses_second_invalidation() const { return true; }
  // Memory that is open for writing alone is not read.
  virtual bool checks_read_access() const { return true; }
  // Reads that a region's end overtakes bring what was in it before, or nothing.
  virtual bool ends_reads_with_region() const { return true; }
  virtual bool has_zero_based_offsets() const { return true; }
  // Zeroes may follow the private data.
  virtual bool pads_private_data() const { return false; }
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
// None, unless OPENISER_VERBS_ADDRESS names an address of this machine that an RDMA device has.
std::vector<ProviderParam> verbs_providers();

}  // namespace openiser::conformance
