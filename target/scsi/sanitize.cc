// SANITIZE (SBC-3 section 5.24). There is no cryptographic erase: nothing here is encrypted.
#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"
#include "target/scsi/medium_commands.h"
#include "target/scsi/parameter_list.h"

namespace openiser::target {
namespace {

constexpr std::uint16_t kOverwriteHeader = 4;

MediumWork sanitize_work(const Command& command, std::vector<MediumPass> passes) {
  const bool ause = command.cdb().bit(1, 5);  // allow unrestricted sanitize exit
  return {.working = Medium::State::sanitizing,
          .failed = ause ? Medium::State::sanitize_failed : Medium::State::sanitize_failed_for_good,
          .passes = std::move(passes),
          .immediate = command.cdb().bit(1, 7)};
}

// A block of the pattern, over and over, cut where the block ends.
std::vector<std::byte> block_of(Bytes pattern, std::size_t size) {
  std::vector<std::byte> block(size);
  for (std::size_t i = 0; i < size; ++i) block[i] = pattern[i % pattern.size()];
  return block;
}

std::vector<MediumPass> overwrite_passes(std::vector<std::byte> block, unsigned count,
                                         bool invert) {
  std::vector<MediumPass> passes;
  for (unsigned i = 0; i < count; ++i) {
    passes.push_back({StoreRequest::Operation::write, block});
    if (!invert) continue;
    for (std::byte& byte : block) byte = ~byte;
  }
  return passes;
}

// SBC-3 table 95
void overwrite_received(Command& command) {
  const std::uint16_t length = command.cdb().be16(7);
  const auto list = parameter_list(command, length);
  if (!list) return;
  const std::uint8_t first = load_u8(&(*list)[0]);
  const unsigned count = first & 0x1f;
  if ((first & 0x60) != 0 || count == 0) return command.fail(invalid_parameter(0));  // TEST, COUNT
  const std::size_t pattern = load_be16(&(*list)[2]);
  const std::size_t block = command.unit()->block_size();
  if (pattern == 0 || pattern > block) return command.fail(invalid_parameter(2));
  if (kOverwriteHeader + pattern > length) {
    return command.fail({.condition = Condition::parameter_list_length_error});
  }
  const Bytes bytes = Bytes(*list).subspan(kOverwriteHeader, pattern);
  work_on_medium(command, sanitize_work(command, overwrite_passes(block_of(bytes, block), count,
                                                                  (first & 0x80) != 0)));
}

// What destroys everything had better be meant: here reserved fields have to be zero. False: the
// command has failed.
bool is_clear(Command& command) {
  const Cdb cdb = command.cdb();
  if (cdb.bit(1, 6)) {
    command.fail(invalid_cdb(1, 6));
    return false;
  }
  for (std::uint16_t at = 2; at < 7; ++at) {
    if (cdb.u8(at) == 0) continue;
    command.fail(invalid_cdb(at));
    return false;
  }
  return true;
}

// The other service actions have no parameter list.
bool has_no_list(Command& command) {
  if (!is_clear(command)) return false;
  if (command.cdb().be16(7) == 0) return true;
  command.fail(invalid_cdb(7));
  return false;
}

}  // namespace

void sanitize_overwrite(Command& command) {
  if (!is_clear(command)) return;
  const std::uint16_t length = command.cdb().be16(7);
  if (length <= kOverwriteHeader || length > kOverwriteHeader + command.unit()->block_size()) {
    return command.fail(invalid_cdb(7));
  }
  receive_parameter_list(command, length, overwrite_received);
}

void sanitize_block_erase(Command& command) {
  if (!has_no_list(command)) return;
  work_on_medium(command, sanitize_work(command, {{StoreRequest::Operation::discard, {}}}));
}

void sanitize_exit_failure_mode(Command& command) {
  if (!has_no_list(command)) return;
  if (!command.unit()->medium().leave_failure()) return command.fail(invalid_cdb(1, 4));
  command.good();
}

}  // namespace openiser::target
