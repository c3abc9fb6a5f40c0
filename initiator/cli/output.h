// What the commands print: tables, sizes in words, hexadecimal, and progress on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace openiser::initiator::cli {

// "1.5 GiB"; exact multiples without decimals.
std::string size_text(std::uint64_t bytes);
// "4k", "1M", "10GiB", "512": throws UsageError; `what` names the option.
std::uint64_t parse_size(const std::string& text, const std::string& what);
// Sixteen bytes a line with offsets and text.
std::string hex_dump(Bytes bytes);
// "12 00 00 ff", "120000ff" or "0x12 ...": throws UsageError.
std::vector<std::byte> parse_hex(const std::string& text);

class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// A bar that redraws itself on a terminal, a line every ten seconds elsewhere; on standard error.
// Silent for work that is done within half a second.
class Progress {
 public:
  Progress(std::string what, std::uint64_t total_bytes);
  ~Progress();
  void at(std::uint64_t bytes);

 private:
  void draw(std::uint64_t bytes, double seconds);

  const std::string what_;
  const std::uint64_t total_;
  const bool terminal_;
  const std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point next_;
  bool drawn_ = false;
};

}  // namespace openiser::initiator::cli
