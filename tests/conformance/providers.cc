#include "tests/conformance/provider.h"

namespace openiser::conformance {

std::vector<ProviderParam> every_provider() {
  std::vector<ProviderParam> all;
  for (auto* some :
       {loopback_providers, simulated_iwarp_providers, iwarp_over_tcp_providers, verbs_providers}) {
    for (ProviderParam& param : some()) all.push_back(std::move(param));
  }
  return all;
}

}  // namespace openiser::conformance
