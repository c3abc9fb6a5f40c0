#include "iscsi/session/initiator_session.h"

#include <utility>

#include "iscsi/session/initiator_session_impl.h"

namespace openiser::iscsi {

std::unique_ptr<InitiatorSession> InitiatorSession::create(const Parameters& parameters,
                                                           Datamover& datamover,
                                                           InitiatorSessionHost& host,
                                                           InitiatorSessionLimits limits) {
  auto session = std::make_unique<InitiatorSessionImpl>(parameters, datamover, host, limits);
  datamover.set_client(session.get());
  return session;
}

InitiatorSessionImpl::InitiatorSessionImpl(const Parameters& parameters, Datamover& datamover,
                                           InitiatorSessionHost& host,
                                           InitiatorSessionLimits limits)
    : parameters_(parameters),
      datamover_(datamover),
      host_(host),
      limits_(limits),
      credit_(parameters.next_cmd_sn, parameters.max_cmd_sn),
      exp_stat_sn_(parameters.next_stat_sn),
      keep_alive_(limits.nop_interval, limits.nop_timeout, host.now()) {}

// --- turns ---

void InitiatorSessionImpl::leave() {
  if (depth_ == 1) settle();
  if (--depth_ == 0 && !in_turn_ && urgent_) flush();
}

void InitiatorSessionImpl::settle() {
  do {
    pump();
  } while (call_out());
  if (!connection_gone_ || reported_) return;
  reported_ = true;
  state_ =
      next_state(state_, logged_out_ ? ConnectionEvent::logout_done : ConnectionEvent::cleaned_up);
  host_.session_ended(why_);
}

// Tasks first: an answer to task management speaks of them.
bool InitiatorSessionImpl::call_out() {
  if (!finished_.empty()) {
    calling_.clear();
    calling_.swap(finished_);
    for (InitiatorTask* task : calling_) task->done();
    return true;
  }
  if (calls_.empty()) return false;
  const Call call = std::move(calls_.front());
  calls_.pop_front();
  call();
  return true;
}

void InitiatorSessionImpl::begin_turn() {
  if (std::exchange(in_turn_, true)) return;
  keep_alive_.heard(host_.now());
}

void InitiatorSessionImpl::turn_ended() {
  const Inside inside(*this);
  in_turn_ = false;
  urgent_ = true;
}

void InitiatorSessionImpl::flush() {
  urgent_ = false;
  if (!terminated_ && !connection_gone_) datamover_.flush();
}

void InitiatorSessionImpl::window_notify(std::uint32_t exp_cmd_sn, std::uint32_t max_cmd_sn) {
  const Inside inside(*this);
  begin_turn();
  credit_.update(exp_cmd_sn, max_cmd_sn);
}

// --- the end ---

void InitiatorSessionImpl::end(ErrorCode why) {
  if (logged_out_ || is_over()) return;
  const Inside inside(*this);
  lose(why);
  terminate(why);
}

// T15, T16, T17. Tasks stay until the datamover has let go of their memory.
void InitiatorSessionImpl::lose(ErrorCode why) {
  if (is_over()) return;
  why_ = why;
  state_ = next_state(state_, ConnectionEvent::lost);
}

void InitiatorSessionImpl::terminate(ErrorCode why) {
  if (std::exchange(terminated_, true) || connection_gone_) return;
  datamover_.connection_terminate(why);
  ending_deadline_ = why ? std::nullopt : std::optional(host_.now() + limits_.logout_timeout);
  host_.deadline_changed();
}

void InitiatorSessionImpl::connection_terminate_notify(ErrorCode why) {
  const Inside inside(*this);
  connection_gone_ = true;
  if (!logged_out_) lose(why ? why : make_error_code(errc::connection_closed));
  conclude_everything();
}

void InitiatorSessionImpl::conclude_everything() {
  commands_.for_each([this](Command& command) {
    InitiatorTask& task = *command.task;
    const ErrorCode fate = command.fate;
    commands_.close(command);
    finish(task, fate ? fate : why_);
  });
  for (InitiatorTask* task : std::exchange(waiting_, {})) finish(*task, why_);
  for (ManagementRequest& request : std::exchange(managements_, {}))
    management_ended(std::move(request), why_, TaskManagementAnswer::rejected);
  for (const PingRequest& ping : std::exchange(pings_, {})) ping_ended(ping, why_, {});
  while (!texts_.empty()) finish_text(why_);
}

// --- time ---

std::optional<Time> InitiatorSessionImpl::deadline() const {
  if (connection_gone_) return {};
  return is_running() ? keep_alive_.due() : ending_deadline_;
}

void InitiatorSessionImpl::expired(Time now) {
  if (connection_gone_) return;
  const Inside inside(*this);
  if (is_running()) return keep_alive(now);
  if (!ending_deadline_ || now < *ending_deadline_) return;
  ending_deadline_.reset();
  if (terminated_) {
    datamover_.connection_terminate(errc::terminated);
  } else if (logged_out_) {
    terminate({});
  } else {
    end(errc::terminated);  // no answer to our Logout Request: T17
  }
}

void InitiatorSessionImpl::keep_alive(Time now) {
  const bool discovery = parameters_.session_type == SessionType::discovery;
  switch (keep_alive_.expired(now)) {
    case KeepAlive::Wish::nothing:
      return;
    case KeepAlive::Wish::give_up:
      if (!discovery || !texts_.empty()) return end(errc::nop_timeout);
      keep_alive_.answered();
      keep_alive_.heard(now);
      return;
    case KeepAlive::Wish::ping:
      // RFC 7143 section 4.3: no NOPs on a discovery session; it waits for its text only.
      if (!discovery) send_ping({}, {});
      host_.deadline_changed();
  }
}

}  // namespace openiser::iscsi
