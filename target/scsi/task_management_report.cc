// REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS (SPC-4 section 6.36).
#include <array>

#include "target/scsi/command.h"
#include "target/scsi/handlers.h"

namespace openiser::target {
namespace {

// Byte 0. TARGET RESET and WAKEUP are obsolete, so that the iSCSI target resets have no bit; there
// is no ACA to be cleared.
constexpr std::uint8_t kAbortTask = 0x80;
constexpr std::uint8_t kAbortTaskSet = 0x40;
constexpr std::uint8_t kClearTaskSet = 0x10;
constexpr std::uint8_t kLogicalUnitReset = 0x08;
constexpr std::uint8_t kQueryTask = 0x04;
// Byte 1. No QUERY ASYNCHRONOUS EVENT.
constexpr std::uint8_t kQueryTaskSet = 0x02;
constexpr std::uint8_t kNexusReset = 0x01;

constexpr std::size_t kBasic = 4;
constexpr std::size_t kExtended = 16;

}  // namespace

// With REPD, the timeouts follow: TMFTMOV 0 says that none are given. QUERY TASK, QUERY TASK SET
// and I_T NEXUS RESET are the device server's; a session has to have negotiated RFC 7144 to send
// them.
void report_supported_task_management_functions(Command& command) {
  const Cdb cdb = command.cdb();
  std::array<std::byte, kExtended> data{};
  store_u8(&data[0], kAbortTask | kAbortTaskSet | kClearTaskSet | kLogicalUnitReset | kQueryTask);
  store_u8(&data[1], kQueryTaskSet | kNexusReset);
  const bool extended = cdb.bit(2, 7);
  if (extended) store_u8(&data[3], kExtended - kBasic);
  command.answer(Bytes(data).first(extended ? kExtended : kBasic), cdb.be32(6));
}

}  // namespace openiser::target
