#include "iscsi/login/key_table.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace openiser::iscsi {

namespace {

using P = Preferences;
using Q = Parameters;

constexpr Range kBoolean{0, 1};
constexpr Range kNone{};
constexpr Range kSegment{512, 0xffffff};
constexpr Range kSeconds{0, 3600};
constexpr Range kSixteenBits{1, 65535};
constexpr Range kCountOrNoLimit{2, 0xffffffff, true};

constexpr auto kDiscovery = Irrelevant::discovery;
constexpr auto kWithoutRdma = Irrelevant::without_rdma;
constexpr auto kWithRdma = Irrelevant::with_rdma;

// clang-format off
constexpr std::array<KeySpec, kKeyCount> kTable{{
    // key, name, origin, section, sender, use, scope, stages, type, rule, range, default, irrelevant, offer, wish, result, own
    {Key::session_type, "SessionType", Origin::rfc7143, "13.21", Sender::initiator, Use::lo, Scope::session,
     Stages::any, Type::session_type, Rule::declared, kBoolean, "Normal", Irrelevant::never, Offer::no, {}, &Q::session_type, &Q::session_type},
    {Key::initiator_name, "InitiatorName", Origin::rfc7143, "13.5", Sender::initiator, Use::io, Scope::session,
     Stages::any, Type::iscsi_name, Rule::declared, kNone, "", Irrelevant::never, Offer::no, {}, &Q::initiator_name, &Q::initiator_name},
    {Key::initiator_alias, "InitiatorAlias", Origin::rfc7143, "13.7", Sender::initiator, Use::all, Scope::session,
     Stages::any, Type::local_name, Rule::declared, kNone, "", Irrelevant::never, Offer::no, {}, &Q::initiator_alias, &Q::initiator_alias},
    // A target names itself only in answers to SendTargets.
    {Key::target_name, "TargetName", Origin::rfc7143, "13.4", Sender::initiator, Use::io, Scope::session,
     Stages::any, Type::iscsi_name, Rule::declared, kNone, "", Irrelevant::never, Offer::no, {}, &Q::target_name, &Q::target_name},
    {Key::target_alias, "TargetAlias", Origin::rfc7143, "13.6", Sender::target, Use::all, Scope::session,
     Stages::any, Type::local_name, Rule::declared, kNone, "", Irrelevant::never, Offer::no, {}, &Q::target_alias, &Q::target_alias},
    {Key::target_address, "TargetAddress", Origin::rfc7143, "13.8", Sender::target, Use::all, Scope::session,
     Stages::any, Type::text, Rule::declared, kNone, ""},
    {Key::target_portal_group_tag, "TargetPortalGroupTag", Origin::rfc7143, "13.9", Sender::target, Use::io, Scope::session,
     Stages::any, Type::number, Rule::declared, {0, 65535}, "0", Irrelevant::never, Offer::no, {}, &Q::target_portal_group_tag, &Q::target_portal_group_tag},
    {Key::send_targets, "SendTargets", Origin::rfc7143, "13.3", Sender::initiator, Use::ffpo, Scope::session,
     Stages::none, Type::text, Rule::declared, kNone, ""},
    {Key::auth_method, "AuthMethod", Origin::rfc7143, "12.1", Sender::both, Use::io, Scope::connection,
     Stages::security, Type::list, Rule::list, kBoolean, "None"},
    {Key::chap_a, "CHAP_A", Origin::rfc7143, "12.1.3", Sender::both, Use::io, Scope::connection,
     Stages::security, Type::list, Rule::exchange, kNone, ""},
    {Key::chap_i, "CHAP_I", Origin::rfc7143, "12.1.3", Sender::both, Use::io, Scope::connection,
     Stages::security, Type::number, Rule::exchange, {0, 255}, ""},
    {Key::chap_c, "CHAP_C", Origin::rfc7143, "12.1.3", Sender::both, Use::io, Scope::connection,
     Stages::security, Type::binary, Rule::exchange, kNone, ""},
    {Key::chap_n, "CHAP_N", Origin::rfc7143, "12.1.3", Sender::both, Use::io, Scope::connection,
     Stages::security, Type::local_name, Rule::exchange, kNone, ""},
    {Key::chap_r, "CHAP_R", Origin::rfc7143, "12.1.3", Sender::both, Use::io, Scope::connection,
     Stages::security, Type::binary, Rule::exchange, kNone, ""},
    {Key::rdma_extensions, "RDMAExtensions", Origin::rfc5046, "6.3", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::boolean, Rule::all_yes, kBoolean, "No", kDiscovery, Offer::initiator, &P::rdma_extensions, &Q::rdma_extensions},
    {Key::header_digest, "HeaderDigest", Origin::rfc7143, "13.1", Sender::both, Use::io, Scope::connection,
     Stages::operational, Type::list, Rule::list, kBoolean, "None", kWithRdma, Offer::insist, {}, &Q::header_digest},
    {Key::data_digest, "DataDigest", Origin::rfc7143, "13.1", Sender::both, Use::io, Scope::connection,
     Stages::operational, Type::list, Rule::list, kBoolean, "None", kWithRdma, Offer::insist, {}, &Q::data_digest},
    {Key::of_marker, "OFMarker", Origin::rfc7143, "13.25", Sender::both, Use::io, Scope::connection,
     Stages::operational, Type::boolean, Rule::refused, kBoolean, "No", kWithRdma},
    {Key::if_marker, "IFMarker", Origin::rfc7143, "13.25", Sender::both, Use::io, Scope::connection,
     Stages::operational, Type::boolean, Rule::refused, kBoolean, "No", kWithRdma},
    {Key::of_mark_int, "OFMarkInt", Origin::rfc7143, "13.25", Sender::both, Use::io, Scope::connection,
     Stages::operational, Type::text, Rule::refused, kNone, kReject},
    {Key::if_mark_int, "IFMarkInt", Origin::rfc7143, "13.25", Sender::both, Use::io, Scope::connection,
     Stages::operational, Type::text, Rule::refused, kNone, kReject},
    {Key::max_connections, "MaxConnections", Origin::rfc7143, "13.2", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::number, Rule::minimum, kSixteenBits, "1", kDiscovery, Offer::initiator, &P::max_connections, &Q::max_connections},
    {Key::initial_r2t, "InitialR2T", Origin::rfc7143, "13.10", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::boolean, Rule::any_yes, kBoolean, "Yes", kDiscovery, Offer::initiator, &P::initial_r2t, &Q::initial_r2t},
    {Key::immediate_data, "ImmediateData", Origin::rfc7143, "13.11", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::boolean, Rule::all_yes, kBoolean, "Yes", kDiscovery, Offer::insist, &P::immediate_data, &Q::immediate_data},
    {Key::max_recv_data_segment_length, "MaxRecvDataSegmentLength", Origin::rfc7143, "13.12", Sender::both, Use::all, Scope::connection,
     Stages::operational, Type::number, Rule::declared, kSegment, "8192", Irrelevant::never, Offer::no, &P::max_recv_data_segment_length,
     &Q::max_send_data_segment_length, &Q::max_recv_data_segment_length},
    {Key::max_burst_length, "MaxBurstLength", Origin::rfc7143, "13.13", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::number, Rule::minimum, kSegment, "262144", kDiscovery, Offer::insist, &P::max_burst_length, &Q::max_burst_length},
    {Key::first_burst_length, "FirstBurstLength", Origin::rfc7143, "13.14", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::number, Rule::minimum, kSegment, "65536", kDiscovery | Irrelevant::no_unsolicited, Offer::insist,
     &P::first_burst_length, &Q::first_burst_length},
    {Key::default_time2wait, "DefaultTime2Wait", Origin::rfc7143, "13.15", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::number, Rule::maximum, kSeconds, "2", Irrelevant::never, Offer::initiator, &P::default_time2wait, &Q::default_time2wait},
    {Key::default_time2retain, "DefaultTime2Retain", Origin::rfc7143, "13.16", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::number, Rule::minimum, kSeconds, "20", Irrelevant::never, Offer::initiator, &P::default_time2retain, &Q::default_time2retain},
    {Key::max_outstanding_r2t, "MaxOutstandingR2T", Origin::rfc7143, "13.17", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::number, Rule::minimum, kSixteenBits, "1", kDiscovery, Offer::initiator, &P::max_outstanding_r2t, &Q::max_outstanding_r2t},
    {Key::data_pdu_in_order, "DataPDUInOrder", Origin::rfc7143, "13.18", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::boolean, Rule::any_yes, kBoolean, "Yes", kDiscovery, Offer::initiator, {}, &Q::data_pdu_in_order},
    {Key::data_sequence_in_order, "DataSequenceInOrder", Origin::rfc7143, "13.19", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::boolean, Rule::any_yes, kBoolean, "Yes", kDiscovery, Offer::initiator, {}, &Q::data_sequence_in_order},
    {Key::error_recovery_level, "ErrorRecoveryLevel", Origin::rfc7143, "13.20", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::number, Rule::minimum, {0, 2}, "0", Irrelevant::never, Offer::initiator, &P::error_recovery_level, &Q::error_recovery_level},
    // Of the semantics in section 13.23 the session offers those of RFC 3720.
    {Key::task_reporting, "TaskReporting", Origin::rfc7143, "13.23", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::list, Rule::list, kBoolean, "RFC3720", kDiscovery},
    {Key::protocol_level, "iSCSIProtocolLevel", Origin::rfc7144, "7.1.1", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::number, Rule::minimum, {0, 31}, "1", kDiscovery},
    {Key::node_architecture, "X#NodeArchitecture", Origin::rfc7143, "13.26", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::local_name, Rule::declared, kNone, ""},
    {Key::target_recv_data_segment_length, "TargetRecvDataSegmentLength", Origin::rfc5046, "6.4", Sender::both, Use::io, Scope::connection,
     Stages::operational, Type::number, Rule::minimum, kSegment, "8192", kWithoutRdma, Offer::insist, &P::target_recv_data_segment_length},
    {Key::initiator_recv_data_segment_length, "InitiatorRecvDataSegmentLength", Origin::rfc5046, "6.5", Sender::both, Use::io, Scope::connection,
     Stages::operational, Type::number, Rule::minimum, kSegment, "8192", kWithoutRdma, Offer::insist, &P::initiator_recv_data_segment_length},
    {Key::max_outstanding_unexpected_pdus, "MaxOutstandingUnexpectedPDUs", Origin::rfc5046, "6.7", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::number, Rule::declared, kCountOrNoLimit, "0", kWithoutRdma, Offer::no, &P::max_outstanding_unexpected_pdus,
     &Q::peer_max_outstanding_unexpected_pdus, &Q::own_max_outstanding_unexpected_pdus},
    {Key::max_ahs_length, "MaxAHSLength", Origin::rfc7145, "6.8", Sender::both, Use::lo, Scope::session,
     Stages::operational, Type::number, Rule::declared, kCountOrNoLimit, "256", kWithoutRdma, Offer::no, &P::max_ahs_length, &Q::peer_max_ahs_length},
    {Key::tagged_buffer_for_solicited_data_only, "TaggedBufferForSolicitedDataOnly", Origin::rfc7145, "6.9", Sender::initiator, Use::lo, Scope::session,
     Stages::operational, Type::boolean, Rule::declared, kBoolean, "No", kWithoutRdma, Offer::no, &P::tagged_buffer_for_solicited_data_only,
     &Q::tagged_buffer_for_solicited_data_only, &Q::tagged_buffer_for_solicited_data_only},
    {Key::iser_hello_required, "iSERHelloRequired", Origin::rfc7145, "6.10", Sender::initiator, Use::lo, Scope::session,
     Stages::operational, Type::boolean, Rule::declared, kBoolean, "No", kWithoutRdma, Offer::no, &P::iser_hello_required,
     &Q::iser_hello_required, &Q::iser_hello_required},
}};
// clang-format on

constexpr bool in_order() {
  for (std::size_t i = 0; i < kKeyCount; ++i)
    if (static_cast<std::size_t>(kTable[i].key) != i) return false;
  return true;
}
static_assert(in_order(), "rows stand in the order of Key");

// The two values each list knows: [0] is the default.
struct Words {
  Key key;
  std::string_view zero, one;
};
constexpr std::array kWords{
    Words{Key::header_digest, "None", "CRC32C"},
    Words{Key::data_digest, "None", "CRC32C"},
    Words{Key::auth_method, "None", "CHAP"},
    Words{Key::task_reporting, "RFC3720", {}},
};

Words words_of(const KeySpec& spec) {
  if (spec.type == Type::boolean) return {spec.key, "No", "Yes"};
  if (spec.type == Type::session_type) return {spec.key, "Normal", "Discovery"};
  const auto* found = std::ranges::find(kWords, spec.key, &Words::key);
  return found == kWords.end() ? Words{spec.key, {}, {}} : *found;
}

// RFC 7143 section 4.2.7.2. Stringprep output has no ASCII but letters, digits, '-', '.' and ':';
// capitals are let pass for the sake of hexadecimal eui. and naa. names.
bool is_iscsi_name(std::string_view text) {
  const auto allowed = [](unsigned char c) {
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == ':' || c == '_';
  };
  return !text.empty() && text.size() <= 223 && std::ranges::all_of(text, allowed);
}

}  // namespace

std::span<const KeySpec, kKeyCount> key_table() {
  return kTable;
}

const KeySpec& spec_of(Key key) {
  return kTable[static_cast<std::size_t>(key)];
}

const KeySpec* find_key(std::string_view name) {
  const auto* found = std::ranges::find(kTable, name, &KeySpec::name);
  return found == kTable.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    return {};
  }
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc{} || stopped != end) return {};
  return number;
}

std::optional<std::uint32_t> parse_value(const KeySpec& spec, std::string_view text) {
  if (spec.type == Type::number) {
    const auto number = parse_number(text);
    if (!number || !spec.range.contains(*number)) return {};
    return static_cast<std::uint32_t>(*number);
  }
  const Words words = words_of(spec);
  if (text.empty()) return {};
  if (text == words.zero) return 0;
  if (text == words.one) return 1;
  return {};
}

bool is_text_of(Type type, std::string_view text) {
  switch (type) {
    case Type::iscsi_name:
      return is_iscsi_name(text);
    case Type::local_name:
    case Type::text:
      return text.size() <= 255;
    default:
      return true;
  }
}

std::string format_value(const KeySpec& spec, std::uint32_t value) {
  if (spec.type == Type::number) return std::to_string(value);
  const Words words = words_of(spec);
  return std::string(value ? words.one : words.zero);
}

std::uint32_t default_of(const KeySpec& spec) {
  return parse_value(spec, spec.fallback).value_or(0);
}

std::uint32_t wish_of(const KeySpec& spec, const Preferences& preferences) {
  const auto wish = std::visit(
      [&](auto member) -> std::uint32_t {
        if constexpr (std::is_same_v<decltype(member), std::monostate>)
          return default_of(spec);
        else
          return preferences.*member;
      },
      spec.wish);
  if (spec.range.zero && wish == 0) return 0;
  return std::clamp(wish, spec.range.min, spec.range.max);
}

namespace {

// Whether we take the list's `value` (0 or 1). Only digests leave a choice.
bool likes(const KeySpec& spec, const Preferences& p, std::uint32_t value) {
  if (spec.key == Key::auth_method) return value == (p.chap ? 1U : 0U);
  if (spec.key != Key::header_digest && spec.key != Key::data_digest) return value == 0;
  const bool header = spec.key == Key::header_digest;
  const bool crc = header ? p.header_digest_crc32c : p.data_digest_crc32c;
  const bool none = header ? p.header_digest_none : p.data_digest_none;
  return value ? crc : none || !crc;
}

}  // namespace

bool accepts(const KeySpec& spec, const Preferences& preferences, std::string_view value) {
  const auto known = parse_value(spec, value);
  return known && likes(spec, preferences, *known);
}

std::string list_of(const KeySpec& spec, const Preferences& preferences) {
  std::string list;
  for (const std::uint32_t value : {1U, 0U}) {
    if (!likes(spec, preferences, value)) continue;
    if (!list.empty()) list += ',';
    list += format_value(spec, value);
  }
  return list;
}

void store(const Outcome& outcome, Parameters& parameters, std::uint32_t value) {
  std::visit(
      [&](auto member) {
        using Member = decltype(member);
        if constexpr (std::is_same_v<Member, Parameters::HelloRequired Parameters::*>)
          parameters.*member =
              value ? Parameters::HelloRequired::yes : Parameters::HelloRequired::no;
        else if constexpr (!std::is_same_v<Member, std::monostate> &&
                           !std::is_same_v<Member, std::string Parameters::*>)
          parameters.*member =
              static_cast<std::remove_reference_t<decltype(parameters.*member)>>(value);
      },
      outcome);
}

void store(const Outcome& outcome, Parameters& parameters, std::string_view value) {
  if (const auto* member = std::get_if<std::string Parameters::*>(&outcome))
    parameters.*(*member) = value;
}

}  // namespace openiser::iscsi
