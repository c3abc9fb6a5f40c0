// SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS (SPC-4 sections 6.42 and 6.31): a small self-test,
// and the list of diagnostic pages, which has only itself.
#include <array>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"
#include "target/scsi/parameter_list.h"
#include "target/scsi/unit_health.h"

namespace openiser::target {
namespace {

std::uint8_t self_test_code(const Command& command) {
  return command.cdb().u8(1) >> 5;
}

// The first and the last block can be read and the cache flushed.
class SelfTestJob final : public Job {
 public:
  Step prepare(Command& command, StoreSlot& slot) const override {
    Work& work = command.work();
    const LogicalUnit& unit = *command.unit();
    constexpr std::uint64_t kFlush = 2;
    if (work.position > kFlush) return Step::done;
    if (work.position == kFlush) {
      slot.operation = StoreRequest::Operation::flush;
      slot.offset = slot.length = 0;
    } else {
      slot.operation = StoreRequest::Operation::read;
      slot.buffer = Buffer::allocate(unit.block_size());
      slot.offset = work.position == 0 ? 0 : (unit.blocks() - 1) * unit.block_size();
      slot.length = unit.block_size();
      slot.piece = slot.buffer.bytes();
      slot.pieces = {&slot.piece, 1};
    }
    ++work.position;
    return Step::submit;
  }
  Sense failure(Command& command, const StoreSlot& slot) const override {
    command.unit()->health().add({self_test_code(command), true, Job::failure(command, slot)});
    return {.condition = Condition::self_test_failed};
  }
  void finish(Command& command) const override {
    command.unit()->health().add({self_test_code(command), false, {}});
    command.good();
  }
};
constexpr SelfTestJob kSelfTest;

constexpr std::uint32_t kPageHeader = 4;

// The one page there is to send asks for the list of pages (SPC-4 section 7.2.5).
void page_received(Command& command) {
  const std::uint32_t length = command.cdb().be16(3);
  const auto page = parameter_list(command, length);
  if (!page) return;
  if (length < kPageHeader)
    return command.fail({.condition = Condition::parameter_list_length_error});
  if (load_u8(&(*page)[0]) != 0) return command.fail(invalid_parameter(0));
  if (load_be16(&(*page)[2]) != 0) return command.fail(invalid_parameter(2));
  command.good();
}

}  // namespace

// The short self-tests are the default one; status comes when it is done, also in background mode.
void send_diagnostic(Command& command) {
  const Cdb cdb = command.cdb();
  constexpr std::uint8_t kNone = 0, kBackgroundShort = 1, kForegroundShort = 5;
  const std::uint8_t code = self_test_code(command);
  const bool self_test = cdb.bit(1, 2);
  if (self_test ? code != kNone
                : code != kNone && code != kBackgroundShort && code != kForegroundShort) {
    return command.fail(invalid_cdb(1, 7));
  }
  if (cdb.be16(3) != 0) {
    // PF: pages as the standard has them; a self-test takes none.
    if (!cdb.bit(1, 4)) return command.fail(invalid_cdb(1, 4));
    if (self_test || code != kNone) return command.fail(invalid_cdb(3));
    return receive_parameter_list(command, cdb.be16(3), page_received);
  }
  if (self_test || code != kNone) return command.run(kSelfTest);
  command.good();
}

void receive_diagnostic_results(Command& command) {
  const Cdb cdb = command.cdb();
  // Without PCV it is about what was sent last, which can have been this page alone.
  if (cdb.bit(1, 0) && cdb.u8(2) != 0) return command.fail(invalid_cdb(2));
  std::array<std::byte, 5> page{};
  store_be16(&page[2], 1);
  command.answer(page, cdb.be16(3));
}

}  // namespace openiser::target
