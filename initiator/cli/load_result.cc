#include "initiator/cli/load_result.h"

#include <nlohmann/json.hpp>

namespace openiser::initiator::cli {

std::string to_json(const LoadResult& result, const LoadFields& more, int indent) {
  const LatencyHistogram& l = result.latencies;
  nlohmann::ordered_json out{{"iops", result.per_second(l.count())},
                             {"bytes_per_s", result.per_second(result.bytes())},
                             {"ios", l.count()},
                             {"bytes", result.bytes()},
                             {"seconds", result.seconds},
                             {"lat_us",
                              {{"p50", l.percentile_us(50)},
                               {"p90", l.percentile_us(90)},
                               {"p99", l.percentile_us(99)},
                               {"p999", l.percentile_us(99.9)},
                               {"max", l.max_us()},
                               {"mean", l.mean_us()}}},
                             {"cpu_user_s", result.cpu.user},
                             {"cpu_sys_s", result.cpu.system},
                             {"errors", result.errors}};
  for (const auto& [name, value] : more)
    std::visit([&out, &name](const auto& v) { out[name] = v; }, value);
  return out.dump(indent);
}

}  // namespace openiser::initiator::cli
