#include "iscsi/login/negotiator.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace openiser::iscsi {

namespace {

Negotiator::Fault fault(errc error, std::string detail) {
  return {error, std::move(detail)};
}

std::string quoted(std::string_view key, std::string_view value) {
  constexpr std::size_t kShown = 64;
  std::string text(key);
  text += '=';
  text += value.substr(0, kShown);
  if (value.size() > kShown) text += "...";
  return text;
}

bool is_constant(std::string_view value) {
  return value == kNotUnderstood || value == kIrrelevant || value == kReject;
}

bool may_stand_in(Stages allowed, Stage stage) {
  if (allowed == Stages::any) return true;
  return allowed == (stage == Stage::security ? Stages::security : Stages::operational);
}

// Whether `result` is one the result function can give for `offered` (RFC 7143 section 13).
bool admissible(Rule rule, std::uint32_t offered, std::uint32_t result) {
  switch (rule) {
    case Rule::minimum:
    case Rule::all_yes:
      return result <= offered;
    case Rule::maximum:
    case Rule::any_yes:
      return result >= offered;
    default:
      return true;
  }
}

bool list_contains(std::string_view list, std::string_view value) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == value) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

Negotiator::Negotiator(Role role, const Preferences& preferences, bool rdma_connection)
    : role_(role), preferences_(preferences), rdma_connection_(rdma_connection) {
  if (rdma_connection && role == Role::initiator) preferences_.rdma_extensions = true;
}

Negotiator::Verdict Negotiator::receive(Bytes text, Stage stage) {
  const auto parsed = parse_text(text, kMinTextLimit);
  if (!parsed) return Fault{parsed.error(), "the text is not a list of key=value pairs"};
  const auto& pairs = *parsed;
  pairs_ += pairs.size();
  if (pairs_ > kMaxTextPairs) return fault(errc::text_too_long, "too many keys in one login");

  // Evaluated in the order of the table, answered in the order of the text.
  std::vector<std::size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const KeySpec* spec = understood(pairs[i].key);
    return spec ? static_cast<std::size_t>(spec->key) : kKeyCount;
  });
  std::vector<std::string> answers(pairs.size());
  for (const std::size_t i : order) {
    Verdict verdict = take(pairs[i], stage, answers[i]);
    if (!verdict) continue;
    out_ = {};
    if (answers[i] == kReject) out_.add(pairs[i].key, kReject);
    return verdict;
  }
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (!answers[i].empty()) out_.add(pairs[i].key, answers[i]);
  first_text_ = false;
  if (stage == Stage::operational) first_operational_text_ = false;
  return {};
}

std::string Negotiator::take_out() {
  owes_answers_ = false;
  return std::exchange(out_, {}).take();
}

// The three keys that RFC 7145 added are strangers to a node of RFC 5046.
const KeySpec* Negotiator::understood(std::string_view name) const {
  const KeySpec* spec = find_key(name);
  return spec && spec->origin == Origin::rfc7145 && !preferences_.rfc7145 ? nullptr : spec;
}

Negotiator::Verdict Negotiator::take(const TextPair& pair, Stage stage, std::string& answer) {
  const KeySpec* spec = understood(pair.key);
  if (!spec) return take_unknown(pair, answer);
  // A step of CHAP is nothing that those constants answer, and a user may be called Reject.
  if (is_constant(pair.value) && spec->rule != Rule::exchange)
    return take_constant(*spec, pair.value);
  if (auto verdict = misplaced(*spec, stage)) return verdict;
  auto& s = state(spec->key);
  // A redirecting target may give several addresses (RFC 7143 section 6.3).
  if (s.received && spec->key != Key::target_address)
    return fault(errc::duplicate_key, quoted(pair.key, pair.value) + ": the key came before");
  s.received = true;
  if (spec->rule == Rule::declared) return take_declaration(*spec, pair.value);
  if (spec->rule == Rule::exchange) return take_exchange_key(*spec, pair.value);
  return s.open ? take_answer(*spec, pair.value) : take_offer(*spec, pair.value, answer);
}

Negotiator::Verdict Negotiator::take_unknown(const TextPair& pair, std::string& answer) {
  if (is_constant(pair.value))
    return fault(errc::protocol_error,
                 quoted(pair.key, pair.value) + ": an answer to a key that was not sent");
  if (!unknown_.emplace(pair.key).second)
    return fault(errc::duplicate_key, quoted(pair.key, pair.value) + ": the key came before");
  answer = kNotUnderstood;
  return {};
}

// Sender, stage and use of the key against where it stands.
Negotiator::Verdict Negotiator::misplaced(const KeySpec& spec, Stage stage) const {
  const auto peer = role_ == Role::target ? Sender::initiator : Sender::target;
  const std::string name(spec.name);
  if (spec.sender != Sender::both && spec.sender != peer)
    return fault(errc::protocol_error, name + ": not a key of this side");
  if (!may_stand_in(spec.stages, stage))
    return fault(errc::protocol_error, name + ": not a key of this stage");
  if (spec.use == Use::lo && !leading_)
    return fault(errc::protocol_error, name + ": only for the leading connection of a session");
  if (spec.key == Key::session_type && !first_text_)
    return fault(errc::protocol_error, name + ": only in the first request");
  // RFC 7145 section 6.3. An answer comes when it is due and is none of this.
  if (spec.key == Key::rdma_extensions && !first_operational_text_ && !state(spec.key).open)
    return fault(errc::protocol_error, name + ": offered after the first request of its stage");
  return {};
}

// RFC 7143 section 6.2: these constants only ever answer a key.
Negotiator::Verdict Negotiator::take_constant(const KeySpec& spec, std::string_view value) {
  auto& s = state(spec.key);
  const bool awaited = spec.rule == Rule::declared ? s.sent && !s.concluded : s.open;
  const std::string said = quoted(spec.name, value);
  if (!awaited) return fault(errc::protocol_error, said + ": an answer to a key that was not sent");
  if (spec.rule != Rule::declared) s.received = true;
  if (value == kNotUnderstood && spec.origin == Origin::rfc7143)
    return fault(errc::protocol_error, said + ": every node has to understand this key");
  // Section 7.12. Without a key of a later document login goes on as if it had not been offered.
  if (value == kReject && spec.origin == Origin::rfc7143)
    return fault(errc::negotiation_failed, said + ": the peer takes none of our values");
  s.open = false;
  s.concluded = true;
  s.value = default_of(spec);
  store(spec.own, parameters_, s.value);
  if (spec.key == Key::iser_hello_required)
    parameters_.iser_hello_required = Parameters::HelloRequired::not_negotiated;
  return {};
}

Negotiator::Verdict Negotiator::take_declaration(const KeySpec& spec, std::string_view value) {
  const auto bad = [&](const char* why) {
    return fault(errc::negotiation_failed, quoted(spec.name, value) + why);
  };
  switch (spec.type) {
    case Type::iscsi_name:
    case Type::local_name:
    case Type::text:
      if (!is_text_of(spec.type, value)) return bad(": not a value of this key");
      store(spec.result, parameters_, value);
      return {};
    default: {
      const auto number = parse_value(spec, value);
      if (!number) return bad(": not a value of this key");
      state(spec.key).value = *number;
      store(spec.result, parameters_, *number);
      return {};
    }
  }
}

Negotiator::Verdict Negotiator::take_exchange_key(const KeySpec& spec, std::string_view value) {
  if (!preferences_.chap || !authentication_chosen())
    return fault(errc::protocol_error, std::string(spec.name) + ": AuthMethod=CHAP is not agreed");
  if (!is_text_of(spec.type, value))
    return fault(errc::negotiation_failed, std::string(spec.name) + ": too long");
  exchange_.emplace_back(spec.name, value);
  return {};
}

Negotiator::Verdict Negotiator::take_answer(const KeySpec& spec, std::string_view value) {
  const std::uint32_t offered = state(spec.key).value;
  const auto number = parse_value(spec, value);
  const bool proposed = spec.rule == Rule::list ? list_contains(list_of(spec, preferences_), value)
                                                : number && admissible(spec.rule, offered, *number);
  if (!number || !proposed)
    return fault(errc::protocol_error, quoted(spec.name, value) + ": not an answer to our " +
                                           (spec.rule == Rule::list ? list_of(spec, preferences_)
                                                                    : format_value(spec, offered)));
  conclude(spec, *number);
  return {};
}

Negotiator::Verdict Negotiator::take_offer(const KeySpec& spec, std::string_view value,
                                           std::string& answer) {
  owes_answers_ = true;
  if (spec.rule == Rule::refused) {
    answer = spec.fallback;
    return {};
  }
  if (irrelevant(spec)) {
    answer = kIrrelevant;
    return {};
  }
  if (spec.key == Key::auth_method) {
    methods_ = value;
    return {};
  }
  if (spec.rule == Rule::list) return choose_from_list(spec, value, answer);
  const auto theirs = parse_value(spec, value);
  if (!theirs) return reject(spec, value, answer);
  conclude(spec, combine(spec, *theirs));
  answer = format_value(spec, state(spec.key).value);
  return {};
}

Negotiator::Verdict Negotiator::answer_authentication() {
  if (!methods_) return {};
  const KeySpec& spec = spec_of(Key::auth_method);
  std::string answer;
  Verdict verdict = choose_from_list(spec, *std::exchange(methods_, {}), answer);
  if (verdict) out_ = {};
  out_.add(spec.name, answer);
  return verdict;
}

// RFC 7143 section 6.2.1: the first we support. Under RDMAExtensions=Yes only None is left, and
// where that was not proposed the key is irrelevant (RFC 7145 section 6.1).
Negotiator::Verdict Negotiator::choose_from_list(const KeySpec& spec, std::string_view list,
                                                 std::string& answer) {
  const bool forced = has(spec.irrelevant, Irrelevant::with_rdma) && rdma();
  std::string_view rest = list;
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    const auto item = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    if (forced ? item != spec.fallback : !accepts(spec, preferences_, item)) continue;
    conclude(spec, *parse_value(spec, item));
    answer = item;
    return {};
  }
  if (!forced) return reject(spec, list, answer);
  answer = kIrrelevant;
  return {};
}

// RFC 7143 sections 6.2 and 7.12: Reject is the answer, and the end of the login.
Negotiator::Verdict Negotiator::reject(const KeySpec& spec, std::string_view value,
                                       std::string& answer) {
  answer = kReject;
  const errc error =
      spec.key == Key::auth_method ? errc::login_authentication_failed : errc::negotiation_failed;
  std::string why = quoted(spec.name, value) + ": ";
  if (spec.rule == Rule::list)
    why += "this side supports " + list_of(spec, preferences_);
  else if (spec.type == Type::number)
    why += "takes " + std::to_string(spec.range.min) + " to " + std::to_string(spec.range.max);
  else
    why += "takes Yes or No";
  return fault(error, std::move(why));
}

bool Negotiator::irrelevant(const KeySpec& spec) const {
  const auto when = spec.irrelevant;
  // RFC 7145 knows no discovery over RDMA, but where the connection is in RDMA mode already (as
  // Linux makes it for discovery with an iser interface) there is no other mode to go on in.
  if (has(when, Irrelevant::discovery) && !(rdma_connection_ && spec.key == Key::rdma_extensions) &&
      parameters_.session_type == SessionType::discovery)
    return true;
  if (has(when, Irrelevant::without_rdma) && !rdma()) return true;
  return has(when, Irrelevant::no_unsolicited) && parameters_.initial_r2t &&
         !parameters_.immediate_data;
}

std::uint32_t Negotiator::wish(const KeySpec& spec) const {
  const std::uint32_t own = wish_of(spec, preferences_);
  // RFC 7143 section 13.14: FirstBurstLength MUST NOT exceed MaxBurstLength.
  if (spec.key != Key::first_burst_length) return own;
  const auto& burst = state(Key::max_burst_length);
  return std::min(own, burst.open ? burst.value : parameters_.max_burst_length);
}

std::uint32_t Negotiator::combine(const KeySpec& spec, std::uint32_t theirs) const {
  const std::uint32_t own = wish(spec);
  const bool smaller = spec.rule == Rule::minimum || spec.rule == Rule::all_yes;
  return smaller ? std::min(own, theirs) : std::max(own, theirs);
}

void Negotiator::conclude(const KeySpec& spec, std::uint32_t value) {
  auto& s = state(spec.key);
  s.sent = true;
  s.open = false;
  s.concluded = true;
  s.value = value;
  store(spec.result, parameters_, value);
}

}  // namespace openiser::iscsi
