#include "target/scsi/space_watch.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "target/scsi/unit.h"

namespace openiser::target {

std::uint64_t SpaceWatch::interval() const {
  const LogicalUnit& unit = question_.unit;
  if (unit.settings().soft_threshold == 0 || !unit.tells_space()) return 0;
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
  return std::clamp(unit.blocks() * unit.block_size() / 256, kLeast, kMost);
}

void SpaceWatch::look(StoreEngine& engine) {
  if (question_.is_open.exchange(true, std::memory_order_acquire)) return;
  question_.keep = question_.unit.shared_from_this();
  question_.operation = StoreRequest::Operation::query_space;
  question_.unit.submit(engine, question_);
}

// What there could ever be is the unit's size, or less where the file system cannot hold that.
void SpaceWatch::Question::done() {
  const std::uint64_t size = unit.blocks() * unit.block_size();
  const std::uint64_t most = std::min(size, space.used + space.available);
  const bool reached =
      !error && static_cast<double>(space.used) * 100.0 >=
                    static_cast<double>(most) * static_cast<double>(unit.settings().soft_threshold);
  const bool was_reached = is_reached.exchange(reached, std::memory_order_relaxed);
  const std::shared_ptr<LogicalUnit> kept = std::move(keep);
  is_open.store(false, std::memory_order_release);
  if (reached && !was_reached) unit.raise(Condition::soft_threshold_reached);
}

}  // namespace openiser::target
