#include "target/scsi/unit_notes.h"

#include <array>
#include <chrono>

namespace openiser::target {
namespace {

constexpr std::uint64_t kClockMask = (std::uint64_t{1} << 48) - 1;

std::uint64_t machine_clock() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count());
}

void append_with_length(std::vector<std::byte>& to, Bytes value) {
  std::array<std::byte, 2> length;
  store_be16(length.data(), static_cast<std::uint16_t>(value.size()));
  to.insert(to.end(), length.begin(), length.end());
  to.insert(to.end(), value.begin(), value.end());
}

// Takes what append_with_length() has appended; none if that is not there, or longer than `limit`.
std::optional<std::vector<std::byte>> take_with_length(Bytes& from, std::size_t limit) {
  if (from.size() < 2) return {};
  const std::size_t length = load_be16(from.data());
  if (length > limit || length > from.size() - 2) return {};
  const Bytes value = from.subspan(2, length);
  from = from.subspan(2 + length);
  return std::vector(value.begin(), value.end());
}

}  // namespace

std::vector<std::byte> encode_information(const IdentifyingInformation& information) {
  std::vector<std::byte> content;
  if (information == IdentifyingInformation{}) return content;
  append_with_length(content, information.identifier);
  append_with_length(content, information.text);
  return content;
}

std::optional<IdentifyingInformation> decode_information(Bytes content) {
  auto identifier = take_with_length(content, IdentifyingInformation::kMaxIdentifier);
  auto text = take_with_length(content, IdentifyingInformation::kMaxText);
  if (!identifier || !text || !content.empty()) return {};
  return IdentifyingInformation{std::move(*identifier), std::move(*text)};
}

IdentifyingInformation UnitNotes::information() const {
  const std::lock_guard lock(mutex_);
  return information_;
}

void UnitNotes::set_information(IdentifyingInformation next) {
  const std::lock_guard lock(mutex_);
  information_ = std::move(next);
}

std::uint64_t UnitNotes::clock() const {
  const std::lock_guard lock(mutex_);
  return (machine_clock() + clock_offset_) & kClockMask;
}

void UnitNotes::set_clock(std::uint64_t milliseconds) {
  const std::lock_guard lock(mutex_);
  clock_was_set_ = true;
  clock_offset_ = (milliseconds - machine_clock()) & kClockMask;
}

bool UnitNotes::clock_was_set() const {
  const std::lock_guard lock(mutex_);
  return clock_was_set_;
}

}  // namespace openiser::target
