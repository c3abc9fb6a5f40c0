#include "iscsi/session/send_targets.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "iscsi/errors.h"
#include "iscsi/login/key_table.h"

namespace openiser::iscsi {
namespace {

constexpr std::string_view kSendTargets = "SendTargets";
constexpr std::string_view kTargetName = "TargetName";
constexpr std::string_view kTargetAddress = "TargetAddress";
constexpr std::string_view kAll = "All";

// The name to look up, or nothing if `value` may not be asked for in a session of this type:
// discovery has no target of its own, a normal session no other.
std::optional<std::string> name_to_look_up(std::string_view value, const Parameters& parameters) {
  if (parameters.session_type == SessionType::discovery) {
    if (value.empty()) return {};
    return std::string(value == kAll ? "" : value);
  }
  if (value == kAll) return {};
  return std::string(value.empty() ? parameters.target_name : value);
}

void write_record(const TargetRecord& record, TextWriter& out) {
  out.add(kTargetName, record.name);
  for (const std::string& address : record.addresses) out.add(kTargetAddress, address);
}

// Whether the key means nothing in a session of this kind (RFC 7143 section 13).
bool is_irrelevant(const KeySpec& spec, const Parameters& parameters) {
  const bool discovery = parameters.session_type == SessionType::discovery;
  return (discovery && has(spec.irrelevant, Irrelevant::discovery)) ||
         (parameters.rdma_extensions && has(spec.irrelevant, Irrelevant::with_rdma)) ||
         (!parameters.rdma_extensions && has(spec.irrelevant, Irrelevant::without_rdma));
}

// Of a key that is not SendTargets: what it is answered with; nothing to a declaration that is in
// order (RFC 7143 sections 6.2 and 6.4).
std::string_view judge(const TextPair& pair, const Parameters& parameters, TextAnswer& answer) {
  const KeySpec* spec = find_key(pair.key);
  if (!spec) return kNotUnderstood;
  if (spec->use != Use::all || spec->sender == Sender::target) return kReject;
  if (is_irrelevant(*spec, parameters)) return kIrrelevant;
  if (spec->key != Key::max_recv_data_segment_length)
    return is_text_of(spec->type, pair.value) ? std::string_view() : kReject;
  answer.max_recv_data_segment_length = parse_value(*spec, pair.value);
  return answer.max_recv_data_segment_length ? std::string_view() : kReject;
}

}  // namespace

Result<TextAnswer> answer_text(
    Bytes request, const Parameters& parameters,
    const std::function<std::vector<TargetRecord>(const std::string& name)>& look_up) {
  const auto pairs = parse_text(request);
  if (!pairs) return pairs.error();
  TextWriter out;
  TextAnswer answer;
  std::set<std::string_view> seen;
  for (const TextPair& pair : *pairs) {
    // Unknown keys are not ours to compare.
    if (find_key(pair.key) && !seen.insert(pair.key).second) return errc::duplicate_key;
    if (pair.key != kSendTargets) {
      const std::string_view word = judge(pair, parameters, answer);
      if (!word.empty()) out.add(pair.key, word);
      continue;
    }
    const auto name = name_to_look_up(pair.value, parameters);
    if (!name) {
      out.add(kSendTargets, kReject);
    } else if (parameters.session_type == SessionType::discovery ||
               *name == parameters.target_name) {
      for (const TargetRecord& record : look_up(*name)) write_record(record, out);
    }
  }
  answer.text = out.take();
  return answer;
}

Result<std::optional<std::uint32_t>> declared_data_segment(Bytes text,
                                                           const Parameters& parameters) {
  const KeySpec& spec = spec_of(Key::max_recv_data_segment_length);
  const std::string start = std::string(spec.name) + "=";
  std::string_view rest = as_text(text);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.starts_with(start) || is_irrelevant(spec, parameters)) continue;
    const auto value = parse_value(spec, line.substr(start.size()));
    if (!value) return errc::negotiation_failed;
    return value;
  }
  return std::nullopt;
}

Result<std::string> answer_target(Bytes text) {
  const auto pairs = parse_text(text);
  if (!pairs) return pairs.error();
  TextWriter out;
  for (const TextPair& pair : *pairs) {
    if (pair.value == kReject || pair.value == kNotUnderstood || pair.value == kIrrelevant)
      continue;
    const KeySpec* spec = find_key(pair.key);
    if (spec && spec->use == Use::all && spec->sender != Sender::initiator) continue;
    out.add(pair.key, spec ? kReject : kNotUnderstood);
  }
  return out.take();
}

Result<std::vector<TargetRecord>> parse_target_records(Bytes text) {
  std::vector<TargetRecord> records;
  // One pair at a time: a long list has more pairs than parse_text() takes at once.
  std::string_view rest = as_text(text);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty()) continue;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) return errc::bad_text;
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    if (key == kTargetName) {
      records.push_back({std::string(value), {}, {}});
    } else if (key == kTargetAddress) {
      if (records.empty()) return errc::bad_text;
      records.back().addresses.emplace_back(value);
    } else if (key == kSendTargets) {
      return errc::negotiation_failed;
    }
  }
  return records;
}

}  // namespace openiser::iscsi
