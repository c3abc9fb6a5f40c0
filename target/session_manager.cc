#include "target/session_manager.h"

#include <utility>

#include "iscsi/errors.h"

namespace openiser::target {

struct SessionManager::Ticket::Entry : std::enable_shared_from_this<Entry> {
  Entry(rdmap::EventLoop& own_loop, Member& own_member) : loop(own_loop), member(&own_member) {}

  // Both are called under the manager's lock, while the member's ticket (and so its loop) is there.
  void admit() {
    loop.post([self = shared_from_this()] {
      if (self->member) self->member->admitted(self->info.tsih);
    });
  }
  void end(ErrorCode why) {
    loop.post([self = shared_from_this(), why] {
      if (self->member) self->member->end_session(why);
    });
  }

  rdmap::EventLoop& loop;
  Member* member;    // touched on the loop only; null once the ticket is gone
  SessionInfo info;  // wire is guarded by the manager's lock, the rest is constant
};

SessionManager::Ticket::~Ticket() {
  if (!entry_) return;
  entry_->member = nullptr;
  manager_->leave(entry_);
}

void SessionManager::Ticket::set_wire(std::string wire) {
  const std::lock_guard lock(manager_->mutex_);
  entry_->info.wire = std::move(wire);
}

Result<SessionManager::Ticket> SessionManager::join(NexusName nexus, std::string peer_address,
                                                    rdmap::EventLoop& loop, Member& member) {
  auto entry = std::make_shared<Entry>(loop, member);
  entry->info.nexus = std::move(nexus);
  entry->info.peer_address = std::move(peer_address);
  const std::lock_guard lock(mutex_);
  entry->info.tsih = free_tsih();
  if (entry->info.tsih == 0) return make_error_code(iscsi::errc::login_out_of_resources);
  sessions_.emplace(entry->info.tsih, entry);
  if (entry->info.nexus.target_name.empty()) {
    entry->admit();
    return Ticket(*this, std::move(entry));
  }
  Holders& holders = holders_[entry->info.nexus];
  if (!holders.current) {
    holders.current = entry;
    entry->admit();
  } else {
    // Told once: by the first who waits.
    (holders.next ? holders.next : holders.current)->end(iscsi::errc::reinstated);
    holders.next = entry;
  }
  return Ticket(*this, std::move(entry));
}

void SessionManager::leave(const std::shared_ptr<Entry>& entry) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(entry->info.tsih);
  const auto found = holders_.find(entry->info.nexus);
  if (found == holders_.end()) return;
  Holders& holders = found->second;
  if (holders.next == entry) holders.next.reset();
  if (holders.current == entry) {
    holders.current = std::exchange(holders.next, nullptr);
    if (holders.current) holders.current->admit();
  }
  if (!holders.current) holders_.erase(found);
}

// 0 is not a TSIH (RFC 7143 section 11.12.6); the numbers are used in turn, so that a stale one is
// not soon taken for a new session.
std::uint16_t SessionManager::free_tsih() {
  for (std::uint32_t tries = 0; tries < 0xffff; ++tries) {
    if (++last_tsih_ == 0) ++last_tsih_;
    if (!sessions_.contains(last_tsih_)) return last_tsih_;
  }
  return 0;
}

bool SessionManager::exists(std::uint16_t tsih, const std::string& initiator_name) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(tsih);
  return found != sessions_.end() && found->second->info.nexus.initiator_name == initiator_name;
}

void SessionManager::end_where(const std::function<bool(const SessionInfo&)>& which,
                               ErrorCode why) {
  const std::lock_guard lock(mutex_);
  for (const auto& [tsih, entry] : sessions_)
    if (which(entry->info)) entry->end(why);
}

std::vector<SessionManager::SessionInfo> SessionManager::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<SessionInfo> all;
  for (const auto& [tsih, entry] : sessions_) all.push_back(entry->info);
  return all;
}

}  // namespace openiser::target
