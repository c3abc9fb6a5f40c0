#include "iscsi/session/send_targets.h"

#include <algorithm>
#include <optional>

#include "iscsi/errors.h"

namespace openiser::iscsi {
namespace {

constexpr std::string_view kSendTargets = "SendTargets";
constexpr std::string_view kTargetName = "TargetName";
constexpr std::string_view kTargetAddress = "TargetAddress";
constexpr std::string_view kAll = "All";
constexpr std::string_view kReject = "Reject";
constexpr std::string_view kNotUnderstood = "NotUnderstood";

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

}  // namespace

Result<std::string> answer_text(
    Bytes request, const Parameters& parameters,
    const std::function<std::vector<TargetRecord>(const std::string& name)>& look_up) {
  const auto pairs = parse_text(request);
  if (!pairs) return pairs.error();
  TextWriter out;
  bool asked = false;
  for (const TextPair& pair : *pairs) {
    if (pair.key != kSendTargets) {
      out.add(pair.key, kNotUnderstood);
      continue;
    }
    if (std::exchange(asked, true)) return errc::duplicate_key;
    const auto name = name_to_look_up(pair.value, parameters);
    if (!name) {
      out.add(kSendTargets, kReject);
    } else if (parameters.session_type == SessionType::discovery ||
               *name == parameters.target_name) {
      for (const TargetRecord& record : look_up(*name)) write_record(record, out);
    }
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
