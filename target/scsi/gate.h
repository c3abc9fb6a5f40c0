// Lets one COMPARE AND WRITE, ORWRITE or WRITE ATOMIC of a logical unit through at a time,
// whichever thread it is on: what one compares, no other writes before it has.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "target/scsi/mailbox.h"

namespace openiser::target {

// Locked by these commands alone. Commands wait without holding a thread up.
class Gate : public std::enable_shared_from_this<Gate> {
 public:
  // The gate is free again when the last copy is gone; any thread.
  using Pass = std::shared_ptr<void>;
  using Granted = std::function<void(Pass)>;

  // A pass, or null: then `granted` is called with one later, on the nexus's thread, if the nexus
  // is still there.
  Pass enter(std::shared_ptr<Mailbox> nexus, Granted granted);

 private:
  struct Waiting {
    std::shared_ptr<Mailbox> nexus;
    Granted granted;
  };
  Pass make_pass();
  void leave();

  std::mutex mutex_;
  bool taken_ = false;
  std::deque<Waiting> waiting_;
};

}  // namespace openiser::target
