// Text as login and Text PDUs carry it: key=value pairs, each ended by a NUL (RFC 7143
// section 6.1). A list may span PDUs (C bit); whoever receives it puts the data segments together
// within a limit of its own (TextCollector), then parses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace openiser::iscsi {

// Views into the text they were parsed from.
struct TextPair {
  std::string_view key;
  std::string_view value;
};

inline constexpr std::size_t kMaxKeyName = 63;
// Largest value unless its key says otherwise (binary values of CHAP, lists). Counted as it is
// written, which is more than the RFC's count for encoded binary: such keys say otherwise.
inline constexpr std::size_t kMaxTextValue = 255;
// What every node must be able to receive in one negotiation sequence.
inline constexpr std::size_t kMinTextLimit = 8192;
inline constexpr std::size_t kMaxTextPairs = 1024;

// A standard-label of 1 to 63 characters, but its first need not be a capital letter: a key like
// that is one we do not know, which is no reason to end a login.
bool is_key_name(std::string_view name);

// The pairs of `text`, in order, duplicates included: whether a key may come twice is the caller's
// to say, and so is whether a value has the characters of its type. An empty text, and one of NULs
// only, is an empty list; the last NUL may be missing. `max_value` bounds every value. Fails with
// errc::bad_text (no "="), bad_key_name or text_too_long. Valid as long as `text` is.
Result<std::vector<TextPair>> parse_text(Bytes text, std::size_t max_value = kMaxTextValue);

// Builds a list.
class TextWriter {
 public:
  // `key` is a key name and `value` has no NUL: ours to keep.
  void add(std::string_view key, std::string_view value);
  void add(std::string_view key, std::uint64_t number);
  bool empty() const { return text_.empty(); }
  std::size_t size() const { return text_.size(); }
  // Valid until the next add().
  Bytes bytes() const { return as_bytes(text_); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Cuts a long text into data segments of at most `segment_size` bytes. All but the last are full
// and go with C=1.
class TextSplitter {
 public:
  explicit TextSplitter(std::string text = {}) : text_(std::move(text)) {}
  // The next piece; empty when there is none left. Valid as long as the splitter is.
  Bytes next(std::size_t segment_size);
  bool done() const { return used_ == text_.size(); }
  std::size_t remaining() const { return text_.size() - used_; }

 private:
  std::string text_;
  std::size_t used_ = 0;
};

// Puts the data segments of one list together, `limit` bytes at most.
class TextCollector {
 public:
  explicit TextCollector(std::size_t limit = kMinTextLimit) : limit_(limit) {}
  // Fails with errc::text_too_long and keeps what it had.
  Status add(Bytes segment);
  // Valid until the next add() or clear().
  Bytes text() const { return as_bytes(text_); }
  bool empty() const { return text_.empty(); }
  void clear() { text_.clear(); }

 private:
  std::string text_;
  std::size_t limit_;
};

}  // namespace openiser::iscsi
