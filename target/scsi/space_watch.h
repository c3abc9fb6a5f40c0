// Tells initiators when a thinly provisioned unit runs out of space below it (SBC-3 section
// 4.7.3.7): once when the threshold is passed, again when that has been made good and happens anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "target/store/store.h"

namespace openiser::target {

class LogicalUnit;

// One for each unit, used by all threads. Asks the store now and then, never for each write.
class SpaceWatch {
 public:
  explicit SpaceWatch(LogicalUnit& unit) : question_(unit) {}

  // How many bytes a nexus may change before it calls look(); 0: there is nothing to look at.
  std::uint64_t interval() const;
  // Asks the store through `engine`, unless that is being done already.
  void look(StoreEngine& engine);
  bool is_reached() const { return question_.is_reached.load(std::memory_order_relaxed); }

 private:
  // A part of its unit, which it keeps while it is with the store.
  struct Question final : StoreRequest {
    explicit Question(LogicalUnit& its_unit) : unit(its_unit) {}
    void done() override;

    LogicalUnit& unit;
    std::shared_ptr<LogicalUnit> keep;
    std::atomic<bool> is_open = false;
    std::atomic<bool> is_reached = false;
  };
  Question question_;
};

}  // namespace openiser::target
