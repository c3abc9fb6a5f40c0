#include "initiator/cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "initiator/url.h"

namespace openiser::initiator::cli {
namespace {

struct Unit {
  const char* name;
  std::uint64_t factor;
};
constexpr std::array<Unit, 4> kUnits{
    {{"TiB", std::uint64_t{1} << 40}, {"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}}};

}  // namespace

std::string size_text(std::uint64_t bytes) {
  for (const auto& [name, factor] : kUnits) {
    if (bytes < factor) continue;
    if (bytes % factor == 0) return std::to_string(bytes / factor) + " " + name;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %s",
                  static_cast<double>(bytes) / static_cast<double>(factor), name);
    return text.data();
  }
  return std::to_string(bytes) + " bytes";
}

std::uint64_t parse_size(const std::string& text, const std::string& what) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
  std::uint64_t factor = 1;
  const std::string unit = end;
  if (!unit.empty()) {
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0])));
    const auto found = std::find_if(kUnits.begin(), kUnits.end(),
                                    [&](const Unit& u) { return u.name[0] == letter; });
    const bool known = found != kUnits.end() && (unit.size() == 1 || unit.substr(1) == "iB");
    if (!known)
      throw UsageError(what + " '" + text + "': a size is a number with k, M, G or T behind it");
    factor = found->factor;
  }
  if (end == text.c_str() || text[0] == '-' || number > UINT64_MAX / factor) {
    throw UsageError(what + " '" + text + "' is no size; write it as 4k, 1M or 10GiB");
  }
  return number * factor;
}

std::string hex_dump(Bytes bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    const Bytes line = bytes.subspan(at, std::min<std::size_t>(16, bytes.size() - at));
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "%08zx ", at);
    out += number.data();
    std::string text;
    for (std::size_t i = 0; i < 16; ++i) {
      if (i >= line.size()) {
        out += "   ";
        continue;
      }
      const std::uint8_t b = load_u8(&line[i]);
      std::snprintf(number.data(), number.size(), " %02x", b);
      out += number.data();
      text += b >= 0x20 && b < 0x7f ? static_cast<char>(b) : '.';
    }
    out += "  |" + text + "|\n";
  }
  return out;
}

std::vector<std::byte> parse_hex(const std::string& text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isspace(c)) continue;
    if (c == '0' && digits.size() % 2 == 0 && i + 1 < text.size() &&
        std::tolower(text[i + 1]) == 'x') {
      ++i;
      continue;
    }
    if (!std::isxdigit(c)) throw UsageError("'" + text + "' is not hexadecimal");
    digits += static_cast<char>(c);
  }
  if (digits.empty() || digits.size() % 2 != 0)
    throw UsageError("'" + text + "' has no whole number of bytes");
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::strtoul(digits.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bytes;
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    out += line + "\n";
  }
  return out;
}

Progress::Progress(std::string what, std::uint64_t total_bytes)
    : what_(std::move(what)),
      total_(total_bytes),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      next_(start_ +
            (terminal_ ? std::chrono::milliseconds(500) : std::chrono::milliseconds(10000))) {}

Progress::~Progress() {
  if (drawn_ && terminal_) std::fputc('\n', stderr);
}

void Progress::at(std::uint64_t bytes) {
  const auto now = std::chrono::steady_clock::now();
  const bool last = drawn_ && terminal_ && bytes == total_;
  if (now < next_ && !last) return;
  next_ = now + (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000));
  drawn_ = true;
  draw(bytes, std::chrono::duration<double>(now - start_).count());
}

void Progress::draw(std::uint64_t bytes, double seconds) {
  const double share = total_ ? static_cast<double>(bytes) / static_cast<double>(total_) : 1;
  const auto rate =
      static_cast<std::uint64_t>(static_cast<double>(bytes) / std::max(seconds, 1e-3));
  if (!terminal_) {
    std::fprintf(stderr, "%s: %s of %s (%.0f %%), %s/s\n", what_.c_str(), size_text(bytes).c_str(),
                 size_text(total_).c_str(), share * 100, size_text(rate).c_str());
    return;
  }
  constexpr int kWidth = 30;
  const int full = static_cast<int>(share * kWidth);
  const std::string bar = std::string(full, '#') + std::string(kWidth - full, '.');
  std::fprintf(stderr, "\r%s [%s] %3.0f %%  %s/s   ", what_.c_str(), bar.c_str(), share * 100,
               size_text(rate).c_str());
  std::fflush(stderr);
}

}  // namespace openiser::initiator::cli
