#include "initiator/scsi_error.h"

extern "C" {
#include <iscsi/scsi-lowlevel.h>
}

#include <array>
#include <cstdio>

namespace openiser::initiator {
namespace {

const char* status_name(std::uint8_t status) {
  switch (status) {  // SAM-5 table 43
    case 0x00:
      return "GOOD";
    case 0x02:
      return "CHECK CONDITION";
    case 0x04:
      return "CONDITION MET";
    case 0x08:
      return "BUSY";
    case 0x18:
      return "RESERVATION CONFLICT";
    case 0x28:
      return "TASK SET FULL";
    case 0x30:
      return "ACA ACTIVE";
    case 0x40:
      return "TASK ABORTED";
    default:
      return "unknown status";
  }
}

// In the place of a sense key, where the target sent no sense data: 0 would be NO SENSE.
constexpr std::uint8_t kNoSenseData = 0x80;

class Category final : public ErrorCategory {
 public:
  const char* name() const noexcept override { return "scsi"; }
  std::string message(int value) const override {
    const auto bits = static_cast<std::uint32_t>(value);
    const auto status = static_cast<std::uint8_t>(bits >> 24);
    if (status != kCheckCondition) return std::string("SCSI status ") + status_name(status);
    const auto key = static_cast<std::uint8_t>(bits >> 16);
    return in_words({key != kNoSenseData, key, static_cast<std::uint16_t>(bits)});
  }
};

}  // namespace

Sense parse_sense(Bytes sense) {
  if (sense.size() < 4) return {};
  const std::uint8_t format = load_u8(sense.data()) & 0x7f;
  if (format == 0x72 || format == 0x73) {
    return {true, static_cast<std::uint8_t>(load_u8(&sense[1]) & 0x0f), load_be16(&sense[2])};
  }
  if ((format == 0x70 || format == 0x71) && sense.size() >= 14) {
    return {true, static_cast<std::uint8_t>(load_u8(&sense[2]) & 0x0f), load_be16(&sense[12])};
  }
  return {};
}

std::string in_words(const Sense& sense) {
  if (!sense.valid) return "CHECK CONDITION without sense data";
  std::array<char, 16> numbers{};
  std::snprintf(numbers.data(), numbers.size(), " (%X/%02X/%02X)", sense.key, sense.code >> 8,
                sense.code & 0xff);
  const char* key = scsi_sense_key_str(sense.key);
  const char* code = scsi_sense_ascq_str(sense.code);
  return std::string(key ? key : "unknown sense key") + ": " +
         (code ? code : "unknown additional sense") + numbers.data();
}

const ErrorCategory& scsi_category() {
  static const Category category;
  return category;
}

ErrorCode scsi_error(std::uint8_t status, Bytes sense) {
  if (status == 0) return {};
  const Sense parsed = parse_sense(sense);
  const std::uint32_t key = parsed.valid ? parsed.key : kNoSenseData;
  const std::uint32_t bits = std::uint32_t{status} << 24 | key << 16 | parsed.code;
  return {static_cast<int>(bits), scsi_category()};
}

bool has_sense_key(ErrorCode error, std::uint8_t key) {
  const auto bits = static_cast<std::uint32_t>(error.value());
  return error.category() == scsi_category() && bits >> 24 == kCheckCondition &&
         (bits >> 16 & 0xff) == key;
}

}  // namespace openiser::initiator
