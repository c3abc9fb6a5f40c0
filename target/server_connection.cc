#include "target/server_connection.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "iscsi/errors.h"
#include "rdmap/errors.h"
#include "target/wire_settings.h"

namespace openiser::target {

namespace {

// From the end of a session to that of what carried it, which a driver bounds too: longer than
// that.
constexpr Duration kCloseTimeout = std::chrono::seconds(10);

std::string words(ErrorCode error, const std::string& detail = {}) {
  if (!error) return "the initiator closed the connection";
  return detail.empty() ? error.message() : error.message() + ": " + detail;
}

}  // namespace

ServerConnection::ServerConnection(const ConnectionContext& context, Arrival arrival, Owner& owner)
    : context_(context),
      arrival_(std::move(arrival)),
      owner_(owner),
      accepted_at_(context.loop.now()),
      timer_(context.loop, [this] { timer_expired(); }) {}

ServerConnection::ServerConnection(const ConnectionContext& context, rdmap::Socket socket,
                                   Arrival arrival, Owner& owner)
    : ServerConnection(context, std::move(arrival), owner) {
  WireDetector::Client& client = *this;
  detector_.emplace(client,
                    accepted_at_ + std::chrono::seconds(context_.config.limits.login_timeout));
  tcp_.emplace(context.loop, std::move(socket), [this](ErrorCode why) { transport_closed(why); });
  tcp_->drive(*detector_);
}

ServerConnection::ServerConnection(const ConnectionContext& context, rdmap::VerbsRequest request,
                                   Arrival arrival, Owner& owner)
    : ServerConnection(context, std::move(arrival), owner) {
  wire_ = Wire::rdma_first;
  start_verbs(std::move(request));
}

ServerConnection::~ServerConnection() = default;

// --- which way it speaks ---

void ServerConnection::wire_detected(Wire wire) {
  wire_ = wire;
  defer(wire == Wire::stream ? &ServerConnection::start_stream
                             : &ServerConnection::start_rdma_first);
}

void ServerConnection::wire_unknown(ErrorCode why) {
  // Port scanners and health checks connect and say nothing of ours: no news.
  log::debug("connection", who() + ": no login: " + words(why));
  phase_ = Phase::closing;
}

void ServerConnection::start_stream() {
  if (phase_ != Phase::detecting || transport_gone_) return;
  iscsi::StreamLoginChannel::Client& client = *this;
  stream_ = std::make_unique<iscsi::StreamLoginChannel>(client, detector_->start());
  tcp_->drive(*stream_);
  start_login(*stream_);
}

void ServerConnection::start_rdma_first() {
  if (phase_ != Phase::detecting || transport_gone_) return;
  const Bytes start = detector_->start();
  make_queue_pair(iser::Dialect::rfc7145,
                  {.write_first = {}, .already_read = {start.begin(), start.end()}}, this);
  tcp_->drive(*iser_endpoint_);
  start_login(*iser_);
}

// A card sets up the connection by itself; from here on it is as rdma-first.
void ServerConnection::start_verbs(rdmap::VerbsRequest request) {
  const auto give_up = [this](const std::string& why) {
    log::warn("login", who() + ": " + why);
    phase_ = Phase::closing;
    finish();
  };
  rdmap::MpaAnswer answer = answer_rdma_request(request.private_data());
  if (answer.reject) {
    request.reject(answer.private_data);
    return give_up("rejected: negotiation.rdma_extensions is off");
  }
  rdmap::VerbsSettings settings = verbs_settings(context_.config);
  settings.private_data = std::move(answer.private_data);
  auto queue_pair = request.accept(context_.loop, context_.pool, std::move(settings));
  if (!queue_pair) return give_up("not accepted: " + queue_pair.error().message());
  iser_ = iser::IserConnection::create(std::move(*queue_pair),
                                       iser_settings(context_.config, iser::Dialect::rfc7145),
                                       context_.pool, this);
  verbs_.emplace(context_.loop, iser_->queue_pair(), *iser_,
                 [this](ErrorCode why) { transport_closed(why); });
  start_login(*iser_);
}

// Linux's iSER says in the private data what it can do, and expects to be told the same
// (iser/iser_datamover.h).
rdmap::MpaAnswer ServerConnection::answer_rdma_request(Bytes private_data) const {
  rdmap::MpaAnswer answer;
  answer.reject = !context_.config.negotiation.rdma_extensions;
  if (private_data.empty()) return answer;
  iser::CmHeader header = iser::decode_cm_header(private_data);
  header.zero_based_not_supported = true;
  answer.private_data = iser::encode(header);
  return answer;
}

// --- login ---

void ServerConnection::start_login(iscsi::LoginChannel& channel) {
  phase_ = Phase::login;
  channel_ = &channel;
  iscsi::LoginAuthority& authority = *this;
  login_.emplace(login_preferences(context_.config), authority, wire_ == Wire::rdma_first,
                 accepted_at_);
  detector_.reset();
  rearm();
}

void ServerConnection::login_pdu(iscsi::ControlPdu pdu) {
  if (phase_ != Phase::login && phase_ != Phase::waiting) return;
  apply(login_->receive(pdu, now()));
}

void ServerConnection::login_stream_failed(ErrorCode why) {
  login_failed(why, {});
}

void ServerConnection::queue_pair_established(const rdmap::Established&) {}

void ServerConnection::login_connection_failed(ErrorCode why) {
  login_failed(why, {});
}

iscsi::LoginAuthority::Verdict ServerConnection::identify(const Request& request) {
  if (request.tsih != 0) {
    // One connection a session: there is none to add, nor to take over (RFC 7143 section 6.3.4).
    Verdict verdict;
    verdict.error = context_.sessions.exists(request.tsih, std::string(request.initiator_name))
                        ? iscsi::errc::login_cannot_include
                        : iscsi::errc::login_session_missing;
    return verdict;
  }
  return authorise(*context_.catalogue.get(), request, arrival_);
}

void ServerConnection::apply(iscsi::LoginStep step) {
  if (step.send) channel_->send(std::move(*step.send));
  if (step.outcome == iscsi::LoginStep::Outcome::failed) login_failed(step.error, step.detail);
  if (step.outcome == iscsi::LoginStep::Outcome::authorize) ask_admission();
  rearm();
}

void ServerConnection::ask_admission() {
  const iscsi::Parameters& p = login_->parameters();
  const bool discovery = p.session_type == iscsi::SessionType::discovery;
  initiator_name_ = p.initiator_name;
  NexusName nexus{p.initiator_name, p.isid, discovery ? "" : normalised_name(p.target_name),
                  arrival_.portal_group_tag};
  auto ticket =
      context_.sessions.join(std::move(nexus), arrival_.peer_address, context_.loop, *this);
  if (!ticket) return apply(login_->refuse(ticket.error()));
  phase_ = Phase::waiting;
  ticket_ = std::move(*ticket);
}

void ServerConnection::login_failed(ErrorCode why, const std::string& detail) {
  if (phase_ == Phase::closing) return;
  const std::string& name = login_->parameters().initiator_name;
  log::warn("login", who() + (name.empty() ? "" : " (" + name + ")") +
                         ": login failed: " + words(why, detail));
  close_login();
}

// The last answer, if there is one, is still sent.
void ServerConnection::close_login() {
  phase_ = Phase::closing;
  if (stream_) stream_->close();
  if (iser_) iser_->connection_terminate();
}

// --- full feature phase ---

std::vector<iscsi::TargetRecord> ServerConnection::send_targets(const std::string& name) {
  return target_records(*context_.catalogue.get(), name, initiator_name_, arrival_);
}

void ServerConnection::session_ended(ErrorCode why) {
  log::info("session", who() + ": session ended: " + words(why));
  recorder_->log_events(who(), iscsi::is_fault(why) || rdmap::terminate_row(why) != nullptr);
  session_over_ = true;
  phase_ = Phase::closing;
  give_up_at_ = now() + kCloseTimeout;
  if (transport_gone_) finish();
  rearm();
}

// --- the end ---

void ServerConnection::drain(Duration grace) {
  if (phase_ == Phase::full_feature) {
    session_->request_logout(grace);
  } else {
    end(iscsi::errc::terminated);
  }
}

void ServerConnection::end(ErrorCode why) {
  switch (phase_) {
    case Phase::detecting:
      phase_ = Phase::closing;
      return finish();
    case Phase::login:
      return close_login();
    case Phase::waiting:
      return apply(login_->refuse(iscsi::errc::login_service_unavailable));
    case Phase::full_feature:
      session_->end(why);
      break;
    case Phase::closing:
      break;
  }
  // Whoever logs in anew has left this connection, and waits for its end. A card's ends within
  // seconds whatever the peer does.
  if (why == iscsi::errc::reinstated && tcp_) tcp_->drop();
}

void ServerConnection::transport_closed(ErrorCode) {
  transport_gone_ = true;
  if (!session_ || session_over_) finish();
}

void ServerConnection::finish() {
  if (std::exchange(finished_, true)) return;
  timer_.set({});
  owner_.connection_finished(*this);
}

void ServerConnection::rearm() {
  if (finished_) return;
  std::optional<Time> next = give_up_at_;
  const auto consider = [&next](std::optional<Time> deadline) {
    if (deadline && (!next || *deadline < *next)) next = deadline;
  };
  if (phase_ == Phase::login || phase_ == Phase::waiting) consider(login_->deadline());
  if (session_ && !session_over_) consider(session_->deadline());
  timer_.set(next);
}

void ServerConnection::timer_expired() {
  const Time time = now();
  if (give_up_at_ && *give_up_at_ <= time) return finish();
  if (phase_ == Phase::login || phase_ == Phase::waiting) apply(login_->expired(time));
  if (session_ && !session_over_) session_->expired(time);
  rearm();
}

void ServerConnection::defer(void (ServerConnection::*call)()) {
  context_.loop.defer([this, call, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) (this->*call)();
  });
}

std::string ServerConnection::who() const {
  return "connection from " + arrival_.peer_address + " to " + arrival_.local_address;
}

}  // namespace openiser::target
