// One attempt at a connection to a target, on one event loop: connect, log in over the chosen wire,
// then carry a session until it ends. Owns the driver, the endpoints and the session; its owner
// hears of it through Events.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "initiator/url.h"
#include "iscsi/login/login.h"
#include "iscsi/session/initiator_session.h"
#include "iser/iser_datamover.h"
#include "rdmap/tcp/tcp.h"

namespace openiser::initiator {

// The detail of an end that came before the login was through.
inline constexpr const char* kDuringLogin = "during login";

struct ConnectSettings {
  // The wire to use, never automatic.
  Url url;
  bool discovery = false;  // a discovery session: plain, rdma-first or verbs
  std::string initiator_name;
  iscsi::Isid isid{};
  iscsi::SharedChapSettings chap{};  // null: AuthMethod=None
  Duration connect_timeout = std::chrono::seconds(5);
  Duration login_timeout = std::chrono::seconds(15);
  // For what shows that the target speaks this wire: MPA's reply (rdma-first), the card's (verbs),
  // or the login.
  Duration detection_timeout = std::chrono::seconds(15);
  iscsi::InitiatorSessionLimits limits;
};

// What an established connection turned out to be.
struct ConnectionInfo {
  Wire wire = Wire::plain;
  iscsi::Parameters parameters;
  std::string local_address, peer_address;
  // With iSER, once the queue pair is up: for stream-first soon after the login.
  std::optional<rdmap::Established> rdma;
};

class ClientConnection {
 public:
  class Events {
   public:
    // Once at most: tasks may be submitted.
    virtual void logged_in(iscsi::InitiatorSession& session) = 0;
    // Exactly once: the connection is over; `detail` says in words what the error alone does not
    // (may be empty), and where to with login_redirected and login_moved. The ClientConnection may
    // be destroyed, but not from inside the call.
    virtual void connection_ended(ErrorCode why, const std::string& detail) = 0;

   protected:
    ~Events() = default;
  };

  // `pool` and `events` outlive it.
  ClientConnection(rdmap::EventLoop& loop, BufferPool& pool, ConnectSettings settings,
                   Events& events);
  ~ClientConnection();

  ConnectionInfo info() const;
  // Before a session exists: give up. Later the session's own end() and logout() do.
  void cancel();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace openiser::initiator
