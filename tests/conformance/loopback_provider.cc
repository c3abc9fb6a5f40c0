#include "rdmap/loopback/loopback.h"

#include "tests/conformance/provider.h"

namespace openiser::conformance {
namespace {

rdmap::LoopbackSettings settings_of(const ProviderSettings& settings) {
  return {.outbound_reads = settings.outbound_reads,
          .inbound_reads = settings.inbound_reads,
          .remote_invalidate = true,
          .zero_based_offsets = settings.zero_based_offsets};
}

class Loopback final : public Provider {
 public:
  Loopback(const ProviderSettings& first, const ProviderSettings& second)
      : pair_(settings_of(first), settings_of(second)) {}
  rdmap::QueuePair& first() override { return pair_.first(); }
  rdmap::QueuePair& second() override { return pair_.second(); }
  void establish() override { pair_.establish(as_bytes("from first"), as_bytes("from second")); }
  bool step() override { return pair_.step(); }
  std::size_t large() const override { return (3 << 20) + 5; }

 private:
  rdmap::LoopbackPair pair_;
};

}  // namespace

std::vector<ProviderParam> loopback_providers() {
  return {{"Loopback", [](const ProviderSettings& first, const ProviderSettings& second) {
             return std::make_unique<Loopback>(first, second);
           }}};
}

}  // namespace openiser::conformance
