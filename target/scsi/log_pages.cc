// LOG SENSE and LOG SELECT (SPC-4 sections 6.8, 6.9 and 7.3, SBC-3 section 6.4): what there is to
// tell. Nothing is saved and thresholds are not kept; LOG SELECT resets counters.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"
#include "target/scsi/unit_health.h"

namespace openiser::target {
namespace {

constexpr std::uint8_t kSupportedPages = 0x00;
constexpr std::uint8_t kProvisioning = 0x0c;
constexpr std::uint8_t kAllSubpages = 0xff;

// SPC-4 section 7.3.2.2.2: TSD (nothing is saved) with a bounded counter, or a binary list.
constexpr std::uint8_t kCounter = 0x20;
constexpr std::uint8_t kList = 0x23;

using Parameters = std::vector<std::byte>;

// `value` follows the four bytes of a log parameter's header.
void append(Parameters& all, std::uint16_t code, std::uint8_t control, Bytes value) {
  std::array<std::byte, 4> header;
  store_be16(&header[0], code);
  store_u8(&header[2], control);
  store_u8(&header[3], static_cast<std::uint8_t>(value.size()));
  all.insert(all.end(), header.begin(), header.end());
  all.insert(all.end(), value.begin(), value.end());
}

// SPC-4 section 7.3.6: the one counter that is kept, total uncorrected errors.
void append_errors(Parameters& all, std::uint32_t errors) {
  constexpr std::uint16_t kTotalUncorrected = 0x0006;
  std::array<std::byte, 4> value;
  store_be32(value.data(), errors);
  append(all, kTotalUncorrected, kCounter, value);
}

void write_errors(Parameters& all, Command& command) {
  append_errors(all, command.unit()->health().write_errors());
}

void read_errors(Parameters& all, Command& command) {
  append_errors(all, command.unit()->health().read_errors());
}

// SBC-3 section 6.4.5. Counted in threshold sets, of which the unit has 2^32 at most.
void provisioning(Parameters& all, Command& command) {
  const LogicalUnit& unit = *command.unit();
  const std::uint64_t set = std::uint64_t{unit.block_size()} << unit.threshold_exponent();
  const auto append_count = [&](std::uint16_t code, std::uint64_t bytes, std::uint8_t scope) {
    std::array<std::byte, 8> value{};
    store_be32(&value[0],
               static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes / set, UINT32_MAX)));
    store_u8(&value[4], scope);
    append(all, code, kList, value);
  };
  constexpr std::uint8_t kOfThisUnit = 1;
  constexpr std::uint8_t kShared = 2;
  append_count(1, command.work().space.available, kShared);
  append_count(2, command.work().space.used + set - 1, kOfThisUnit);
}

// SPC-4 section 7.3.15: twenty results, the latest first; those that are not there are zero.
void self_test_results(Parameters& all, Command& command) {
  const auto results = command.unit()->health().self_tests();
  for (std::uint16_t i = 0; i < UnitHealth::kSelfTests; ++i) {
    std::array<std::byte, 16> value{};
    if (i < results.size()) {
      const SelfTest& test = results[i];
      store_u8(&value[0], static_cast<std::uint8_t>(test.code << 5 | (test.failed ? 0x04 : 0)));
      if (test.failed) {
        const ConditionRow& row = row_of(test.sense.condition);
        store_be64(&value[4], test.sense.information.value_or(UINT64_MAX));
        store_u8(&value[12], row.key);
        store_u8(&value[13], row.asc);
        store_u8(&value[14], row.ascq);
      }
    }
    append(all, static_cast<std::uint16_t>(i + 1), kList, value);
  }
}

// SPC-4 section 7.3.8. There is no thermometer.
void informational_exceptions(Parameters& all, Command& command) {
  constexpr std::uint8_t kNoTemperature = 0xff;
  std::array<std::byte, 4> value{};
  if (const auto exception = command.unit()->exception()) {
    store_u8(&value[0], row_of(*exception).asc);
    store_u8(&value[1], row_of(*exception).ascq);
  }
  store_u8(&value[2], kNoTemperature);
  append(all, 0, kList, value);
}

bool always(const LogicalUnit&) {
  return true;
}

bool tells_space(const LogicalUnit& unit) {
  return unit.tells_space();
}

struct LogPage {
  std::uint8_t code;
  void (*append)(Parameters&, Command&);  // null: the list of pages
  bool (*exists)(const LogicalUnit&);
};
constexpr std::array kPages{
    LogPage{kSupportedPages, nullptr, always}, LogPage{0x02, write_errors, always},
    LogPage{0x03, read_errors, always},        LogPage{kProvisioning, provisioning, tells_space},
    LogPage{0x10, self_test_results, always},  LogPage{0x2f, informational_exceptions, always},
};

void answer_page(Command& command, std::uint8_t code, std::uint8_t subpage, Bytes body) {
  std::vector<std::byte> page(4);
  store_u8(&page[0], static_cast<std::uint8_t>(code | (subpage != 0 ? 0x40 : 0)));  // SPF
  store_u8(&page[1], subpage);
  store_be16(&page[2], static_cast<std::uint16_t>(body.size()));
  page.insert(page.end(), body.begin(), body.end());
  command.answer(page, command.cdb().be16(7));
}

// SPC-4 sections 7.3.16 and 7.3.17: codes alone, or with their subpages.
void answer_supported_pages(Command& command, std::uint8_t subpage) {
  std::vector<std::byte> list;
  for (const LogPage& page : kPages) {
    if (!page.exists(*command.unit())) continue;
    list.push_back(std::byte{page.code});
    if (subpage == 0) continue;
    list.push_back(std::byte{0});
    if (page.code != kSupportedPages) continue;
    list.push_back(std::byte{page.code});
    list.push_back(std::byte{kAllSubpages});
  }
  answer_page(command, kSupportedPages, subpage, list);
}

// The parameters from PARAMETER POINTER on.
void answer_parameters(Command& command, const LogPage& page) {
  Parameters all;
  page.append(all, command);
  const std::uint16_t first = command.cdb().be16(5);
  std::size_t at = 0;
  while (at < all.size() && load_be16(&all[at]) < first) at += 4U + load_u8(&all[at + 3]);
  if (at == all.size()) return command.fail(invalid_cdb(5));
  answer_page(command, page.code, 0, Bytes(all).subspan(at));
}

const LogPage* find_page(std::uint8_t code, const LogicalUnit& unit) {
  const auto found = std::ranges::find(kPages, code, &LogPage::code);
  return found != kPages.end() && found->exists(unit) ? &*found : nullptr;
}

class ProvisioningJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    return prepare_space_question(command, slot);
  }
  void consume(Command& command, StoreSlot& slot) const override {
    command.work().space = slot.space;
  }
  void finish(Command& command) const override {
    answer_parameters(command, *find_page(kProvisioning, *command.unit()));
  }
};
constexpr ProvisioningJob kProvisioningJob;

}  // namespace

void log_sense(Command& command) {
  const Cdb cdb = command.cdb();
  if (cdb.bit(1, 0)) return command.fail(invalid_cdb(1, 0));  // SP
  const std::uint8_t code = cdb.u8(2) & 0x3f;
  const std::uint8_t subpage = cdb.u8(3);
  const LogPage* page = find_page(code, *command.unit());
  if (!page) return command.fail(invalid_cdb(2, 5));
  const bool list = code == kSupportedPages;
  if (subpage != 0 && !(list && subpage == kAllSubpages)) return command.fail(invalid_cdb(3));
  if (list) return answer_supported_pages(command, subpage);
  constexpr unsigned kCumulative = 1;
  if (cdb.u8(2) >> 6 != kCumulative) return command.fail(invalid_cdb(2, 7));  // PC
  if (code == kProvisioning) return command.run(kProvisioningJob);
  answer_parameters(command, *page);
}

// SPC-4 section 6.8: only PCR, which sets all counters to zero.
void log_select(Command& command) {
  const Cdb cdb = command.cdb();
  if (cdb.bit(1, 0)) return command.fail(invalid_cdb(1, 0));     // SP
  if (cdb.be16(7) != 0) return command.fail(invalid_cdb(7));     // no parameters are taken
  if (cdb.bit(1, 1)) command.unit()->health().reset_counters();  // PCR
  command.good();
}

}  // namespace openiser::target
