// A session with one target for programs: opened and used from any thread, run by an event loop on
// a thread of its own, or on one that it shares. When the connection is lost it logs in again and
// repeats what was not answered, for as long as `recovery_timeout` says.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/secret.h"
#include "initiator/client_connection.h"
#include "initiator/url.h"
#include "iscsi/pdu/lun.h"

namespace openiser::initiator {

class SessionThread;

// A connection could not be had, or a command failed for good: what, where, and what to do. Exit
// status 1.
class SessionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct SessionOptions {
  // Empty: the host's (see default_initiator_name()).
  std::string initiator_name;
  // CHAP, for a URL with a user: the user's secret. With a secret of the target's the target has to
  // prove itself too, by that name, or whatever its name if that is empty.
  Secret secret;
  Secret target_secret;
  std::string target_user;
  Duration connect_timeout = std::chrono::seconds(5);
  Duration login_timeout = std::chrono::seconds(15);
  // How long commands wait for a lost connection to come back before they fail; zero: not at all.
  Duration recovery_timeout = std::chrono::seconds(0);
  // How long the session's thread looks for work, at the most, before it sleeps: saves the time of
  // a wake-up, costs a processor. Zero: not at all. Of no account with a `thread`.
  Duration busy_poll{};
  iscsi::InitiatorSessionLimits limits;
  // Where the session runs; null: on a thread of its own.
  std::shared_ptr<SessionThread> thread;
  // Told, on the session's thread, when the connection is lost and when it is back.
  std::function<void(const std::string&)> on_event;
};

// What came of a ping.
struct Echo {
  Duration round_trip{};
  std::size_t size = 0;  // of the data that came back
};

// A SCSI command; see iscsi::InitiatorTask for its fields. Stays in place until `on_done` is
// called, on the session's thread.
class Command final : public iscsi::InitiatorTask {
 public:
  std::function<void(Command&)> on_done;

 private:
  friend class Session;
  void done() override;
  class Owner;
  Owner* owner_ = nullptr;
};

class Session {
 public:
  // Connects and logs in; tries the wires that url.wire allows. Throws SessionError, and UsageError
  // if the URL and the secrets do not go together.
  static std::shared_ptr<Session> open(const Url& url, SessionOptions options = {});
  // A discovery session's answer: the targets of a portal. Throws SessionError.
  static std::vector<iscsi::TargetRecord> discover(const Url& portal, SessionOptions options = {});
  // Logs out. Commands under way are done first, with an error if they have to. Not on the
  // session's thread.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Not on the session's thread. Of the connection that is there now, or was there last.
  ConnectionInfo info() const;
  const Url& url() const;

  // Any thread; from on_done it costs no hand-over.
  void submit(Command& command);
  // Any thread: runs `call` on the session's thread.
  void post(std::function<void()> call);
  // Submits and waits; not on the session's thread.
  void execute(Command& command);
  // NOP-Out and its echo, which may be short: Linux's iSER target sends no data back. Throws
  // SessionError.
  Echo ping(Bytes data);
  iscsi::TaskManagementAnswer manage(iscsi::TaskManagementFunction function, const iscsi::Lun& lun);

 private:
  friend class Command;
  class State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The name in /etc/iscsi/initiatorname.iscsi if there is one, else
// iqn.2026-11.io.open-iser:HOSTNAME.
std::string default_initiator_name();

using iscsi::encode_lun;

}  // namespace openiser::initiator
