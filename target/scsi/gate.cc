#include "target/scsi/gate.h"

#include <utility>

namespace openiser::target {

Gate::Pass Gate::enter(std::shared_ptr<Mailbox> nexus, Granted granted) {
  {
    const std::lock_guard lock(mutex_);
    if (taken_) {
      waiting_.push_back({std::move(nexus), std::move(granted)});
      return nullptr;
    }
    taken_ = true;
  }
  return make_pass();
}

Gate::Pass Gate::make_pass() {
  return {this, [self = shared_from_this()](void*) { self->leave(); }};
}

// A pass that is posted to a nexus already gone is dropped there, and so goes on to the next.
void Gate::leave() {
  Waiting next;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      taken_ = false;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  next.nexus->post(
      [pass = make_pass(), granted = std::move(next.granted)](Nexus&) { granted(pass); });
}

}  // namespace openiser::target
