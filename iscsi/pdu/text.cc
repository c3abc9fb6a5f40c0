#include "iscsi/pdu/text.h"

#include <algorithm>

#include "base/assert.h"
#include "iscsi/errors.h"

namespace openiser::iscsi {
namespace {

// RFC 7143 section 6.1, standard-label; and the '#' of X#NodeArchitecture (section 13.26).
bool is_label_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '+' || c == '@' || c == '_' || c == '#';
}

// `item`: what stands between two NULs, not empty.
Result<TextPair> parse_pair(std::string_view item, std::size_t max_value) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos) return errc::bad_text;
  const TextPair pair{item.substr(0, equals), item.substr(equals + 1)};
  if (!is_key_name(pair.key)) return errc::bad_key_name;
  if (pair.value.size() > max_value) return errc::text_too_long;
  return pair;
}

}  // namespace

bool is_key_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxKeyName &&
         std::all_of(name.begin(), name.end(), is_label_character);
}

Result<std::vector<TextPair>> parse_text(Bytes text, std::size_t max_value) {
  std::vector<TextPair> pairs;
  std::string_view rest = as_text(text);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    // Some peers put NULs between and behind pairs; they mean nothing.
    if (item.empty()) continue;
    if (pairs.size() == kMaxTextPairs) return errc::text_too_long;
    const Result<TextPair> pair = parse_pair(item, max_value);
    if (!pair) return pair.error();
    pairs.push_back(*pair);
  }
  return pairs;
}

void TextWriter::add(std::string_view key, std::string_view value) {
  ISER_ASSERT(is_key_name(key) && value.find('\0') == std::string_view::npos);
  text_.append(key).append(1, '=').append(value).append(1, '\0');
}

void TextWriter::add(std::string_view key, std::uint64_t number) {
  add(key, std::string_view(std::to_string(number)));
}

Bytes TextSplitter::next(std::size_t segment_size) {
  ISER_ASSERT(segment_size > 0);
  const std::size_t n = std::min(segment_size, remaining());
  const Bytes piece = as_bytes(text_).subspan(used_, n);
  used_ += n;
  return piece;
}

Status TextCollector::add(Bytes segment) {
  if (segment.size() > limit_ - text_.size()) return errc::text_too_long;
  text_.append(as_text(segment));
  return {};
}

}  // namespace openiser::iscsi
