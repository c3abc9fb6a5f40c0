#include "iscsi/session/target_session.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "iscsi/session/send_targets.h"
#include "iscsi/session/target_session_impl.h"

namespace openiser::iscsi {
namespace {

// RFC 7143 section 11.9.1
constexpr std::uint8_t kEventScsi = 0;
constexpr std::uint8_t kEventLogoutRequest = 1;
constexpr std::uint8_t kEventConnectionDrop = 2;

std::uint16_t whole_seconds(Duration d) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(d).count();
  return static_cast<std::uint16_t>(std::clamp<decltype(seconds)>(seconds, 0, UINT16_MAX));
}

std::optional<Time> earlier(std::optional<Time> a, std::optional<Time> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

std::unique_ptr<TargetSession> TargetSession::create(const Parameters& parameters,
                                                     Datamover& datamover, TaskHandler* handler,
                                                     SessionHost& host, TargetSessionLimits limits,
                                                     BufferPool* pool) {
  auto session =
      std::make_unique<TargetSessionImpl>(parameters, datamover, handler, host, limits, pool);
  datamover.set_client(session.get());
  return session;
}

TargetSessionImpl::TargetSessionImpl(const Parameters& parameters, Datamover& datamover,
                                     TaskHandler* handler, SessionHost& host,
                                     TargetSessionLimits limits, BufferPool* pool)
    : parameters_(parameters),
      datamover_(datamover),
      handler_(handler),
      host_(host),
      limits_(limits),
      window_(parameters.next_cmd_sn, std::max(limits.command_window, 1u), parameters.max_cmd_sn),
      sender_(datamover, window_, parameters.next_stat_sn),
      pool_(pool ? BufferPool(*pool, limits.buffer_bytes) : BufferPool(limits.buffer_bytes)),
      management_(*this),
      text_([this](Bytes request) {
        auto answer = answer_text(request, parameters_, [this](const std::string& name) {
          return host_.send_targets(name);
        });
        if (!answer) return Result<std::string>(answer.error());
        if (answer->max_recv_data_segment_length)
          declared_data_segment_ = answer->max_recv_data_segment_length;
        return Result<std::string>(std::move(answer->text));
      }),
      keep_alive_(limits.nop_interval, limits.nop_timeout, host.now()),
      busy_(host.now()),
      tasks_(std::size_t{limits.command_window} + limits.immediate_commands),
      fetching_(limits.transfer_window),
      sending_(limits.transfer_window) {
  ISER_ASSERT(handler || parameters.session_type == SessionType::discovery);
  aborted_tags_.fill(kReservedTag);
}

// --- turns ---

void TargetSessionImpl::leave() {
  if (depth_ == 1) settle();
  if (--depth_ == 0 && !in_turn_) sender_.flush();
}

void TargetSessionImpl::settle() {
  for (bool again = true; again;) {
    deliver_held();
    management_.progress();
    again = deliver_ready();
    again |= recycle_ended();
    again |= serve_memory();
  }
  finish_logout();
  finish_session();
}

void TargetSessionImpl::begin_turn() {
  if (std::exchange(in_turn_, true)) return;
  keep_alive_.heard(host_.now());
}

void TargetSessionImpl::turn_ended() {
  const Inside inside(*this);
  in_turn_ = false;
}

void TargetSessionImpl::data_completion_notify(DataCompletion completion) {
  const Inside inside(*this);
  begin_turn();
  // A put only gives its lease back, which may be what somebody waits for.
  if (completion.kind == DataCompletion::Kind::put) {
    sending_.end(completion.buffer.size());
    return completion.buffer.reset();
  }
  // A task outlives its gets, so a tag is not reused before they are done.
  ScsiTask* task = find_task(completion.initiator_task_tag);
  if (task) {
    task->data_arrived(completion.sequence_number, completion.status, std::move(completion.buffer));
  }
}

// --- the end ---

bool TargetSessionImpl::is_running() const {
  return state_ == ConnectionState::logged_in || state_ == ConnectionState::logout_requested;
}

void TargetSessionImpl::end(ErrorCode why) {
  if (logout_answered_ || state_ == ConnectionState::cleanup_wait || reported_) return;
  const Inside inside(*this);
  const bool by_our_wish = why == errc::terminated;
  if (by_our_wish && parameters_.session_type == SessionType::normal) {
    AsyncMessage drop;
    drop.event = kEventConnectionDrop;
    drop.parameter1 = parameters_.cid;
    drop.parameter2 = parameters_.default_time2wait;
    sender_.respond(drop);
  }
  lose(why);
  terminate(by_our_wish ? ErrorCode() : why);
}

// T15, T16, T17: tasks are brought to an end, without responses.
void TargetSessionImpl::lose(ErrorCode why) {
  if (state_ == ConnectionState::cleanup_wait || reported_) return;
  why_ = why;
  state_ = next_state(state_, ConnectionEvent::lost);
  management_.clear();
  text_.reset();
  window_.clear();
  abort_tasks();
}

void TargetSessionImpl::terminate(ErrorCode why) {
  if (std::exchange(terminated_, true)) return;
  sender_.flush();
  sender_.close();
  if (connection_gone_) return;
  datamover_.connection_terminate(why);
  if (!why && limits_.nop_timeout != Duration::zero()) {
    closing_deadline_ = host_.now() + limits_.nop_timeout;
    host_.deadline_changed();
  }
}

void TargetSessionImpl::connection_terminate_notify(ErrorCode why) {
  const Inside inside(*this);
  connection_gone_ = true;
  sender_.close();
  if (logout_answered_) {
    state_ = next_state(state_, ConnectionEvent::logout_done);
  } else {
    lose(why ? why : make_error_code(errc::connection_closed));
  }
}

// Section 11.14: the response says that all tasks are over; then the target closes (RFC 7145
// section 5.2).
void TargetSessionImpl::finish_logout() {
  if (state_ != ConnectionState::in_logout || logout_answered_ || tasks_alive() != 0) return;
  logout_answered_ = true;
  why_ = errc::logged_out;
  if (handler_) handler_->nexus_lost();
  LogoutResponse response;
  response.initiator_task_tag = logout_->initiator_task_tag;
  response.time2wait = parameters_.default_time2wait;
  free_place(logout_->immediate);
  sender_.respond(response);
  terminate({});
}

void TargetSessionImpl::finish_session() {
  if (!connection_gone_ || reported_ || tasks_alive() != 0) return;
  reported_ = true;
  state_ = next_state(state_, ConnectionEvent::cleaned_up);
  host_.session_ended(why_);
}

void TargetSessionImpl::request_logout(Duration grace) {
  if (!is_running()) return;
  const Inside inside(*this);
  // Section 7.4.3: a discovery session is not asked, it is dropped.
  if (parameters_.session_type == SessionType::discovery) return end(errc::terminated);
  state_ = next_state(state_, ConnectionEvent::logout_wanted);
  AsyncMessage request;
  request.event = kEventLogoutRequest;
  request.parameter3 = whole_seconds(grace);
  sender_.respond(request);
  logout_deadline_ = host_.now() + grace;
  host_.deadline_changed();
}

// Tasks may wait for what only the initiator brings, such as answers to RDMA Reads.
void TargetSessionImpl::limit_logout() {
  if (limits_.nop_timeout == Duration::zero()) return;
  logout_deadline_ = earlier(logout_deadline_, host_.now() + limits_.nop_timeout);
  host_.deadline_changed();
}

void TargetSessionImpl::report_event(const Lun& lun, Bytes sense) {
  if (!is_running() || parameters_.session_type == SessionType::discovery) return;
  const Inside inside(*this);
  AsyncMessage event;
  event.event = kEventScsi;
  event.lun = lun;
  sender_.respond(event, sense_segment(sense));
}

// --- time ---

std::optional<Time> TargetSessionImpl::deadline() const {
  if (connection_gone_) return {};
  if (terminated_) return closing_deadline_;
  if (!is_running()) return logout_deadline_;
  return earlier(earlier(logout_deadline_, keep_alive_.due()), idle_deadline());
}

void TargetSessionImpl::expired(Time now) {
  if (connection_gone_) return;
  const Inside inside(*this);
  if (terminated_) {
    if (!closing_deadline_ || now < *closing_deadline_) return;
    closing_deadline_.reset();
    datamover_.connection_terminate(errc::terminated);
  } else if (logout_deadline_ && now >= *logout_deadline_) {
    end(errc::terminated);
  } else if (is_running()) {
    keep_alive(now);
    if (const auto idle = idle_deadline(); idle && now >= *idle) end_idleness(now);
  }
}

// Moves later with every command, as KeepAlive::due() does.
std::optional<Time> TargetSessionImpl::idle_deadline() const {
  if (limits_.idle_timeout == Duration::zero() || state_ != ConnectionState::logged_in) return {};
  return busy_ + limits_.idle_timeout;
}

void TargetSessionImpl::end_idleness(Time now) {
  if (tasks_alive() == 0) return request_logout(limits_.nop_timeout);
  busy_ = now;
  host_.deadline_changed();
}

void TargetSessionImpl::keep_alive(Time now) {
  switch (keep_alive_.expired(now)) {
    case KeepAlive::Wish::nothing:
      return;
    case KeepAlive::Wish::give_up:
      return end(errc::nop_timeout);
    case KeepAlive::Wish::ping:
      break;
  }
  host_.deadline_changed();
  // Section 7.4.3: none on a discovery session; silence alone ends it.
  if (parameters_.session_type == SessionType::discovery) return;
  NopIn ping;
  ping.target_transfer_tag = ping_tag_ = sender_.fresh_transfer_tag();
  sender_.ping(ping);
}

TargetSession::Counters TargetSessionImpl::counters() const {
  Counters counters = counters_;
  counters.rejects = sender_.rejects();
  counters.tasks = static_cast<std::uint32_t>(tasks_alive());
  return counters;
}

}  // namespace openiser::iscsi
