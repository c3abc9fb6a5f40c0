// The full feature phase at the initiator: one session of one connection over any datamover. Queues
// commands for the window, matches answers to tasks, answers and sends NOPs, does text, task
// management and logout. Sans-I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "iscsi/datamover.h"
#include "iscsi/errors.h"
#include "iscsi/login/parameters.h"
#include "iscsi/session/target_session.h"

namespace openiser::iscsi {

// A SCSI command of the caller's, from submit() until done(). Memory named here stays valid until
// then.
class InitiatorTask {
 public:
  Lun lun{};
  TaskAttribute attribute = TaskAttribute::simple;
  std::array<std::byte, 16> cdb{};
  Bytes data_out;
  MutableBytes data_in;

  // --- filled in before done() ---
  // No error: the target answered, see `status`. Else the command's fate is unknown (connection
  // lost, aborted).
  ErrorCode error;
  std::uint8_t status = 0;  // SAM status
  std::vector<std::byte> sense;
  // Bytes the target wanted to transfer less (negative) or more (positive) than we expected.
  std::int64_t residual = 0;

  // Set by the session.
  std::uint32_t initiator_task_tag = kReservedTag;

  // Called once, on the session's thread; may submit more and may destroy the task.
  virtual void done() = 0;

 protected:
  ~InitiatorTask() = default;
};

class InitiatorSessionHost {
 public:
  // The session has ended: every task is done, with an error. Not to be destroyed from inside this
  // call.
  virtual void session_ended(ErrorCode why) = 0;
  // RFC 7143 section 11.9: the target reports an event.
  virtual void async_message(const AsyncMessage& message, Bytes data) { (void)message, (void)data; }
  virtual Time now() const = 0;
  virtual void deadline_changed() = 0;

 protected:
  ~InitiatorSessionHost() = default;
};

struct InitiatorSessionLimits {
  Duration nop_interval = std::chrono::seconds(5);  // silence before a NOP-Out ping; zero: never
  Duration nop_timeout = std::chrono::seconds(10);
  Duration logout_timeout = std::chrono::seconds(5);
  Duration close_timeout = std::chrono::seconds(1);  // for the target to close after a logout
};

class InitiatorSession : public DatamoverClient {
 public:
  static std::unique_ptr<InitiatorSession> create(const Parameters& parameters,
                                                  Datamover& datamover, InitiatorSessionHost& host,
                                                  InitiatorSessionLimits limits = {});
  virtual ~InitiatorSession() = default;

  // Queues the task; it is sent when the command window opens, at the next flush(). After the
  // session's end it is done with errc::not_logged_in.
  virtual void submit(InitiatorTask& task) = 0;
  virtual void flush() = 0;
  // What the peer has sent is being looked at: at the end of that all is flushed anyway.
  virtual bool in_turn() const = 0;

  using Answer = std::function<void(ErrorCode error, TaskManagementAnswer answer)>;
  // ABORT TASK of a task under way: the task is done with task_aborted, or with its answer if that
  // came first.
  virtual void abort(InitiatorTask& task, Answer answer) = 0;
  virtual void manage(TaskManagementFunction function, const Lun& lun, Answer answer) = 0;

  // NOP-Out with `data` that asks for an echo. The round trip is the caller's to time.
  virtual void ping(Bytes data, std::function<void(ErrorCode error, Bytes echo)> done) = 0;
  // SendTargets; `what`: "All", a target name, or "" for the session's own.
  virtual void send_targets(
      std::string what, std::function<void(ErrorCode error, std::vector<TargetRecord>)> done) = 0;
  // Logout (close session); session_ended(errc::logged_out) follows.
  virtual void logout() = 0;
  virtual void end(ErrorCode why) = 0;

  virtual std::optional<Time> deadline() const = 0;
  virtual void expired(Time now) = 0;
};

}  // namespace openiser::iscsi
