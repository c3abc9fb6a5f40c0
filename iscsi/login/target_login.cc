// The target's side of login (RFC 7143 sections 6.3 and 11.13):
//
//   first request --> text complete? --> keys negotiated --> answer sent in pieces --+
//        ^                 | C=1: empty response                                     |
//        +-----------------+---------------- T not granted, or next stage -----------+
//                                                          T, NSG=3 granted: authorize
//
// and then grant() or refuse(). One request is answered by exactly one response. Where the
// authority demands CHAP the security stage does not end, and no other goes on, before it is
// through. A redirection takes the place of the first answer, or of authorize.
#include <utility>

#include "iscsi/login/login.h"
#include "iscsi/login/negotiator.h"
#include "iscsi/login/text_exchange.h"

namespace openiser::iscsi {

namespace {

constexpr auto kSecurity = static_cast<std::uint8_t>(Stage::security);
constexpr auto kOperational = static_cast<std::uint8_t>(Stage::operational);
constexpr auto kFullFeature = static_cast<std::uint8_t>(Stage::full_feature);

}  // namespace

class TargetLogin::Machine {
 public:
  Machine(const Preferences& preferences, LoginAuthority& authority, bool rdma_connection, Time now)
      : preferences_(preferences),
        authority_(authority),
        rdma_connection_(rdma_connection),
        deadline_(now + preferences.login_timeout),
        negotiator_(Negotiator::Role::target, preferences, rdma_connection) {}

  LoginStep receive(const ControlPdu& pdu);
  LoginStep grant(std::uint16_t tsih, std::uint32_t command_window);
  LoginStep refuse(ErrorCode error);
  LoginStep expired(Time now);

  std::optional<Time> deadline() const {
    return phase_ < Phase::granted ? std::optional(deadline_) : std::nullopt;
  }
  const Parameters& parameters() const { return negotiator_.parameters(); }
  std::uint16_t requested_tsih() const { return first_.tsih; }

 private:
  enum class Phase : std::uint8_t { waiting, negotiating, authorizing, granted, over };

  LoginStep take_request(const ControlPdu& pdu);
  LoginStep open(const LoginRequest& request);
  LoginStep take_text();
  Negotiator::Verdict identify();
  Negotiator::Verdict redirect();
  Negotiator::Verdict authenticate();
  Negotiator::Verdict exchange_chap();
  void declare_target();
  bool unauthenticated() const { return chap_demanded_ && !(chap_ && chap_->done()); }
  LoginStep send_piece();
  LoginStep conclude();
  const char* changed_field(const LoginRequest& request) const;
  LoginResponse response() const;
  LoginStep respond(const LoginResponse& response, Bytes text);
  LoginStep fail(ErrorCode error, std::string detail, Bytes text = {});

  Preferences preferences_;
  LoginAuthority& authority_;
  bool rdma_connection_;
  Time deadline_;
  Negotiator negotiator_;
  TextExchange text_;
  LoginRequest first_;    // fields that stay the same (RFC 7143 section 11.12)
  LoginRequest request_;  // the one to be answered
  std::uint8_t stage_ = kSecurity;
  Phase phase_ = Phase::waiting;
  bool identified_ = false;
  bool declared_ = false;
  LoginAuthority::Verdict admission_;
  bool chap_demanded_ = false;
  std::optional<ChapTarget> chap_;  // once AuthMethod=CHAP is agreed
  bool limits_declared_ = false;
  int exchanges_ = 0;
  std::uint32_t stat_sn_ = 1;
  std::string final_text_;  // between authorize and grant()
};

LoginStep TargetLogin::Machine::receive(const ControlPdu& pdu) {
  // RFC 7143 section 4.2.3: before login has started the connection just ends.
  if (pdu.bhs.opcode() != Opcode::login_request) {
    const bool started = phase_ == Phase::negotiating;
    request_.initiator_task_tag = pdu.bhs.initiator_task_tag();
    LoginStep step = fail(errc::login_invalid_request, "a PDU that is no Login Request");
    if (!started) step.send.reset();
    return step;
  }
  if (phase_ >= Phase::authorizing)
    return fail(errc::protocol_error, "a Login Request before the last one was answered");
  return take_request(pdu);
}

LoginStep TargetLogin::Machine::take_request(const ControlPdu& pdu) {
  request_.initiator_task_tag = pdu.bhs.initiator_task_tag();
  request_.cmd_sn = pdu.bhs.cmd_sn();
  const auto decoded = decode<LoginRequest>(pdu.bhs);
  if (!decoded) return fail(decoded.error(), "a Login Request with both T and C set");
  request_ = *decoded;
  if (phase_ == Phase::waiting) {
    LoginStep step = open(request_);
    if (step.outcome == LoginStep::Outcome::failed) return step;
  }
  if (const char* field = changed_field(request_))
    return fail(errc::bad_field, std::string(field) + " changed during the login");
  if (request_.current_stage != stage_)
    return fail(errc::bad_field, "CSG is " + std::to_string(request_.current_stage) + " in stage " +
                                     std::to_string(stage_));
  if (request_.transit && !may_transit(stage_, request_.next_stage))
    return fail(errc::bad_field, "NSG " + std::to_string(request_.next_stage) +
                                     " cannot follow stage " + std::to_string(stage_));
  if (++exchanges_ > kMaxLoginExchanges)
    return fail(errc::negotiation_failed, "the login takes too many requests");
  const bool fetching = text_.sending();
  if (const Status taken = text_.take(pdu, request_.continues); !taken)
    return fail(taken.error(), fetching ? "a request with text while the answer is not complete"
                                        : "the text of the login is too long");
  if (fetching) return send_piece();
  if (request_.continues) return respond(response(), {});
  return take_text();
}

// The first request of the connection (RFC 7143 section 6.3.1).
LoginStep TargetLogin::Machine::open(const LoginRequest& request) {
  first_ = request;
  phase_ = Phase::negotiating;
  if (request.version_min > 0)
    return fail(errc::login_unsupported_version,
                "the initiator speaks version " + std::to_string(request.version_min) + " and up");
  if (request.current_stage > kOperational)
    return fail(errc::bad_field,
                "CSG " + std::to_string(request.current_stage) + " is no stage a login starts in");
  stage_ = request.current_stage;
  auto& p = negotiator_.parameters();
  p.isid = request.isid;
  p.tsih = request.tsih;
  p.cid = request.cid;
  p.next_cmd_sn = request.cmd_sn;
  negotiator_.set_leading(request.tsih == 0);
  return {};
}

// RFC 7143 sections 11.12.4 to 11.12.8. CmdSN may move on only where other connections of the
// session move it.
const char* TargetLogin::Machine::changed_field(const LoginRequest& request) const {
  if (request.version_max != first_.version_max) return "Version-max";
  if (request.version_min != first_.version_min) return "Version-min";
  if (request.isid != first_.isid) return "ISID";
  if (request.tsih != first_.tsih) return "TSIH";
  if (request.cid != first_.cid) return "CID";
  if (request.initiator_task_tag != first_.initiator_task_tag) return "the Initiator Task Tag";
  if (first_.tsih == 0 && request.cmd_sn != first_.cmd_sn) return "CmdSN";
  return nullptr;
}

// A text is complete: negotiate, then answer.
LoginStep TargetLogin::Machine::take_text() {
  Negotiator::Verdict verdict = negotiator_.receive(text_.text(), static_cast<Stage>(stage_));
  text_.clear();
  if (!verdict && !identified_) verdict = identify();
  if (!verdict) verdict = authenticate();
  if (verdict) return fail(verdict->error, verdict->detail, negotiator_.out().bytes());
  if (!std::exchange(declared_, true)) declare_target();
  if (stage_ == kOperational) {
    if (!std::exchange(limits_declared_, true)) negotiator_.declare_limits();
    if (request_.transit) negotiator_.offer_missing();
  }
  text_.start(negotiator_.take_out());
  return send_piece();
}

// The first text names the parties (RFC 7143 sections 6.3 and 13.4 to 13.9).
Negotiator::Verdict TargetLogin::Machine::identify() {
  identified_ = true;
  const Parameters& p = negotiator_.parameters();
  const bool discovery = p.session_type == SessionType::discovery;
  if (p.initiator_name.empty())
    return Negotiator::Fault{errc::login_missing_parameter, "InitiatorName is missing"};
  if (!discovery && p.target_name.empty())
    return Negotiator::Fault{errc::login_missing_parameter,
                             "TargetName is missing in a normal session"};
  admission_ = authority_.identify(
      {p.session_type, p.initiator_name, p.target_name, first_.isid, first_.tsih, first_.cid});
  if (admission_.error) return Negotiator::Fault{admission_.error, {}};
  if (admission_.redirection && !admission_.redirection->after_authentication) return redirect();
  chap_demanded_ = admission_.chap != nullptr;
  if (chap_demanded_) negotiator_.demand_chap();
  return {};
}

// RFC 7143 sections 11.13.5 and 13.8: the address alone, without a portal group tag.
Negotiator::Verdict TargetLogin::Machine::redirect() {
  const auto& [address, permanent, after] = *admission_.redirection;
  negotiator_.take_out();
  negotiator_.declare(Key::target_address, address);
  return Negotiator::Fault{permanent ? errc::login_moved : errc::login_redirected, address};
}

void TargetLogin::Machine::declare_target() {
  const Parameters& p = negotiator_.parameters();
  if (p.session_type == SessionType::normal && !admission_.target_alias.empty())
    negotiator_.declare(Key::target_alias, admission_.target_alias);
  if (!p.target_name.empty())
    negotiator_.declare(Key::target_portal_group_tag,
                        std::to_string(admission_.target_portal_group_tag));
}

// RFC 7143 section 12.1: the method, then its exchange. There is no way past it: not by leaving the
// security stage out, nor by leaving it early.
Negotiator::Verdict TargetLogin::Machine::authenticate() {
  const bool chosen_before = negotiator_.authentication_chosen();
  if (auto verdict = negotiator_.answer_authentication()) return verdict;
  if (!unauthenticated() && !chap_) return {};
  if (chosen_before) return exchange_chap();
  if (negotiator_.authentication_chosen()) {
    chap_.emplace(admission_.chap);
    return {};
  }
  if (stage_ == kSecurity && !request_.transit) return {};
  return Negotiator::Fault{errc::login_authentication_failed,
                           "CHAP is demanded, and the initiator does not offer it"};
}

Negotiator::Verdict TargetLogin::Machine::exchange_chap() {
  const ChapKeys keys = negotiator_.take_exchange();
  if (chap_->done() && keys.empty()) return {};
  const ChapStep step = chap_->receive(keys);
  if (step.error) return Negotiator::Fault{step.error, step.detail};
  for (const auto& [key, value] : step.keys) negotiator_.out().add(key, value);
  if (chap_->done()) negotiator_.parameters().user = chap_->user();
  return {};
}

// The next piece of the answer; with the last one the stage may end.
LoginStep TargetLogin::Machine::send_piece() {
  const Bytes piece = text_.next();
  LoginResponse answer = response();
  if (text_.sending()) {
    answer.continues = true;
    return respond(answer, piece);
  }
  const bool operational = stage_ == kOperational;
  if (!request_.transit || unauthenticated() || !negotiator_.unanswered().empty() ||
      (operational && negotiator_.has_missing()))
    return respond(answer, piece);
  answer.transit = true;
  answer.next_stage = request_.next_stage;
  // RDMAExtensions belongs to the operational stage: a login that needs it goes there first.
  if (rdma_connection_ && !operational) answer.next_stage = kOperational;
  if (answer.next_stage == kFullFeature) {
    final_text_ = as_text(piece);
    return conclude();
  }
  stage_ = answer.next_stage;
  return respond(answer, piece);
}

LoginStep TargetLogin::Machine::conclude() {
  if (unauthenticated()) return fail(errc::login_authentication_failed, "CHAP was left out");
  if (const auto verdict = negotiator_.finish(rdma_connection_))
    return fail(verdict->error, verdict->detail);
  if (admission_.redirection) {
    const auto elsewhere = redirect();
    return fail(elsewhere->error, elsewhere->detail, negotiator_.out().bytes());
  }
  phase_ = Phase::authorizing;
  LoginStep step;
  step.outcome = LoginStep::Outcome::authorize;
  return step;
}

LoginStep TargetLogin::Machine::grant(std::uint16_t tsih, std::uint32_t command_window) {
  if (phase_ != Phase::authorizing)
    return fail(errc::login_target_error, "granted when there was nothing to grant");
  LoginResponse answer = response();
  answer.transit = true;
  answer.next_stage = kFullFeature;
  answer.tsih = tsih;
  answer.max_cmd_sn = answer.exp_cmd_sn + command_window - 1;
  auto& p = negotiator_.parameters();
  p.tsih = tsih;
  p.max_cmd_sn = answer.max_cmd_sn;
  // The PDU may yet be withdrawn by refuse(): stat_sn_ stays.
  phase_ = Phase::granted;
  p.next_stat_sn = stat_sn_ + 1;
  LoginStep step;
  step.outcome = LoginStep::Outcome::succeeded;
  step.send = login_pdu(encode(answer), as_bytes(final_text_));
  return step;
}

LoginStep TargetLogin::Machine::refuse(ErrorCode error) {
  return fail(error, {});
}

LoginStep TargetLogin::Machine::expired(Time now) {
  if (phase_ >= Phase::granted || now < deadline_) return {};
  // A response may only answer a request, and none is waiting: the connection just ends.
  LoginStep step = fail(errc::login_timeout, "the login was not finished in time");
  step.send.reset();
  return step;
}

// RFC 7143 section 11.13. Login Requests are immediate, so ExpCmdSN is the CmdSN they carry. The
// window for commands opens with the final response.
LoginResponse TargetLogin::Machine::response() const {
  LoginResponse answer;
  answer.current_stage = stage_;
  answer.isid = first_.isid;
  answer.tsih = first_.tsih;
  answer.initiator_task_tag = request_.initiator_task_tag;
  answer.stat_sn = stat_sn_;
  answer.exp_cmd_sn = request_.cmd_sn;
  answer.max_cmd_sn = request_.cmd_sn;
  return answer;
}

LoginStep TargetLogin::Machine::respond(const LoginResponse& response, Bytes text) {
  ++stat_sn_;
  LoginStep step;
  step.send = login_pdu(encode(response), text);
  return step;
}

// T, CSG and NSG are reserved in a Login reject (RFC 7143 section 6.3.1).
LoginStep TargetLogin::Machine::fail(ErrorCode error, std::string detail, Bytes text) {
  phase_ = Phase::over;
  LoginResponse answer = response();
  const LoginStatus status = login_status_of(error);
  answer.current_stage = 0;
  answer.status_class = status.status_class;
  answer.status_detail = status.status_detail;
  LoginStep step = respond(answer, text.size() <= kLoginSegment ? text : Bytes{});
  step.outcome = LoginStep::Outcome::failed;
  step.error = error;
  step.detail = std::move(detail);
  return step;
}

TargetLogin::TargetLogin(Preferences preferences, LoginAuthority& authority, bool rdma_connection,
                         Time now)
    : machine_(std::make_unique<Machine>(preferences, authority, rdma_connection, now)) {}
TargetLogin::~TargetLogin() = default;
TargetLogin::TargetLogin(TargetLogin&&) noexcept = default;

LoginStep TargetLogin::receive(const ControlPdu& pdu, Time now) {
  if (LoginStep late = machine_->expired(now); late.outcome == LoginStep::Outcome::failed)
    return late;
  return machine_->receive(pdu);
}
LoginStep TargetLogin::grant(std::uint16_t tsih, std::uint32_t command_window) {
  return machine_->grant(tsih, command_window);
}
LoginStep TargetLogin::refuse(ErrorCode error) {
  return machine_->refuse(error);
}
LoginStep TargetLogin::expired(Time now) {
  return machine_->expired(now);
}
std::optional<Time> TargetLogin::deadline() const {
  return machine_->deadline();
}
const Parameters& TargetLogin::parameters() const {
  return machine_->parameters();
}
std::uint16_t TargetLogin::requested_tsih() const {
  return machine_->requested_tsih();
}

}  // namespace openiser::iscsi
