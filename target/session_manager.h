// Which sessions the target has, over all threads: gives each a TSIH, and sees to it that a second
// login of the same initiator port to the same target portal group takes the place of the first one
// (session reinstatement, RFC 7143 sections 6.3.5 and 4.4.3.1): the old session is gone altogether
// before the new login is granted.
//
//   join() -- nobody has the nexus ----------------------------------> admitted(tsih)
//      |                                                                    ^
//      +-- somebody has: its end_session(reinstated) .. its Ticket goes ----+
//      +-- somebody already waits: that one is told end_session(reinstated) as well
//
// A connection joins when its login has been negotiated, and holds the ticket until it is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "iscsi/login/parameters.h"
#include "rdmap/tcp/event_loop.h"

namespace openiser::target {

// Who a session is between (RFC 7143 section 4.4.2, the I_T nexus).
struct NexusName {
  std::string initiator_name;
  iscsi::Isid isid{};
  std::string target_name;  // empty: a discovery session
  std::uint16_t portal_group_tag = 0;

  friend bool operator<(const NexusName& a, const NexusName& b) {
    const auto fields = [](const NexusName& n) {
      return std::tie(n.initiator_name, n.isid, n.target_name, n.portal_group_tag);
    };
    return fields(a) < fields(b);
  }
};

class SessionManager {
 public:
  // One connection with its session. All calls are made on the loop it joined with, and none after
  // its ticket is gone.
  class Member {
   public:
    // The nexus is this member's: the login may be granted.
    virtual void admitted(std::uint16_t tsih) = 0;
    // The session, or the login that waits to become one, is to end.
    virtual void end_session(ErrorCode why) = 0;

   protected:
    ~Member() = default;
  };

  struct SessionInfo {
    std::uint16_t tsih = 0;
    NexusName nexus;
    std::string peer_address;
    std::string wire;  // "plain", "stream-first", "rdma-first", "verbs"; empty while it waits
  };

  // A member's stay. Let go on the member's loop. Must not outlive the manager.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&& other) noexcept { swap(other); }
    Ticket& operator=(Ticket&& other) noexcept {
      Ticket taken(std::move(other));
      swap(taken);
      return *this;
    }
    ~Ticket();
    explicit operator bool() const { return entry_ != nullptr; }
    // For the list: how the session travels, once that is settled.
    void set_wire(std::string wire);

   private:
    friend class SessionManager;
    struct Entry;
    Ticket(SessionManager& manager, std::shared_ptr<Entry> entry)
        : manager_(&manager), entry_(std::move(entry)) {}
    void swap(Ticket& other) noexcept {
      std::swap(manager_, other.manager_);
      std::swap(entry_, other.entry_);
    }
    SessionManager* manager_ = nullptr;
    std::shared_ptr<Entry> entry_;
  };

  // Any thread. admitted() follows, never from inside this call. Discovery sessions take nobody's
  // place. Fails with errc::login_out_of_resources when every TSIH is in use.
  Result<Ticket> join(NexusName nexus, std::string peer_address, rdmap::EventLoop& loop,
                      Member& member);

  // Any thread: whether a session of this initiator with that TSIH exists.
  bool exists(std::uint16_t tsih, const std::string& initiator_name) const;
  // Any thread: those of which `which` says so are to end.
  void end_where(const std::function<bool(const SessionInfo&)>& which, ErrorCode why);
  // Any thread, ordered by TSIH.
  std::vector<SessionInfo> list() const;

 private:
  using Entry = Ticket::Entry;
  // Who has a nexus, and who gets it next.
  struct Holders {
    std::shared_ptr<Entry> current;
    std::shared_ptr<Entry> next;
  };

  std::uint16_t free_tsih();
  void leave(const std::shared_ptr<Entry>& entry);

  mutable std::mutex mutex_;
  std::map<std::uint16_t, std::shared_ptr<Entry>> sessions_;
  std::map<NexusName, Holders> holders_;
  std::uint16_t last_tsih_ = 0;
};

}  // namespace openiser::target
