// The target's session: who calls whom, and in which order things happen. Concerns are elsewhere:
// numbering in CommandWindow and TargetSender, tasks in ScsiTask, task management in
// TaskManagement, text in TextService. Its own functions are in target_session.cc (life and time),
// target_requests.cc (PDUs) and target_tasks.cc (tasks and memory).
//
// Calls nest: the datamover calls the session, that calls the handler, that calls its task, that
// calls the session. So whatever could pull the rug from under a caller (handing data over, reusing
// a task, ending the session) is put on a list and done by settle(), when the outermost call is
// left. Then, outside of a datamover's turn, what has been queued is flushed.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "iscsi/session/admissible.h"
#include "iscsi/session/connection_state.h"
#include "iscsi/session/keep_alive.h"
#include "iscsi/session/scsi_task.h"
#include "iscsi/session/target_session.h"
#include "iscsi/session/task_management.h"
#include "iscsi/session/text_service.h"
#include "iscsi/session/transfer_window.h"

namespace openiser::iscsi {

class TargetSessionImpl final : public TargetSession,
                                private ScsiTaskHost,
                                private TaskManagementHost {
 public:
  TargetSessionImpl(const Parameters& parameters, Datamover& datamover, TaskHandler* handler,
                    SessionHost& host, TargetSessionLimits limits, BufferPool* pool);

  // --- TargetSession ---
  void end(ErrorCode why) override;
  void request_logout(Duration grace) override;
  void report_event(const Lun& lun, Bytes sense) override;
  std::optional<Time> deadline() const override;
  void expired(Time now) override;
  Counters counters() const override;

  // --- DatamoverClient ---
  void control_notify(ControlPdu pdu) override;
  void data_completion_notify(DataCompletion completion) override;
  void connection_terminate_notify(ErrorCode why) override;
  void turn_ended() override;

 private:
  class Inside;

  // --- life (target_session.cc) ---
  void enter() override { ++depth_; }
  void leave() override;
  void settle();
  bool is_running() const;
  void lose(ErrorCode why);
  void terminate(ErrorCode why);
  void limit_logout();
  void finish_logout();
  void finish_session();
  void keep_alive(Time now);
  std::optional<Time> idle_deadline() const;
  void end_idleness(Time now);
  void begin_turn();

  // --- requests (target_requests.cc). Each says whether the PDU was taken; if not it has been
  // rejected, and counts as not received (RFC 7143 section 7.3). ---
  bool accept(ControlPdu& pdu);
  void numbered(ControlPdu pdu);
  void deliver_held();
  bool scsi_command(ControlPdu& pdu);
  bool task_management(const ControlPdu& pdu);
  bool nop_out(ControlPdu& pdu);
  bool text_request(const ControlPdu& pdu);
  bool logout_request(const ControlPdu& pdu);
  void data_out(ControlPdu pdu);
  template <class Request>
  std::optional<Request> decode_or_reject(const ControlPdu& pdu);
  bool refuse(const ControlPdu& pdu, RejectReason reason);
  bool tag_in_use(std::uint32_t initiator_task_tag) const;
  void take_place(bool immediate);
  void free_place(bool immediate);

  // --- TaskManagementHost ---
  CommandWindow& window() override { return window_; }
  ScsiTask* find_task(std::uint32_t initiator_task_tag) override;
  std::vector<ScsiTask*> select_tasks(const std::function<bool(const ScsiTask&)>& covered) override;
  bool abort_text(std::uint32_t initiator_task_tag) override;
  void management_done(const TaskManagementRequest& request, TaskManagementAnswer answer) override;

  // --- ScsiTaskHost, tasks and memory (target_tasks.cc) ---
  TaskHandler& handler() override { return *handler_; }
  const Parameters& parameters() const override { return parameters_; }
  TargetSender& sender() override { return sender_; }
  Buffer take_buffer(std::size_t size) override;
  void task_ready(ScsiTask& task) override { ready_.push_back(&task); }
  void task_needs_memory(ScsiTask& task) override { memory_queue_.push_back(&task); }
  void task_ending(ScsiTask& task) override;
  void task_ended(ScsiTask& task) override;
  void sending(std::size_t bytes, std::size_t lease) override;
  void fetch_begins(std::size_t bytes) override { fetching_.begin(bytes); }
  void fetch_ends(std::size_t bytes) override { fetching_.end(bytes); }
  ScsiTask& open_task(const ScsiCommand& command, const CommandAhs& ahs);
  void abort_tasks();
  std::size_t tasks_alive() const { return all_tasks_.size() - spare_tasks_.size(); }
  bool deliver_ready();
  bool recycle_ended();
  bool serve_memory();

  Parameters parameters_;
  Datamover& datamover_;
  TaskHandler* handler_;
  SessionHost& host_;
  TargetSessionLimits limits_;

  CommandWindow window_;
  TargetSender sender_;
  BufferPool pool_;
  TaskManagement management_;
  TextService text_;
  // Of the text exchange under way; holds once that is over.
  std::optional<std::uint32_t> declared_data_segment_;
  KeepAlive keep_alive_;
  Time busy_;  // when something was last asked for
  std::uint32_t ping_tag_ = kReservedTag;

  // Tasks by tag; those in `ended_` are no longer among them but not yet reused.
  TagTable<ScsiTask> tasks_;
  std::vector<std::unique_ptr<ScsiTask>> all_tasks_;
  std::vector<ScsiTask*> spare_tasks_;
  std::vector<ScsiTask*> ready_;
  std::vector<ScsiTask*> ended_;
  std::deque<ScsiTask*> memory_queue_;
  std::uint64_t next_serial_ = 0;
  std::uint32_t immediate_tasks_ = 0;
  TransferWindow fetching_;
  TransferWindow sending_;
  // The handler asked in vain when so much was on lease; while too much was being sent.
  std::optional<std::size_t> memory_refused_at_;
  bool reads_held_ = false;
  // Tags of the last tasks that were aborted while Data-Outs for them could still come.
  std::array<std::uint32_t, 32> aborted_tags_;
  std::size_t next_aborted_tag_ = 0;

  ConnectionState state_ = ConnectionState::logged_in;
  std::optional<LogoutRequest> logout_;
  bool logout_answered_ = false;
  bool terminated_ = false;       // connection_terminate() has been called
  bool connection_gone_ = false;  // connection_terminate_notify() has come
  bool reported_ = false;         // session_ended() has been called
  ErrorCode why_;
  std::optional<Time> logout_deadline_;   // for the initiator to log out, and to let it be done
  std::optional<Time> closing_deadline_;  // for the peer to take what we still have to send

  int depth_ = 0;
  bool in_turn_ = false;
  Counters counters_;
};

// Inside of it the session is entered.
class TargetSessionImpl::Inside {
 public:
  explicit Inside(TargetSessionImpl& session) : session_(session) { session_.enter(); }
  ~Inside() { session_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  TargetSessionImpl& session_;
};

}  // namespace openiser::iscsi
