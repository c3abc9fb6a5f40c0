#include "tests/conformance/provider.h"

namespace openiser::conformance {

std::vector<ProviderParam> every_provider() {
  std::vector<ProviderParam> all = loopback_providers();
  for (ProviderParam& param : simulated_iwarp_providers()) all.push_back(std::move(param));
  return all;
}

}  // namespace openiser::conformance
