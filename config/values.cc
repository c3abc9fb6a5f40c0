#include "config/values.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

namespace openiser::config {

namespace {

Parsed good(std::uint64_t number, std::string_view text = {}) {
  return {Value{number, std::string(text)}, {}};
}
Parsed bad(std::string fault) {
  return {{}, std::move(fault)};
}
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return '"' + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "") + '"';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// The number at the front of `text`, which is cut off it; nothing if there is none or it is too
// large.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  const int base = text.starts_with("0x") ? 16 : 10;
  const std::string_view digits = text.substr(base == 16 ? 2 : 0);
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error != std::errc{}) return {};
  text = digits.substr(static_cast<std::size_t>(end - digits.data()));
  return number;
}

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr std::array kSizes{
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"k", 1ULL << 10},
    Unit{"K", 1ULL << 10},
    Unit{"KiB", 1ULL << 10},
    Unit{"M", 1ULL << 20},
    Unit{"MiB", 1ULL << 20},
    Unit{"G", 1ULL << 30},
    Unit{"GiB", 1ULL << 30},
    Unit{"T", 1ULL << 40},
    Unit{"TiB", 1ULL << 40},
};
constexpr std::array kDurations{
    Unit{"", 1}, Unit{"s", 1}, Unit{"m", 60}, Unit{"min", 60}, Unit{"h", 3600},
};

Parsed parse_with_unit(std::string_view text, std::span<const Unit> units,
                       const std::string& advice) {
  std::string_view rest = text;
  const auto number = take_number(rest);
  if (!number) return bad(quoted(text) + advice);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const auto unit = std::ranges::find(units, rest, &Unit::name);
  if (unit == units.end()) return bad(quoted(text) + advice);
  if (*number > std::numeric_limits<std::uint64_t>::max() / unit->factor)
    return bad(quoted(text) + " is too large; write a smaller number");
  return good(*number * unit->factor);
}

// --- iSCSI names (RFC 7143 section 4.2.7) ---

// "yyyy-mm.reversed.domain[:anything]", what stands behind "iqn."
bool is_iqn_rest(std::string_view rest) {
  const std::string_view date = rest.substr(0, 7);
  const bool is_date = date.size() == 7 && std::ranges::all_of(date.substr(0, 4), is_digit) &&
                       date[4] == '-' &&
                       ((date[5] == '0' && date[6] >= '1' && date[6] <= '9') ||
                        (date[5] == '1' && date[6] >= '0' && date[6] <= '2'));
  if (!is_date || rest.size() < 9 || rest[7] != '.') return false;
  rest.remove_prefix(8);
  const std::string_view domain = rest.substr(0, rest.find(':'));
  const auto allowed = [](char c) { return is_lower(c) || is_digit(c) || c == '-' || c == '.'; };
  if (domain.empty() || domain.front() == '.' || domain.back() == '.') return false;
  if (!std::ranges::all_of(domain, allowed)) return false;
  if (domain.size() == rest.size()) return true;
  const auto allowed_behind = [&](char c) {
    return allowed(c) || c == ':' || static_cast<unsigned char>(c) >= 0x80;
  };
  return std::ranges::all_of(rest.substr(domain.size() + 1), allowed_behind);
}

bool is_hex_of(std::string_view text, std::size_t size) {
  return text.size() == size && std::ranges::all_of(text, is_hex);
}

Parsed parse_port(std::string_view text, std::string_view digits, std::string_view host) {
  std::string_view rest = digits;
  const auto port = take_number(rest);
  if (!port || !rest.empty() || *port > 65535)
    return bad(quoted(text) +
               " has no port from 0 to 65535 behind its last colon; write host:3260");
  return good(*port, host);
}

}  // namespace

Parsed parse_boolean(std::string_view text) {
  for (const std::string_view word : {"true", "yes", "on"})
    if (text == word) return good(1);
  for (const std::string_view word : {"false", "no", "off"})
    if (text == word) return good(0);
  return bad(quoted(text) + " is neither yes nor no; write true or false");
}

Parsed parse_count(std::string_view text) {
  std::string_view rest = text;
  const auto number = take_number(rest);
  if (!number || !rest.empty()) return bad(quoted(text) + " is no whole number; write digits only");
  return good(*number);
}

Parsed parse_size(std::string_view text) {
  return parse_with_unit(text, kSizes, " is no size; write bytes, or 4k, 10MiB, 1GiB, 2TiB");
}

Parsed parse_duration(std::string_view text) {
  return parse_with_unit(text, kDurations, " is no duration; write whole seconds, or 15s, 2m, 1h");
}

Parsed parse_portal(std::string_view text) {
  constexpr std::uint64_t kIscsiPort = 3260;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return bad(quoted(text) + " lacks a ]; write [::1]:3260");
    const std::string_view host = text.substr(1, close - 1), rest = text.substr(close + 1);
    if (host.find(':') == std::string_view::npos)
      return bad(quoted(text) + " has no IPv6 address in its brackets; write it without them");
    if (rest.empty()) return good(kIscsiPort, host);
    if (!rest.starts_with(':'))
      return bad(quoted(text) + " goes on behind the ]; write [::1]:3260");
    return parse_port(text, rest.substr(1), host);
  }
  const auto colons = std::ranges::count(text, ':');
  if (colons > 1)
    return bad(quoted(text) + " looks like an IPv6 address; put it in brackets, as in [::1]:3260");
  const std::string_view host = text.substr(0, text.find(':'));
  const auto allowed = [](char c) {
    return c > ' ' && c != '/' && c != '[' && c != ']' && c != ',';
  };
  if (!std::ranges::all_of(host, allowed))
    return bad(quoted(text) + " is no address; write host:3260, [IPv6]:3260 or :3260");
  if (colons == 1) return parse_port(text, text.substr(host.size() + 1), host);
  if (host.empty()) return bad("an empty portal; write host:3260, or :3260 for all addresses");
  if (std::ranges::all_of(host, is_digit))
    return bad(quoted(text) + " is a port without a colon; write :" + std::string(host));
  return good(kIscsiPort, host);
}

Parsed parse_iscsi_name(std::string_view text) {
  if (text.size() > 223) return bad("an iSCSI name of more than 223 bytes; shorten it");
  if (text.starts_with("iqn.") && is_iqn_rest(text.substr(4))) return good(0, text);
  if (text.starts_with("eui.") && is_hex_of(text.substr(4), 16)) return good(0, text);
  if (text.starts_with("naa.") && (is_hex_of(text.substr(4), 16) || is_hex_of(text.substr(4), 32)))
    return good(0, text);
  return bad(quoted(text) +
             " is no iSCSI name; write iqn.YYYY-MM.reversed.domain:what in small letters, or eui. "
             "and 16 hexadecimal digits, or naa. and 16 or 32");
}

Parsed parse_initiator_name(std::string_view text) {
  if (text.find_first_of("*?") == std::string_view::npos) return parse_iscsi_name(text);
  if (text.size() > 223) return bad("a pattern of more than 223 bytes; shorten it");
  const auto wrong = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || (c >= 'A' && c <= 'Z');
  };
  if (std::ranges::any_of(text, wrong))
    return bad(quoted(text) +
               " has capitals, spaces or control characters, which no iSCSI name has; write small "
               "letters");
  return good(0, text);
}

Parsed parse_network(std::string_view text) {
  const std::string advice = " is no network; write 192.0.2.0/24, 2001:db8::/32 or one address";
  const auto slash = text.find('/');
  const std::string host(text.substr(0, slash));
  std::array<unsigned char, 16> bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool four = inet_pton(AF_INET, host.c_str(), &bytes[12]) == 1;
  if (!four && inet_pton(AF_INET6, host.c_str(), bytes.data()) != 1)
    return bad(quoted(text) + advice);
  const std::uint64_t width = four ? 32 : 128;
  std::uint64_t prefix = width;
  if (slash != std::string_view::npos) {
    std::string_view rest = text.substr(slash + 1);
    const auto number = take_number(rest);
    if (!number || !rest.empty() || *number > width)
      return bad(quoted(text) + " has no prefix length from 0 to " + std::to_string(width) +
                 " behind its slash; write one");
    prefix = *number;
  }
  prefix += 128 - width;
  for (std::uint64_t bit = prefix; bit < 128; ++bit)
    if ((bytes[bit / 8] >> (7 - bit % 8) & 1) != 0)
      return bad(quoted(text) + " has bits set beyond its prefix; clear them, or name one address");
  return good(prefix, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::vector<unsigned> processors_of(std::string_view text) {
  constexpr std::uint64_t kHighest = 1023;
  std::vector<unsigned> processors;
  while (true) {
    const auto first = take_number(text);
    auto last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_number(text);
    }
    if (!first || !last || *first > *last || *last > kHighest) return {};
    for (std::uint64_t n = *first; n <= *last; ++n) processors.push_back(static_cast<unsigned>(n));
    if (text.empty()) return processors;
    if (!text.starts_with(',')) return {};
    text.remove_prefix(1);
  }
}

Parsed parse_processors(std::string_view text) {
  if (processors_of(text).empty())
    return bad(quoted(text) + " is no list of processors; write numbers and ranges, as in 0-3,6");
  return good(0, text);
}

Parsed parse_plain_text(std::string_view text, std::uint64_t max) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(text, control))
    return bad("a text with control characters; leave them out");
  if (text.size() > max)
    return bad(quoted(text) + " is longer than " + std::to_string(max) + " bytes; shorten it");
  return good(0, text);
}

}  // namespace openiser::config
