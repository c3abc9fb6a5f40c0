// MODE SELECT (SPC-4 sections 6.11 and 6.12). A parameter list is looked at as a whole before any
// of it counts. Nothing is saved: what has been changed is as before after a reset.
#include <algorithm>
#include <optional>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"
#include "target/scsi/mode_pages.h"
#include "target/scsi/nexus_state.h"

namespace openiser::target {
namespace {

constexpr Sense kTooShort{.condition = Condition::parameter_list_length_error};

// A mode parameter list: header, block descriptor, pages (SPC-4 section 7.5.4 and following). Each
// read_...() gives what is wrong, if anything.
class ParameterList {
 public:
  ParameterList(Bytes list, bool six, const LogicalUnit& unit)
      : list_(list), six_(six), unit_(unit) {}

  std::optional<Sense> read() {
    if (const auto wrong = read_header()) return wrong;
    if (const auto wrong = read_block_descriptor()) return wrong;
    while (at_ < list_.size()) {
      if (const auto wrong = read_page()) return wrong;
    }
    return {};
  }
  const ModeChange& change() const { return change_; }

 private:
  bool has(std::size_t size) const { return list_.size() - at_ >= size; }

  // MODE DATA LENGTH and the DEVICE-SPECIFIC PARAMETER are reserved here.
  std::optional<Sense> read_header() {
    const std::size_t size = six_ ? 4 : 8;
    if (!has(size)) return kTooShort;
    const std::size_t medium_type = six_ ? 1 : 2;
    if (load_u8(&list_[medium_type]) != 0) return invalid_parameter(medium_type);
    long_lba_ = !six_ && (load_u8(&list_[4]) & 1) != 0;
    descriptor_length_ = six_ ? load_u8(&list_[3]) : load_be16(&list_[6]);
    if (descriptor_length_ != 0 && descriptor_length_ != (long_lba_ ? 16U : 8U)) {
      return invalid_parameter(six_ ? 3 : 6);
    }
    at_ = size;
    return {};
  }

  // The number of blocks may be given as it is, as 0 (as it is), or all ones (as many as there
  // can be); the block length only as it is.
  std::optional<Sense> read_block_descriptor() {
    if (descriptor_length_ == 0) return {};
    if (!has(descriptor_length_)) return kTooShort;
    const std::uint64_t all = long_lba_ ? UINT64_MAX : UINT32_MAX;
    const std::uint64_t blocks = long_lba_ ? load_be64(&list_[at_]) : load_be32(&list_[at_]);
    if (blocks != 0 && blocks != all && blocks != unit_.blocks()) return invalid_parameter(at_);
    const std::size_t length = at_ + (long_lba_ ? 12 : 5);
    const std::uint32_t given = long_lba_ ? load_be32(&list_[length]) : load_be24(&list_[length]);
    if (given != unit_.block_size()) return invalid_parameter(length);
    at_ += descriptor_length_;
    return {};
  }

  std::optional<Sense> read_page() {
    if (!has(2)) return kTooShort;
    const std::uint8_t code = load_u8(&list_[at_]) & 0x3f;
    const bool is_subpage = (load_u8(&list_[at_]) & 0x40) != 0;  // SPF: there are none here
    if (is_subpage && !has(4)) return kTooShort;
    const auto pages = mode_pages();
    const auto page = std::ranges::find(pages, code, &ModePage::code);
    if (page == pages.end() || is_subpage) return invalid_parameter(at_, 5);
    const std::size_t length = 2U + load_u8(&list_[at_ + 1]);
    if (length != page->size) return invalid_parameter(at_ + 1);
    if (!has(length)) return kTooShort;
    if (const auto place = read_mode_page(list_.subspan(at_, length), *page, unit_, change_)) {
      return invalid_parameter(at_ + place->byte, place->bit);
    }
    at_ += length;
    return {};
  }

  const Bytes list_;
  const bool six_;
  const LogicalUnit& unit_;
  std::size_t at_ = 0;
  bool long_lba_ = false;
  std::size_t descriptor_length_ = 0;
  ModeChange change_;
};

bool is_six(const Command& command) {
  return command.cdb().opcode() == 0x15;
}

std::uint16_t list_length(const Command& command) {
  return is_six(command) ? command.cdb().u8(4) : command.cdb().be16(7);
}

// What the others are told, and what a test of informational exceptions (SPC-4 section 7.5.11) that
// begins with this tells everybody.
void tell(Command& command, std::uint32_t now, std::uint32_t changed) {
  LogicalUnit& unit = *command.unit();
  unit.raise_on_others(command.nexus(), Condition::mode_parameters_changed);
  const std::uint32_t method = now & unit_flag::exceptions_method;
  if ((changed & now & unit_flag::exceptions_test) != 0 && method == exceptions_by_attention) {
    unit.raise(Condition::exception_test);
  }
}

// What is in the cache goes to the medium before writes go there directly, or not at all any more.
void mode_select_received(Command& command) {
  std::vector<std::byte> list = command.gather_data();
  list.resize(std::min<std::size_t>(list.size(), list_length(command)));
  ParameterList parameters(list, is_six(command), *command.unit());
  if (const auto wrong = parameters.read()) return command.fail(*wrong);
  const ModeChange& change = parameters.change();
  const std::uint32_t changed = command.unit()->change_flags(change.mask, change.flags);
  const std::uint32_t now = command.unit()->flags();
  if (changed == 0) return command.good(command.work().transfer_length);
  tell(command, now, changed);
  const bool cache_ends = (changed & ~now & unit_flag::write_cache) != 0;
  const bool writing_ends = (changed & now & unit_flag::software_write_protect) != 0;
  if (cache_ends || writing_ends) return command.run(flush_job());
  command.good(command.work().transfer_length);
}

}  // namespace

void mode_select(Command& command) {
  const Cdb cdb = command.cdb();
  if (cdb.bit(1, 0)) return command.fail(invalid_cdb(1, 0));  // SP
  const std::uint16_t length = list_length(command);
  if (length == 0) return command.good();
  if (!cdb.bit(1, 4)) return command.fail(invalid_cdb(1, 4));  // PF: nothing vendor-specific here
  command.work().transfer_length = length;
  command.receive(length, mode_select_received);
}

}  // namespace openiser::target
