// The full feature phase at the target (RFC 7143 sections 4.2 to 4.6, 8, 11): one session of one
// connection over any datamover. It orders commands, keeps the task table, gathers write data,
// numbers everything and hands SCSI tasks to a TaskHandler; it knows no SCSI. Sans-I/O: the
// datamover brings PDUs, expired() the time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "iscsi/datamover.h"
#include "iscsi/errors.h"
#include "iscsi/login/parameters.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi {

// A SCSI task as its handler sees it, from execute() until finish() or release(): the four
// transport protocol services of SAM (send SCSI command received, data-in, data-out, command
// complete). Calls are made on the connection's thread.
class TargetTask {
 public:
  // --- facts, constant during the task's life ---
  Lun lun{};
  std::uint32_t initiator_task_tag = 0;
  TaskAttribute attribute = TaskAttribute::simple;
  bool read = false;
  bool write = false;
  // 16 bytes, or more from an Extended CDB AHS.
  Bytes cdb;
  // EDTL for the write data, or the read data where there is no write.
  std::uint32_t expected_data_transfer_length = 0;
  // EDTL for the read data of a bidirectional command.
  std::uint32_t expected_bidi_read_length = 0;

  // What the handler likes to keep with the task; the session does not touch it.
  void* handler_context = nullptr;

  // Data-In: `data` (window) is the read data at `offset`. What lies beyond the expected length is
  // cut off. In any number of pieces, ascending offsets.
  virtual void send_data(Buffer data, std::uint32_t offset) = 0;
  // Data-Out: fetch the first min(length, EDTL) bytes of write data; TaskHandler::data_received()
  // follows, once: never from inside execute(), but before this returns if the data is there and
  // the call comes from outside of the session's own. At most one call a task.
  virtual void receive_data(std::uint32_t length) = 0;
  // Ends the task: SAM status, sense data (up to 252 bytes, empty for GOOD), and how many bytes the
  // command was to transfer by its CDB (for residuals): of the read data, or of the write data
  // where there is no read.
  virtual void finish(std::uint8_t status, Bytes sense, std::uint64_t transfer_length) = 0;
  // Ends a task without an answer: the handler's word that it no longer touches the task.
  // The answer to abort(); without one, the task is dropped (SAM-5: TAS is 0).
  virtual void release() = 0;
  // A lease from the connection's pool; empty when the session has reached its memory limit, or has
  // a transfer window of data to send: try again at memory_freed().
  virtual Buffer take_buffer(std::size_t size) = 0;

 protected:
  ~TargetTask() = default;
};

// Write data: pieces in order, whose windows together are the data. The first is often a part of
// the command's own receive buffer, so nothing was copied.
using DataPieces = std::vector<Buffer>;

// Who executes SCSI tasks: the SCSI side of one session (one I_T nexus). Implemented by
// target/scsi.
class TaskHandler {
 public:
  virtual ~TaskHandler() = default;
  // Answers through the task, at once or later, always on the connection's thread.
  virtual void execute(TargetTask& task) = 0;
  // `data` is the handler's to take: what it leaves goes when this returns. A vector that it swaps
  // in is used for the next write.
  virtual void data_received(TargetTask& task, DataPieces& data) = 0;
  // The task is to end as soon as can be: the handler stops it and calls release(), at once or
  // later. Data under way for it is dropped; finish() and send_data() do nothing from now on.
  virtual void abort(TargetTask& task) = 0;
  // Task management beyond tasks of this session: `done` is called once, at once or later, on the
  // connection's thread. For aborts of this session's own tasks the session has called abort() for
  // each affected task already and waits for their release before answering.
  virtual void manage(TaskManagementFunction function, const Lun& lun,
                      std::function<void(TaskManagementAnswer)> done) = 0;
  // A buffer asked for in vain may be had now.
  virtual void memory_freed() {}
  // The initiator has logged out and its last task is over: what belonged to the I_T nexus is let
  // go before the initiator learns that it is (RFC 7143 section 11.14). Nothing is executed from
  // now on.
  virtual void nexus_lost() {}
};

// Answers to SendTargets (RFC 7143 Appendix C).
struct TargetRecord {
  std::string name;
  std::string alias;
  std::vector<std::string> addresses;  // "host:port,tag"
};

// The rest of what a session needs to know about its surroundings.
class SessionHost {
 public:
  // `name`: empty for All; of a normal session only its own target is asked for.
  virtual std::vector<TargetRecord> send_targets(const std::string& name) = 0;
  // The session has ended and may be destroyed (not from inside this call). `why`:
  // errc::logged_out, reinstated, ...
  virtual void session_ended(ErrorCode why) = 0;
  virtual Time now() const = 0;
  // The session's deadline() may have changed.
  virtual void deadline_changed() = 0;

 protected:
  ~SessionHost() = default;
};

struct TargetSessionLimits {
  std::uint32_t command_window = 128;                // MaxCmdSN - ExpCmdSN + 1 when idle
  std::uint32_t immediate_commands = 16;             // beyond: Reject immediate_command_reject
  std::size_t buffer_bytes = std::size_t{64} << 20;  // data buffers on lease at one time
  // Payload being fetched, and as much being sent, beyond which no other transfer is begun.
  std::size_t transfer_window = std::size_t{1} << 20;
  Duration nop_interval = std::chrono::seconds(30);  // silence before a NOP-In ping; zero: never
  Duration nop_timeout = std::chrono::seconds(30);   // without an answer the connection ends
  // Without a SCSI command or Text Request the initiator is asked to log out, for which it has
  // nop_timeout; zero: never.
  Duration idle_timeout = Duration::zero();
};

class TargetSession : public DatamoverClient {
 public:
  // `handler` is null for a discovery session. `datamover` and `host` outlive the session, as does
  // `pool`, which data buffers are taken of; null: the session has memory of its own.
  static std::unique_ptr<TargetSession> create(const Parameters& parameters, Datamover& datamover,
                                               TaskHandler* handler, SessionHost& host,
                                               TargetSessionLimits limits = {},
                                               BufferPool* pool = nullptr);
  virtual ~TargetSession() = default;

  // Ends the session: every task is aborted and released, then session_ended(why). `ask_first`: an
  // Async Message asks the initiator to log out and the session ends after `grace` if it does not.
  virtual void end(ErrorCode why) = 0;
  virtual void request_logout(Duration grace) = 0;
  // An Async Message with SCSI sense data (event 0) for a LUN.
  virtual void report_event(const Lun& lun, Bytes sense) = 0;

  virtual std::optional<Time> deadline() const = 0;
  virtual void expired(Time now) = 0;

  struct Counters {
    std::uint64_t commands = 0, bytes_read = 0, bytes_written = 0, rejects = 0, aborted = 0;
    std::uint32_t tasks = 0;  // open now
  };
  virtual Counters counters() const = 0;
};

}  // namespace openiser::iscsi
