// The order of one nexus's commands on one logical unit (SAM-5 section 8.7), and its unit
// attentions.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "target/scsi/command.h"
#include "target/scsi/reservations/unit_reservations.h"

namespace openiser::target {

// SIMPLE tasks run together. An ORDERED task starts when all before it have ended, and what comes
// after it starts when it has ended. HEAD OF QUEUE tasks start at once. Only tasks of this nexus
// wait for each other: those of other nexuses run on other threads, in no order.
class TaskSet {
 public:
  // Takes the command in; true if it may start now, else next() will give it.
  bool admit(Command& command);
  // Of a command that has started, or one that waits.
  void remove(Command& command);
  // A command whose turn it is now; null if there is none.
  Command* next();
  bool empty() const { return all_.empty(); }
  // Started or waiting, as they are now.
  std::vector<Command*> all() const { return all_; }

 private:
  bool may_start(const Command& command) const;
  void enable(Command& command);

  std::vector<Command*> all_;
  std::list<Command*> waiting_;  // not a deque, which takes half a KiB even where nothing waits
  std::size_t enabled_ = 0;
  bool ordered_enabled_ = false;
};

// Unit attention conditions that wait to be reported, the weightiest first. A power on covers a
// reset.
class UnitAttentions {
 public:
  void raise(Condition condition);
  bool pending() const { return pending_ != 0; }
  // The next one, which is then over.
  std::optional<Condition> take();
  // Of resets and I_T nexus loss alone: these come before a reservation conflict, the others after
  // it (SAM-5 section 5.3.3).
  std::optional<Condition> take_reset();
  // Over without having been reported.
  void clear(Condition condition);

 private:
  std::optional<Condition> take_among(std::uint32_t which);

  std::uint32_t pending_ = 0;
};

// What a nexus keeps about a logical unit.
struct UnitState {
  std::shared_ptr<LogicalUnit> unit;
  TaskSet tasks;
  UnitAttentions attentions;
  ReservationView reservations;
  std::uint64_t changed_bytes = 0;  // since SpaceWatch has last looked
  // That the nexus came in through; null: no such group, and the unit is always accessed in full.
  const PortGroup* port_group = nullptr;
  bool read_only = false;  // to this nexus
  bool removed = false;    // no longer seen: tasks are finished, none are taken
  bool starting = false;   // next() commands are being started, further up the stack
};

}  // namespace openiser::target
