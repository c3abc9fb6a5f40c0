// The negotiator's own keys: what it offers and declares, and what follows at the end.
#include <algorithm>

#include "iscsi/login/negotiator.h"

namespace openiser::iscsi {

namespace {

bool is_digest(const KeySpec& spec) {
  return spec.key == Key::header_digest || spec.key == Key::data_digest;
}

// The cases in which RFC 7143 section 6.2.2 makes the answer optional: the offer is the result. So
// it is of a digest that we want no other than the default of.
bool answer_optional(const KeySpec& spec, const Preferences& preferences, std::uint32_t offered) {
  return (spec.rule == Rule::all_yes && offered == 0) ||
         (spec.rule == Rule::any_yes && offered == 1) ||
         (is_digest(spec) && list_of(spec, preferences) == spec.fallback);
}

}  // namespace

void Negotiator::declare(Key key, std::string_view value) {
  const KeySpec& spec = spec_of(key);
  state(key).sent = true;
  if (spec.type == Type::iscsi_name || spec.type == Type::local_name)
    store(spec.own, parameters_, value);
  else if (const auto number = parse_value(spec, value))
    store(spec.own, parameters_, *number);
  out_.add(spec.name, value);
}

void Negotiator::declare(Key key) {
  const KeySpec& spec = spec_of(key);
  declare(key, format_value(spec, wish(spec)));
}

void Negotiator::offer(const KeySpec& spec) {
  auto& s = state(spec.key);
  s.sent = s.open = true;
  s.value = wish(spec);
  out_.add(spec.name,
           spec.rule == Rule::list ? list_of(spec, preferences_) : format_value(spec, s.value));
}

void Negotiator::offer_all() {
  for (const KeySpec& spec : key_table())
    if (worth_offering(spec)) offer(spec);
  // RFC 7145 section 6.2 ignores it under RDMAExtensions=Yes, which a login over RDMA ends with;
  // Linux does not send it there either.
  if (!rdma_connection_) declare(Key::max_recv_data_segment_length);
  if (preferences_.rdma_extensions &&
      (rdma_connection_ || parameters_.session_type == SessionType::normal))
    declare_rdma_limits();
}

bool Negotiator::worth_offering(const KeySpec& spec) const {
  if (spec.offer == Offer::no) return false;
  const bool rdma_key =
      spec.key == Key::rdma_extensions || has(spec.irrelevant, Irrelevant::without_rdma);
  const bool discovery = parameters_.session_type == SessionType::discovery;
  if (rdma_key) return preferences_.rdma_extensions && (rdma_connection_ || !discovery);
  if (spec.rule == Rule::list) return worth_offering_list(spec);
  if (discovery && spec.use == Use::lo) return false;
  if (has(spec.irrelevant, Irrelevant::no_unsolicited))
    return !preferences_.initial_r2t || preferences_.immediate_data;
  return true;
}

// Digests are offered though they are None by default: a target that hears nothing of them may ask
// for its own (tgtd does). RDMAExtensions=Yes settles them by itself.
bool Negotiator::worth_offering_list(const KeySpec& spec) const {
  if (rdma_connection_) return false;
  return (is_digest(spec) && !preferences_.rdma_extensions) ||
         list_of(spec, preferences_) != spec.fallback;
}

// Keys that a peer of the other document, or Linux, does not know are kept back where they say
// nothing beyond the default.
void Negotiator::declare_rdma_limits() {
  const auto& p = preferences_;
  if (p.max_outstanding_unexpected_pdus != 0) declare(Key::max_outstanding_unexpected_pdus);
  if (!p.rfc7145) return;
  if (p.max_ahs_length != default_of(spec_of(Key::max_ahs_length))) declare(Key::max_ahs_length);
  if (role_ == Role::target) return;
  if (p.tagged_buffer_for_solicited_data_only) declare(Key::tagged_buffer_for_solicited_data_only);
  // On a byte stream both ends have to know whether a Hello comes.
  if (p.iser_hello_required || !rdma_connection_) declare(Key::iser_hello_required);
}

void Negotiator::declare_limits() {
  if (!rdma()) {
    if (!rdma_connection_) declare(Key::max_recv_data_segment_length);
    return;
  }
  // Initiators that came in RDMA mode and named none of these keys (Linux, libiscsi) end a login in
  // which they meet one.
  if (!rdma_connection_ || received(Key::max_outstanding_unexpected_pdus) ||
      received(Key::max_ahs_length) || received(Key::iser_hello_required))
    declare_rdma_limits();
}

bool Negotiator::missing(const KeySpec& spec) const {
  const auto& s = state(spec.key);
  if (spec.offer != Offer::insist || s.sent || s.received || irrelevant(spec)) return false;
  if (spec.rule != Rule::list) return default_of(spec) > wish(spec);
  return !rdma() && !accepts(spec, preferences_, spec.fallback);
}

bool Negotiator::has_missing() const {
  return std::ranges::any_of(key_table(), [this](const KeySpec& spec) { return missing(spec); });
}

void Negotiator::offer_missing() {
  for (const KeySpec& spec : key_table())
    if (missing(spec)) offer(spec);
}

std::string_view Negotiator::unanswered() const {
  for (const KeySpec& spec : key_table()) {
    const auto& s = state(spec.key);
    if (s.open && !answer_optional(spec, preferences_, s.value)) return spec.name;
  }
  return {};
}

std::uint32_t Negotiator::agreed(Key key) const {
  return state(key).concluded ? state(key).value : default_of(spec_of(key));
}

// RDMAExtensions means nothing in discovery (RFC 7145 section 6.3): there the connection, if it is
// in RDMA mode already, speaks for itself. open-iscsi names no RDMA key then, LIO answers No.
bool Negotiator::rdma_by_itself() const {
  return rdma_connection_ && preferences_.rdma_extensions &&
         parameters_.session_type == SessionType::discovery;
}

Negotiator::Verdict Negotiator::finish(bool rdma_required) {
  for (const KeySpec& spec : key_table())
    if (auto& s = state(spec.key); s.open) conclude(spec, s.value);
  if (rdma_by_itself()) parameters_.rdma_extensions = true;
  if (rdma_required && !rdma())
    return Fault{errc::negotiation_failed, rdma_connection_
                                               ? "RDMAExtensions=Yes was not agreed, and this "
                                                 "connection is in RDMA mode already"
                                               : "RDMAExtensions=Yes was not agreed"};
  settle_rdma();
  // RFC 7143 section 13.14. A smaller first burst than agreed does an initiator no harm.
  auto& p = parameters_;
  if (p.first_burst_length > p.max_burst_length && role_ == Role::target &&
      state(Key::first_burst_length).concluded)
    return Fault{errc::negotiation_failed,
                 "FirstBurstLength=" + std::to_string(p.first_burst_length) +
                     " exceeds MaxBurstLength=" + std::to_string(p.max_burst_length)};
  p.first_burst_length = std::min(p.first_burst_length, p.max_burst_length);
  return {};
}

// RFC 7145 sections 6.1 and 6.2; and without RDMAExtensions its keys mean nothing.
void Negotiator::settle_rdma() {
  auto& p = parameters_;
  if (!p.rdma_extensions) {
    const Parameters defaults;
    p.peer_max_outstanding_unexpected_pdus = defaults.peer_max_outstanding_unexpected_pdus;
    p.own_max_outstanding_unexpected_pdus = defaults.own_max_outstanding_unexpected_pdus;
    p.peer_max_ahs_length = defaults.peer_max_ahs_length;
    p.tagged_buffer_for_solicited_data_only = defaults.tagged_buffer_for_solicited_data_only;
    p.iser_hello_required = defaults.iser_hello_required;
    return;
  }
  p.header_digest = p.data_digest = Digest::none;
  p.peer_knows_rfc7145 = received(Key::max_ahs_length) ||
                         received(Key::tagged_buffer_for_solicited_data_only) ||
                         received(Key::iser_hello_required);
  const std::uint32_t to_target = agreed(Key::target_recv_data_segment_length);
  const std::uint32_t to_initiator = agreed(Key::initiator_recv_data_segment_length);
  const bool target = role_ == Role::target;
  p.max_send_data_segment_length = target ? to_initiator : to_target;
  p.max_recv_data_segment_length = target ? to_target : to_initiator;
}

}  // namespace openiser::iscsi
