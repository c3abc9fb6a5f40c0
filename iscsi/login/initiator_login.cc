// The initiator's side of login (RFC 7143 sections 6.3 and 11.12): names, AuthMethod and CHAP in
// the security stage, which a connection in RDMA mode without CHAP leaves out; all offers in the
// first request of the operational stage (RFC 7145 section 6.3 wants RDMAExtensions there), then
// answers, or empty requests, until the target agrees to the transit. Every response is answered by
// exactly one request.
#include <utility>

#include "base/hex.h"
#include "iscsi/login/login.h"
#include "iscsi/login/negotiator.h"
#include "iscsi/login/text_exchange.h"

namespace openiser::iscsi {

namespace {

constexpr auto kSecurity = static_cast<std::uint8_t>(Stage::security);
constexpr auto kOperational = static_cast<std::uint8_t>(Stage::operational);
constexpr auto kFullFeature = static_cast<std::uint8_t>(Stage::full_feature);
constexpr std::uint32_t kFirstCmdSn = 1;

std::string status_in_hex(const LoginResponse& response) {
  const std::array status{std::byte{response.status_class}, std::byte{response.status_detail}};
  return "0x" + to_hex(status);
}

}  // namespace

class InitiatorLogin::Machine {
 public:
  Machine(InitiatorIdentity identity, const Preferences& preferences, bool rdma_connection,
          Time now)
      : identity_(std::move(identity)),
        preferences_(preferences),
        rdma_connection_(rdma_connection),
        deadline_(now + preferences.login_timeout),
        negotiator_(Negotiator::Role::initiator, preferences, rdma_connection) {
    negotiator_.set_leading(identity_.tsih == 0);
    if (!identity_.chap) return;
    negotiator_.demand_chap();
    chap_.emplace(identity_.chap);
  }

  LoginStep start();
  LoginStep receive(const ControlPdu& pdu);
  LoginStep expired(Time now);

  std::optional<Time> deadline() const { return over_ ? std::nullopt : std::optional(deadline_); }
  const Parameters& parameters() const { return negotiator_.parameters(); }
  const std::string& redirect_address() const { return redirect_address_; }

 private:
  LoginStep take_status(const LoginResponse& response, Bytes text);
  LoginStep take_response(const LoginResponse& response, const ControlPdu& pdu);
  LoginStep take_text(const LoginResponse& response);
  Negotiator::Verdict exchange_chap();
  LoginStep transit(const LoginResponse& response);
  LoginStep succeed(const LoginResponse& response);
  const char* wrong_field(const LoginResponse& response) const;
  // Whether the stage may end with what is sent now: security not before our part of CHAP.
  bool stage_over() const { return !chap_ || stage_ != kSecurity || chap_->responded(); }
  LoginStep send_text();
  LoginStep send_piece();
  LoginStep request(bool transit, bool continues, Bytes text);
  LoginStep fail(ErrorCode error, std::string detail);

  InitiatorIdentity identity_;
  Preferences preferences_;
  bool rdma_connection_;
  Time deadline_;
  Negotiator negotiator_;
  TextExchange text_;
  std::optional<ChapInitiator> chap_;
  bool chap_begun_ = false;
  std::uint8_t stage_ = kSecurity;
  bool transit_asked_ = false;  // by the last request
  bool over_ = false;
  int exchanges_ = 0;
  std::uint32_t exp_stat_sn_ = 0;
  std::string redirect_address_;
};

LoginStep InitiatorLogin::Machine::start() {
  std::vector<const std::string*> names{&identity_.initiator_name, &identity_.initiator_alias,
                                        &identity_.target_name};
  if (identity_.chap)
    for (const ChapAccount& account : identity_.chap->initiators) names.push_back(&account.name);
  for (const std::string* name : names)
    if (name->find('\0') != std::string::npos || name->size() > kMaxTextValue)
      return fail(errc::bad_text, "a name or alias of ours is too long or has a NUL in it");
  auto& p = negotiator_.parameters();
  p.isid = identity_.isid;
  p.tsih = identity_.tsih;
  p.cid = identity_.cid;
  p.next_cmd_sn = kFirstCmdSn;
  const bool discovery = identity_.target_name.empty();
  negotiator_.declare(Key::initiator_name, identity_.initiator_name);
  if (!identity_.initiator_alias.empty())
    negotiator_.declare(Key::initiator_alias, identity_.initiator_alias);
  negotiator_.declare(Key::session_type, discovery ? "Discovery" : "Normal");
  if (!discovery) negotiator_.declare(Key::target_name, identity_.target_name);
  // Linux's iSER target may still be busy with its first response when the second request comes,
  // and then spoils its answer to that. So without authentication one request has to do (RFC 7143
  // section 6.3).
  if (rdma_connection_ && !chap_) {
    stage_ = kOperational;
    negotiator_.offer_all();
  } else {
    negotiator_.offer_authentication();
  }
  return send_text();
}

LoginStep InitiatorLogin::Machine::receive(const ControlPdu& pdu) {
  if (over_) return fail(errc::unexpected_pdu, "a PDU after the end of the login");
  if (pdu.bhs.opcode() != Opcode::login_response)
    return fail(errc::unexpected_pdu, "a PDU that is no Login Response");
  const auto decoded = decode<LoginResponse>(pdu.bhs);
  if (!decoded) return fail(decoded.error(), "a Login Response with wrong fields");
  if (decoded->initiator_task_tag != 0)
    return fail(errc::bad_field, "a Login Response with another Initiator Task Tag");
  if (decoded->status_class != 0) return take_status(*decoded, pdu.data.bytes());
  return take_response(*decoded, pdu);
}

// RFC 7143 section 11.13.5. What text there is tells more: TargetAddress, or the key at fault.
LoginStep InitiatorLogin::Machine::take_status(const LoginResponse& response, Bytes text) {
  std::string detail = "the target answered with status " + status_in_hex(response);
  if (const auto pairs = parse_text(text)) {
    for (const auto& [key, value] : *pairs) {
      const bool address = key == spec_of(Key::target_address).name;
      if (address && redirect_address_.empty()) redirect_address_ = value;
      if (address || value == kReject) detail.append(", ").append(key).append("=").append(value);
    }
  }
  const ErrorCode error = error_of_login_status({response.status_class, response.status_detail});
  if (is_redirect(error) && redirect_address_.empty())
    return fail(errc::protocol_error, detail + " but no TargetAddress");
  return fail(error, std::move(detail));
}

const char* InitiatorLogin::Machine::wrong_field(const LoginResponse& response) const {
  if (response.version_active != 0) return "another version";
  if (response.current_stage != stage_) return "another stage than the request's";
  if (response.transit && response.continues) return "both T and C set";
  if (response.transit && !transit_asked_) return "T set where it was not asked for";
  const std::uint8_t asked = stage_ == kSecurity ? kOperational : kFullFeature;
  if (response.transit && response.next_stage != asked) return "a stage that was not asked for";
  return nullptr;
}

LoginStep InitiatorLogin::Machine::take_response(const LoginResponse& response,
                                                 const ControlPdu& pdu) {
  if (const char* wrong = wrong_field(response))
    return fail(errc::bad_field, std::string("a Login Response with ") + wrong);
  if (++exchanges_ > kMaxLoginExchanges)
    return fail(errc::negotiation_failed, "the target does not come to an end");
  exp_stat_sn_ = response.stat_sn + 1;
  const bool sending = text_.sending();
  if (const Status taken = text_.take(pdu, response.continues); !taken)
    return fail(taken.error(), sending ? "an answer before our text was complete"
                                       : "the text of the login is too long");
  if (sending) return send_piece();
  if (response.continues) return request(stage_over(), false, {});
  return take_text(response);
}

LoginStep InitiatorLogin::Machine::take_text(const LoginResponse& response) {
  auto verdict = negotiator_.receive(text_.text(), static_cast<Stage>(stage_));
  text_.clear();
  if (!verdict && chap_ && stage_ == kSecurity) verdict = exchange_chap();
  if (verdict) return fail(verdict->error, verdict->detail);
  return response.transit ? transit(response) : send_text();
}

Negotiator::Verdict InitiatorLogin::Machine::exchange_chap() {
  const ChapKeys keys = negotiator_.take_exchange();
  if (!negotiator_.authentication_chosen()) return {};
  if (chap_->done() && keys.empty()) return {};
  const bool first = !std::exchange(chap_begun_, true);
  if (first && !keys.empty())
    return Negotiator::Fault{errc::protocol_error, "the first step of CHAP is the initiator's"};
  const ChapStep step = first ? chap_->start() : chap_->receive(keys);
  if (step.error) return Negotiator::Fault{step.error, step.detail};
  for (const auto& [key, value] : step.keys) negotiator_.out().add(key, value);
  return {};
}

// The target ends the stage: all must be answered, on both sides (RFC 7143 section 11.13.6).
LoginStep InitiatorLogin::Machine::transit(const LoginResponse& response) {
  if (const auto key = negotiator_.unanswered(); !key.empty())
    return fail(errc::negotiation_failed, "the target did not answer " + std::string(key));
  if (chap_ && !chap_->done())
    return fail(errc::login_authentication_failed, "the target left CHAP out");
  if (negotiator_.owes_answers())
    return fail(errc::protocol_error, "the target made an offer in a response with T set");
  // NotUnderstood to declarations that came with T: nobody waits for it.
  negotiator_.take_out();
  stage_ = response.next_stage;
  if (stage_ == kFullFeature) return succeed(response);
  negotiator_.offer_all();
  return send_text();
}

LoginStep InitiatorLogin::Machine::succeed(const LoginResponse& response) {
  // RFC 7143 sections 11.12.6 and 11.13.3
  if (response.tsih == 0 || (identity_.tsih != 0 && response.tsih != identity_.tsih))
    return fail(errc::bad_field, "a final Login Response with a wrong TSIH");
  if (const auto verdict = negotiator_.finish(rdma_connection_ || preferences_.rdma_required))
    return fail(verdict->error, verdict->detail);
  auto& p = negotiator_.parameters();
  p.tsih = response.tsih;
  if (chap_) p.user = identity_.chap->initiators.front().name;
  p.next_stat_sn = response.stat_sn + 1;
  p.max_cmd_sn = response.max_cmd_sn;
  over_ = true;
  LoginStep step;
  step.outcome = LoginStep::Outcome::succeeded;
  return step;
}

LoginStep InitiatorLogin::Machine::send_text() {
  text_.start(negotiator_.take_out());
  return send_piece();
}

LoginStep InitiatorLogin::Machine::send_piece() {
  const Bytes piece = text_.next();
  const bool more = text_.sending();
  return request(!more && stage_over(), more, piece);
}

LoginStep InitiatorLogin::Machine::request(bool transit, bool continues, Bytes text) {
  LoginRequest pdu;
  pdu.transit = transit_asked_ = transit;
  pdu.continues = continues;
  pdu.current_stage = stage_;
  if (transit) pdu.next_stage = stage_ == kSecurity ? kOperational : kFullFeature;
  pdu.isid = identity_.isid;
  pdu.tsih = identity_.tsih;
  pdu.cid = identity_.cid;
  pdu.cmd_sn = kFirstCmdSn;
  pdu.exp_stat_sn = exp_stat_sn_;
  LoginStep step;
  step.send = login_pdu(encode(pdu), text);
  return step;
}

LoginStep InitiatorLogin::Machine::expired(Time now) {
  if (over_ || now < deadline_) return {};
  return fail(errc::login_timeout, "the target did not finish the login in time");
}

// An initiator says nothing about a failure: it closes (RFC 7143 section 6.3).
LoginStep InitiatorLogin::Machine::fail(ErrorCode error, std::string detail) {
  over_ = true;
  LoginStep step;
  step.outcome = LoginStep::Outcome::failed;
  step.error = error;
  step.detail = std::move(detail);
  return step;
}

InitiatorLogin::InitiatorLogin(InitiatorIdentity identity, Preferences preferences,
                               bool rdma_connection, Time now)
    : machine_(std::make_unique<Machine>(std::move(identity), preferences, rdma_connection, now)) {}
InitiatorLogin::~InitiatorLogin() = default;
InitiatorLogin::InitiatorLogin(InitiatorLogin&&) noexcept = default;

LoginStep InitiatorLogin::start(Time now) {
  if (LoginStep late = machine_->expired(now); late.outcome == LoginStep::Outcome::failed)
    return late;
  return machine_->start();
}
LoginStep InitiatorLogin::receive(const ControlPdu& pdu, Time now) {
  if (LoginStep late = machine_->expired(now); late.outcome == LoginStep::Outcome::failed)
    return late;
  return machine_->receive(pdu);
}
LoginStep InitiatorLogin::expired(Time now) {
  return machine_->expired(now);
}
std::optional<Time> InitiatorLogin::deadline() const {
  return machine_->deadline();
}
const Parameters& InitiatorLogin::parameters() const {
  return machine_->parameters();
}
const std::string& InitiatorLogin::redirect_address() const {
  return machine_->redirect_address();
}

}  // namespace openiser::iscsi
