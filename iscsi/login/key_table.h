// Every key a login may bring: those of RFC 7143 sections 12.1 and 13, RFC 7144 section 7.1,
// RFC 5046 and RFC 7145 section 6, as one table. A row says who may send a key, when, what values
// it takes, how two wishes become one result, when it is irrelevant, which preference holds our
// wish and which parameter the result. negotiator.cc applies the table; nothing else knows a rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "iscsi/login/parameters.h"

namespace openiser::iscsi {

// In the order of evaluation: a key stands behind those that decide on its relevance or bound its
// value. The order inside a PDU does not matter (RFC 7145 section 6.3 wants RDMAExtensions in the
// first PDU, not first in it).
enum class Key : std::uint8_t {
  session_type,
  initiator_name,
  initiator_alias,
  target_name,
  target_alias,
  target_address,
  target_portal_group_tag,
  send_targets,
  auth_method,
  chap_a,
  chap_i,
  chap_c,
  chap_n,
  chap_r,
  rdma_extensions,
  header_digest,
  data_digest,
  of_marker,
  if_marker,
  of_mark_int,
  if_mark_int,
  max_connections,
  initial_r2t,
  immediate_data,
  max_recv_data_segment_length,
  max_burst_length,
  first_burst_length,
  default_time2wait,
  default_time2retain,
  max_outstanding_r2t,
  data_pdu_in_order,
  data_sequence_in_order,
  error_recovery_level,
  task_reporting,
  protocol_level,
  node_architecture,
  target_recv_data_segment_length,
  initiator_recv_data_segment_length,
  max_outstanding_unexpected_pdus,
  max_ahs_length,
  tagged_buffer_for_solicited_data_only,
  iser_hello_required,
};
inline constexpr std::size_t kKeyCount = static_cast<std::size_t>(Key::iser_hello_required) + 1;

enum class Sender : std::uint8_t { initiator, target, both };

// "Use" of RFC 7143 section 13: Leading Only, Initialize Only, Full Feature Phase Only, ALL.
enum class Use : std::uint8_t { lo, io, ffpo, all };

enum class Scope : std::uint8_t { session, connection };

// Login stages a key may stand in; any: "Any-Stage".
enum class Stages : std::uint8_t { none, security, operational, any };

// How the result comes about. `declared` keys are not answered. `refused`: obsolete, always
// answered with the row's default (RFC 7143 section 13.25). `exchange`: a step of the
// authentication method, whose keys chap.h judges and answers.
enum class Rule : std::uint8_t {
  declared,
  list,
  all_yes,
  any_yes,
  minimum,
  maximum,
  refused,
  exchange,
};

enum class Type : std::uint8_t {
  boolean,
  number,
  list,
  session_type,
  iscsi_name,
  local_name,
  text,
  binary,
};

// When an offer is answered with Irrelevant; flags.
enum class Irrelevant : std::uint8_t {
  never = 0,
  discovery = 1,       // SessionType=Discovery
  without_rdma = 2,    // RDMAExtensions=No
  with_rdma = 4,       // RDMAExtensions=Yes: the default is forced, overriding every wish
  no_unsolicited = 8,  // InitialR2T=Yes and ImmediateData=No
};
constexpr Irrelevant operator|(Irrelevant a, Irrelevant b) {
  return static_cast<Irrelevant>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr bool has(Irrelevant set, Irrelevant flag) {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(flag)) != 0;
}

// The document a key comes from. Keys of rfc7143 must be understood by everybody (its
// section 6.2); a peer may answer NotUnderstood to the others.
enum class Origin : std::uint8_t { rfc7143, rfc7144, rfc5046, rfc7145 };

// Admissible numbers. `zero`: 0 too ("no limit").
struct Range {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  bool zero = false;
  constexpr bool contains(std::uint64_t n) const {
    return (n >= min && n <= max) || (zero && n == 0);
  }
};

// What we offer unasked.
enum class Offer : std::uint8_t {
  no,
  initiator,  // an initiator always
  insist,     // and a target where the default that would hold else is more than it can give
};

// Where our wish stands; none: the default is our wish, or the negotiator knows.
using Wish = std::variant<std::monostate, bool Preferences::*, std::uint8_t Preferences::*,
                          std::uint16_t Preferences::*, std::uint32_t Preferences::*>;
// Where a value goes; none: nowhere, or the negotiator knows.
using Outcome = std::variant<std::monostate, bool Parameters::*, std::uint8_t Parameters::*,
                             std::uint16_t Parameters::*, std::uint32_t Parameters::*,
                             Digest Parameters::*, SessionType Parameters::*,
                             Parameters::HelloRequired Parameters::*, std::string Parameters::*>;

struct KeySpec {
  Key key;
  std::string_view name;
  Origin origin;
  std::string_view section;
  Sender sender;
  Use use;
  Scope scope;
  Stages stages;
  Type type;
  Rule rule;
  Range range;
  std::string_view fallback;  // the default, as text
  Irrelevant irrelevant = Irrelevant::never;
  Offer offer = Offer::no;
  Wish wish = {};
  Outcome result = {};  // of a declared key: what the peer declared
  Outcome own = {};     // of a declared key: what we declared
};

std::span<const KeySpec, kKeyCount> key_table();
const KeySpec& spec_of(Key key);
// Null for a key that is not in the table.
const KeySpec* find_key(std::string_view name);

// --- values ---

// A numerical-value: decimal without leading zeros, or 0x and hexadecimal digits, below 2^64
// (RFC 7143 section 6.1).
std::optional<std::uint64_t> parse_number(std::string_view text);
// The value as a number (Yes is 1; CRC32C is 1, None is 0; Discovery is 1) if it has the row's type
// and range. For lists: of one value.
std::optional<std::uint32_t> parse_value(const KeySpec& spec, std::string_view text);
// Whether a text value has the row's type; true for the types that are numbers to us.
bool is_text_of(Type type, std::string_view text);
std::string format_value(const KeySpec& spec, std::uint32_t value);
std::uint32_t default_of(const KeySpec& spec);

// Our wish: the preference, brought into the row's range, or the default.
std::uint32_t wish_of(const KeySpec& spec, const Preferences& preferences);
// Whether a list value is one we support; values not known are not.
bool accepts(const KeySpec& spec, const Preferences& preferences, std::string_view value);
// The list we offer, in order of preference, comma-separated.
std::string list_of(const KeySpec& spec, const Preferences& preferences);

void store(const Outcome& outcome, Parameters& parameters, std::uint32_t value);
void store(const Outcome& outcome, Parameters& parameters, std::string_view value);

// The constants that are only ever answers (RFC 7143 section 6.2).
inline constexpr std::string_view kNotUnderstood = "NotUnderstood";
inline constexpr std::string_view kIrrelevant = "Irrelevant";
inline constexpr std::string_view kReject = "Reject";

}  // namespace openiser::iscsi
