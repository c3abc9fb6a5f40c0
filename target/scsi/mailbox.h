// How other threads reach a nexus: by posting to its loop, for as long as it is there.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rdmap/tcp/event_loop.h"
#include "target/scsi/reservations/it_nexus.h"

namespace openiser::target {

class Nexus;

// Shared by a nexus, the logical units it is attached to, and what has been posted.
class Mailbox : public std::enable_shared_from_this<Mailbox> {
 public:
  Mailbox(rdmap::EventLoop& loop, Nexus& nexus, ItNexus name)
      : loop_(&loop), nexus_(&nexus), name_(std::move(name)) {}

  const ItNexus& name() const { return name_; }

  // Any thread. `call` is dropped when the nexus goes before it could run.
  void post(std::function<void(Nexus&)> call) {
    const std::lock_guard lock(mutex_);
    if (!loop_) return;
    loop_->post([self = shared_from_this(), call = std::move(call)] {
      if (self->nexus_) call(*self->nexus_);
    });
  }

  // By the nexus's destructor, on its thread.
  void close() {
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
    nexus_ = nullptr;
  }

 private:
  std::mutex mutex_;
  rdmap::EventLoop* loop_;
  Nexus* nexus_;  // used on the loop's thread only
  const ItNexus name_;
};

// The nexuses that share something, such as a logical unit or a target: any thread, locked inside.
class NexusList {
 public:
  void attach(std::shared_ptr<Mailbox> mailbox) {
    const std::lock_guard lock(mutex_);
    mailboxes_.push_back(std::move(mailbox));
  }
  void detach(const Mailbox& mailbox) {
    const std::lock_guard lock(mutex_);
    std::erase_if(mailboxes_, [&](const auto& each) { return each.get() == &mailbox; });
  }
  // Runs `call` on the thread of every nexus but `except` (null: of all).
  void post(const Mailbox* except, const std::function<void(Nexus&)>& call) {
    const std::lock_guard lock(mutex_);
    for (const auto& mailbox : mailboxes_) {
      if (mailbox.get() != except) mailbox->post(call);
    }
  }
  std::vector<ItNexus> names() const {
    const std::lock_guard lock(mutex_);
    std::vector<ItNexus> names;
    for (const auto& mailbox : mailboxes_) names.push_back(mailbox->name());
    return names;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Mailbox>> mailboxes_;
};

}  // namespace openiser::target
