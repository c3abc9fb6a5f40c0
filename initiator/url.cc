#include "initiator/url.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace openiser::initiator {
namespace {

[[noreturn]] void refuse(std::string_view url, const std::string& why) {
  throw UsageError("URL '" + std::string(url) + "': " + why);
}

std::uint16_t number(std::string_view url, std::string_view text, const char* what, unsigned most) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || value > most) {
    refuse(url, std::string(what) + " '" + std::string(text) + "' is not a number from 0 to " +
                    std::to_string(most));
  }
  return static_cast<std::uint16_t>(value);
}

bool boolean(std::string_view url, std::string_view key, std::string_view value) {
  if (value == "yes") return true;
  if (value == "no") return false;
  refuse(url, std::string(key) + " takes yes or no, not '" + std::string(value) + "'");
}

bool digest(std::string_view url, std::string_view key, std::string_view value) {
  if (value == "crc32c") return true;
  if (value == "none") return false;
  refuse(url, std::string(key) + " takes crc32c or none, not '" + std::string(value) + "'");
}

Wire wire(std::string_view url, std::string_view value) {
  for (const Wire w : {Wire::automatic, Wire::rdma_first, Wire::stream_first, Wire::verbs}) {
    if (value == name_of(w)) return w;
  }
  refuse(url,
         "wire takes auto, rdma-first, stream-first or verbs, not '" + std::string(value) + "'");
}

bool rfc5046(std::string_view url, std::string_view value) {
  if (value == "5046") return true;
  if (value == "7145") return false;
  refuse(url, "rfc takes 7145 or 5046, not '" + std::string(value) + "'");
}

void iser_only(std::string_view url, const Url& parsed, std::string_view key) {
  if (!parsed.iser) refuse(url, std::string(key) + " means nothing for plain iSCSI; use iser://");
}

void plain_only(std::string_view url, const Url& parsed, std::string_view key) {
  if (parsed.iser) {
    refuse(url, std::string(key) + " is for iscsi:// only: iSER always runs without iSCSI digests");
  }
}

void apply(std::string_view url, Url& parsed, std::string_view key, std::string_view value) {
  if (key == "wire") {
    iser_only(url, parsed, key);
    parsed.wire = wire(url, value);
  } else if (key == "rfc") {
    iser_only(url, parsed, key);
    parsed.rfc5046 = rfc5046(url, value);
  } else if (key == "crc") {
    iser_only(url, parsed, key);
    parsed.crc = boolean(url, key, value);
  } else if (key == "markers") {
    iser_only(url, parsed, key);
    parsed.markers = boolean(url, key, value);
  } else if (key == "header-digest") {
    plain_only(url, parsed, key);
    parsed.header_digest = digest(url, key, value);
  } else if (key == "data-digest") {
    plain_only(url, parsed, key);
    parsed.data_digest = digest(url, key, value);
  } else if (key == "user") {
    parsed.user = value;
  } else {
    refuse(url, "unknown key '" + std::string(key) +
                    "'; known are wire, rfc, crc, markers, header-digest, data-digest, user");
  }
}

void parse_query(std::string_view url, Url& parsed, std::string_view query) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      refuse(url, "'" + std::string(pair) + "' is not of the form key=value");
    }
    apply(url, parsed, pair.substr(0, equals), pair.substr(equals + 1));
  }
  if (parsed.rfc5046 && (parsed.wire == Wire::rdma_first || parsed.wire == Wire::verbs)) {
    refuse(url, std::string("rfc=5046 has no ") + name_of(parsed.wire) +
                    " wire: its login is a byte stream; use wire=stream-first");
  }
  if (parsed.wire == Wire::verbs && (!parsed.crc || parsed.markers)) {
    refuse(url, "crc and markers are not ours to ask for with wire=verbs: the device settles them");
  }
  if (parsed.rfc5046) parsed.wire = Wire::stream_first;
}

void parse_authority(std::string_view url, Url& parsed, std::string_view authority) {
  if (authority.find('@') != std::string_view::npos) {
    refuse(url, "user names and secrets do not belong in front of the host");
  }
  std::string_view port;
  if (!authority.empty() && authority.front() == '[') {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) refuse(url, "'[' without ']'");
    parsed.host = authority.substr(1, close - 1);
    authority.remove_prefix(close + 1);
    if (!authority.empty() && authority.front() != ':') refuse(url, "only a :PORT may follow ']'");
    if (!authority.empty()) port = authority.substr(1);
  } else {
    const std::size_t colon = authority.find(':');
    if (colon != std::string_view::npos &&
        authority.find(':', colon + 1) != std::string_view::npos) {
      refuse(url, "an IPv6 address stands in brackets, as in [::1]:3260");
    }
    if (colon != 0 && !authority.empty()) parsed.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon + 1);
    if (colon == std::string_view::npos) return;
  }
  if (!port.empty()) parsed.port = number(url, port, "port", 65535);
}

bool is_target_name(std::string_view name) {
  constexpr std::array<std::string_view, 3> kForms{"iqn.", "eui.", "naa."};
  return name.size() <= 223 &&  // RFC 7143 section 4.2.7.1
         std::any_of(kForms.begin(), kForms.end(),
                     [&](auto form) { return name.starts_with(form); });
}

void parse_path(std::string_view url, Url& parsed, std::string_view path) {
  if (path.empty()) return;
  path.remove_prefix(1);
  const std::size_t slash = path.find('/');
  parsed.target = path.substr(0, slash);
  if (!parsed.target.empty() && !is_target_name(parsed.target)) {
    refuse(url, "'" + parsed.target + "' is no target name (iqn..., eui..., naa...)");
  }
  if (slash == std::string_view::npos) return;
  const std::string_view lun = path.substr(slash + 1);
  if (!lun.empty()) parsed.lun = number(url, lun, "LUN", 16383);
}

}  // namespace

const char* name_of(Wire wire) {
  switch (wire) {
    case Wire::automatic:
      return "auto";
    case Wire::rdma_first:
      return "rdma-first";
    case Wire::stream_first:
      return "stream-first";
    case Wire::verbs:
      return "verbs";
    case Wire::plain:
      break;
  }
  return "plain";
}

Url parse_url(std::string_view text) {
  constexpr std::string_view kIser = "iser://", kPlain = "iscsi://";
  Url parsed;
  std::string_view rest = text;
  if (rest.starts_with(kIser)) {
    rest.remove_prefix(kIser.size());
  } else if (rest.starts_with(kPlain)) {
    rest.remove_prefix(kPlain.size());
    parsed.iser = false;
    parsed.wire = Wire::plain;
  } else {
    refuse(text, "starts with neither iser:// nor iscsi://");
  }
  const std::size_t question = rest.find('?');
  const std::string_view query =
      question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
  rest = rest.substr(0, question);
  const std::size_t slash = rest.find('/');
  parse_authority(text, parsed, rest.substr(0, slash));
  parse_path(text, parsed,
             slash == std::string_view::npos ? std::string_view() : rest.substr(slash));
  parse_query(text, parsed, query);
  return parsed;
}

Url parse_portal(std::string_view text) {
  if (text.find("://") != std::string_view::npos) return parse_url(text);
  if (text.find('/') != std::string_view::npos) refuse(text, "is neither HOST[:PORT] nor a URL");
  Url parsed;
  parse_authority(text, parsed, text);
  return parsed;
}

std::string Url::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  std::string out = iser ? "iser://" : "iscsi://";
  out += (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  if (!target.empty()) out += "/" + target;
  if (lun) out += "/" + std::to_string(*lun);
  std::string query;
  const auto add = [&](const std::string& pair) { query += (query.empty() ? "?" : "&") + pair; };
  if (iser && wire != Wire::automatic) add(std::string("wire=") + name_of(wire));
  if (rfc5046) add("rfc=5046");
  if (!crc) add("crc=no");
  if (markers) add("markers=yes");
  if (header_digest) add("header-digest=crc32c");
  if (data_digest) add("data-digest=crc32c");
  if (!user.empty()) add("user=" + user);
  return out + query;
}

}  // namespace openiser::initiator
