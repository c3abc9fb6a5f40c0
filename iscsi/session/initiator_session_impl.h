// The initiator's session. Its functions are in initiator_session.cc (life and time),
// initiator_commands.cc (SCSI) and initiator_requests.cc (everything else it asks or is told).
//
// As in the target's session, what calls out to the user (done(), answers, session_ended()) waits
// on a list until the outermost call is left, so a user may call in from there and destroy tasks.
// Tasks that were sent keep their memory until the datamover has let go of it: until their response
// or deallocate_task_resources(), or connection_terminate_notify().
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iscsi/pdu/text.h"
#include "iscsi/session/command_credit.h"
#include "iscsi/session/command_table.h"
#include "iscsi/session/connection_state.h"
#include "iscsi/session/initiator_session.h"
#include "iscsi/session/keep_alive.h"

namespace openiser::iscsi {

class InitiatorSessionImpl final : public InitiatorSession {
 public:
  InitiatorSessionImpl(const Parameters& parameters, Datamover& datamover,
                       InitiatorSessionHost& host, InitiatorSessionLimits limits);

  // --- InitiatorSession ---
  void submit(InitiatorTask& task) override;
  void flush() override;
  void abort(InitiatorTask& task, Answer answer) override;
  void manage(TaskManagementFunction function, const Lun& lun, Answer answer) override;
  void ping(Bytes data, std::function<void(ErrorCode error, Bytes echo)> done) override;
  void send_targets(std::string what,
                    std::function<void(ErrorCode error, std::vector<TargetRecord>)> done) override;
  void logout() override;
  void end(ErrorCode why) override;
  std::optional<Time> deadline() const override;
  void expired(Time now) override;

  // --- DatamoverClient ---
  void control_notify(ControlPdu pdu) override;
  void data_completion_notify(DataCompletion) override {}  // the target's
  void connection_terminate_notify(ErrorCode why) override;
  void turn_ended() override;
  bool in_turn() const override { return in_turn_; }
  std::uint32_t exp_stat_sn() const override { return exp_stat_sn_; }
  void window_notify(std::uint32_t exp_cmd_sn, std::uint32_t max_cmd_sn) override;

 private:
  class Inside;
  using Command = CommandTable::Command;
  using Call = std::function<void()>;

  struct ManagementRequest {
    TaskManagementRequest pdu;
    Answer answer;
  };
  struct PingRequest {
    std::uint32_t tag = kReservedTag;
    // Empty for the session's own pings.
    std::function<void(ErrorCode error, Bytes echo)> done;
  };
  // A list of targets beyond this is no list: the bound of what an answer may make us keep. And as
  // many PDUs as that takes with the smallest data segments.
  static constexpr std::size_t kMaxTextAnswer = std::size_t{4} << 20;
  static constexpr std::size_t kMaxTextPdus = kMaxTextAnswer / 512;
  // One text exchange at a time (RFC 7143 section 11.10); the first is under way.
  struct TextJob {
    std::string text;
    std::function<void(ErrorCode error, std::vector<TargetRecord>)> done;
    std::uint32_t tag = kReservedTag;
    TextCollector answer = TextCollector(kMaxTextAnswer);
    std::size_t pdus = 0;
    std::size_t answered = 0;  // how much of `answer` has been, where the target negotiates
  };

  // --- life (initiator_session.cc) ---
  void leave();
  void settle();
  bool call_out();
  void begin_turn();
  bool is_running() const { return state_ == ConnectionState::logged_in; }
  bool is_over() const {
    return state_ == ConnectionState::cleanup_wait || state_ == ConnectionState::free;
  }
  void lose(ErrorCode why);
  void terminate(ErrorCode why);
  void conclude_everything();
  void keep_alive(Time now);

  // --- commands (initiator_commands.cc) ---
  void pump();
  void send_command(InitiatorTask& task);
  void send_unsolicited(const Command& command, const TaskMemory& memory);
  void scsi_response(const ControlPdu& pdu);
  // The task is over; done() follows.
  void finish(InitiatorTask& task, ErrorCode error);
  // The command ends without a SCSI Response.
  void conclude(Command& command, ErrorCode error);
  void conclude_affected(const TaskManagementRequest& request);

  // --- requests (initiator_requests.cc) ---
  std::uint32_t fresh_tag();
  template <class Request>
  void send_immediate(Request request, Buffer data = {});
  template <class Request>
  void send_numbered(Request request, Buffer data = {});
  void send_management(TaskManagementRequest request, Answer answer);
  void send_abort(const Command& command, Answer answer);
  void send_ping(Bytes data, std::function<void(ErrorCode error, Bytes echo)> done);
  void add_text_job(TextJob job);
  void start_text();
  void continue_text(const TextResponse& response);
  void finish_text(ErrorCode error, std::vector<TargetRecord> records = {});

  void dispatch(ControlPdu& pdu);
  void note_numbers(const Bhs& bhs);
  void management_response(const ControlPdu& pdu);
  void management_ended(ManagementRequest ended, ErrorCode error, TaskManagementAnswer answer);
  void nop_in(ControlPdu& pdu);
  void text_response(const ControlPdu& pdu);
  void logout_response(const ControlPdu& pdu);
  void async_message(const ControlPdu& pdu);
  void rejected(const ControlPdu& pdu);
  void command_rejected(Command& command, RejectReason reason);
  bool request_rejected(std::uint32_t tag);
  // A malformed PDU ends the session.
  template <class Pdu>
  std::optional<Pdu> decode_or_end(const ControlPdu& pdu) {
    const auto decoded = decode<Pdu>(pdu.bhs);
    if (decoded) return *decoded;
    end(decoded.error());
    return {};
  }
  std::optional<ManagementRequest> take_management(std::uint32_t tag);
  std::optional<PingRequest> take_ping(std::uint32_t tag);
  void ping_ended(const PingRequest& ping, ErrorCode error, Buffer echo);

  const Parameters parameters_;
  Datamover& datamover_;
  InitiatorSessionHost& host_;
  const InitiatorSessionLimits limits_;

  CommandCredit credit_;
  std::uint32_t exp_stat_sn_;
  CommandTable commands_;
  std::deque<InitiatorTask*> waiting_;  // for the window
  std::vector<ManagementRequest> managements_;
  std::vector<PingRequest> pings_;
  std::deque<TextJob> texts_;
  std::uint32_t logout_tag_ = kReservedTag;
  std::uint16_t next_tag_ = 0;
  KeepAlive keep_alive_;

  // What is to be called out, in this order.
  std::vector<InitiatorTask*> finished_;
  std::vector<InitiatorTask*> calling_;  // finished_ while it is being called
  std::deque<Call> calls_;

  ConnectionState state_ = ConnectionState::logged_in;
  bool logged_out_ = false;
  bool terminated_ = false;
  bool connection_gone_ = false;
  bool reported_ = false;
  ErrorCode why_;
  // Of the logout, then of the connection's end.
  std::optional<Time> ending_deadline_;

  int depth_ = 0;
  bool in_turn_ = false;
  bool urgent_ = false;  // something that does not wait for flush() has been queued
};

// Inside of it the session is entered.
class InitiatorSessionImpl::Inside {
 public:
  explicit Inside(InitiatorSessionImpl& session) : session_(session) { ++session_.depth_; }
  ~Inside() { session_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  InitiatorSessionImpl& session_;
};

}  // namespace openiser::iscsi
