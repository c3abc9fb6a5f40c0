#include "target/scsi/opcode_table.h"

#include <algorithm>

#include "target/scsi/handlers.h"

namespace openiser::target {
namespace {

using namespace access;
using enum ConflictsWith;

// NACA is the one bit of the CONTROL byte that is looked at: it has to be zero.
constexpr std::uint8_t ct = 0x04;
constexpr std::uint8_t ff = 0xff;

// SPC-4 and SBC-3, and WRITE ATOMIC of SBC-4, ascending. What conflicts with reservations: SPC-4
// tables 66 and 67, SBC-3 table 13; SPC-2 table 9 for RESERVE.
// clang-format off
constexpr std::array kRows{
    OpcodeRow{0x00, 0, "TEST UNIT READY", 6, {0x00, 0, 0, 0, 0, ct},
              Direction::none, 0, reserve, test_unit_ready},
    OpcodeRow{0x03, 0, "REQUEST SENSE", 6, {0x03, 0x01, 0, 0, ff, ct},
              Direction::in, any_lun | passes_attention | in_any_state, nothing, request_sense},
    OpcodeRow{0x04, 0, "FORMAT UNIT", 6, {0x04, 0xf0, 0, 0, 0, ct},
              Direction::out, writes | repairs_medium, any_reservation, format_unit},
    OpcodeRow{0x08, 0, "READ(6)", 6, {0x08, 0x1f, ff, ff, ff, ct},
              Direction::in, 0, exclusive_access, read_blocks},
    OpcodeRow{0x0a, 0, "WRITE(6)", 6, {0x0a, 0x1f, ff, ff, ff, ct},
              Direction::out, writes, any_reservation, write_blocks},
    OpcodeRow{0x12, 0, "INQUIRY", 6, {0x12, 0x01, ff, ff, ff, ct},
              Direction::in, any_lun | passes_attention | in_any_state, nothing, inquiry},
    OpcodeRow{0x15, 0, "MODE SELECT(6)", 6, {0x15, 0x11, 0, 0, ff, ct},
              Direction::out, in_standby, any_reservation, mode_select},
    OpcodeRow{0x16, 0, "RESERVE(6)", 6, {0x16, 0x11, 0, 0, 0, ct},
              Direction::none, 0, by_handler, reserve_unit},
    OpcodeRow{0x17, 0, "RELEASE(6)", 6, {0x17, 0x11, 0, 0, 0, ct},
              Direction::none, 0, by_handler, release_unit},
    OpcodeRow{0x1a, 0, "MODE SENSE(6)", 6, {0x1a, 0x08, ff, ff, ff, ct},
              Direction::in, in_standby, exclusive_access, mode_sense},
    OpcodeRow{0x1b, 0, "START STOP UNIT", 6, {0x1b, 0x01, 0, 0, 0xf7, ct},
              Direction::none, 0, by_handler, start_stop_unit},
    OpcodeRow{0x1c, 0, "RECEIVE DIAGNOSTIC RESULTS", 6, {0x1c, 0x01, ff, ff, ff, ct},
              Direction::in, in_standby, exclusive_access, receive_diagnostic_results},
    OpcodeRow{0x1d, 0, "SEND DIAGNOSTIC", 6, {0x1d, 0xf4, 0, ff, ff, ct},
              Direction::out, in_standby, exclusive_access, send_diagnostic},
    OpcodeRow{0x25, 0, "READ CAPACITY(10)", 10, {0x25, 0, ff, ff, ff, ff, 0, 0, 0x01, ct},
              Direction::in, 0, reserve, read_capacity_10},
    OpcodeRow{0x28, 0, "READ(10)", 10, {0x28, 0x18, ff, ff, ff, ff, 0, ff, ff, ct},
              Direction::in, 0, exclusive_access, read_blocks},
    OpcodeRow{0x2a, 0, "WRITE(10)", 10, {0x2a, 0x18, ff, ff, ff, ff, 0, ff, ff, ct},
              Direction::out, writes, any_reservation, write_blocks},
    OpcodeRow{0x2e, 0, "WRITE AND VERIFY(10)", 10,
              {0x2e, 0x16, ff, ff, ff, ff, 0, ff, ff, ct},
              Direction::out, writes, any_reservation, write_and_verify},
    OpcodeRow{0x2f, 0, "VERIFY(10)", 10, {0x2f, 0x16, ff, ff, ff, ff, 0, ff, ff, ct},
              Direction::out, 0, exclusive_access, verify},
    OpcodeRow{0x34, 0, "PRE-FETCH(10)", 10, {0x34, 0x02, ff, ff, ff, ff, 0, ff, ff, ct},
              Direction::none, 0, exclusive_access, prefetch},
    OpcodeRow{0x35, 0, "SYNCHRONIZE CACHE(10)", 10, {0x35, 0x02, ff, ff, ff, ff, 0, ff, ff, ct},
              Direction::none, 0, any_reservation, synchronize_cache},
    OpcodeRow{0x37, 0, "READ DEFECT DATA(10)", 10, {0x37, 0, 0x1f, 0, 0, 0, 0, ff, ff, ct},
              Direction::in, 0, exclusive_access, read_defect_data},
    OpcodeRow{0x41, 0, "WRITE SAME(10)", 10, {0x41, 0x18, ff, ff, ff, ff, 0, ff, ff, ct},
              Direction::out, writes, any_reservation, write_same},
    OpcodeRow{0x42, 0, "UNMAP", 10, {0x42, 0x01, 0, 0, 0, 0, 0, ff, ff, ct},
              Direction::out, writes | needs_discard, any_reservation, unmap},
    OpcodeRow{0x48, 0x01, "SANITIZE OVERWRITE", 10, {0x48, 0xa1, 0, 0, 0, 0, 0, ff, ff, ct},
              Direction::out, writes | has_service_action | repairs_medium, any_reservation,
              sanitize_overwrite},
    OpcodeRow{0x48, 0x02, "SANITIZE BLOCK ERASE", 10, {0x48, 0xa2, 0, 0, 0, 0, 0, ff, ff, ct},
              Direction::none, writes | needs_discard | has_service_action | repairs_medium,
              any_reservation, sanitize_block_erase},
    OpcodeRow{0x48, 0x1f, "SANITIZE EXIT FAILURE MODE", 10,
              {0x48, 0xbf, 0, 0, 0, 0, 0, ff, ff, ct},
              Direction::none, writes | has_service_action | repairs_medium, any_reservation,
              sanitize_exit_failure_mode},
    OpcodeRow{0x4c, 0, "LOG SELECT", 10, {0x4c, 0x03, 0, 0, 0, 0, 0, ff, ff, ct},
              Direction::out, in_standby, any_reservation, log_select},
    OpcodeRow{0x4d, 0, "LOG SENSE", 10, {0x4d, 0x01, ff, ff, 0, ff, ff, ff, ff, ct},
              Direction::in, in_standby, exclusive_access, log_sense},
    OpcodeRow{0x55, 0, "MODE SELECT(10)", 10, {0x55, 0x11, 0, 0, 0, 0, 0, ff, ff, ct},
              Direction::out, in_standby, any_reservation, mode_select},
    OpcodeRow{0x56, 0, "RESERVE(10)", 10, {0x56, 0x13, 0, 0, 0, 0, 0, 0, 0, ct},
              Direction::none, 0, by_handler, reserve_unit},
    OpcodeRow{0x57, 0, "RELEASE(10)", 10, {0x57, 0x13, 0, 0, 0, 0, 0, 0, 0, ct},
              Direction::none, 0, by_handler, release_unit},
    OpcodeRow{0x5a, 0, "MODE SENSE(10)", 10, {0x5a, 0x18, ff, ff, 0, 0, 0, ff, ff, ct},
              Direction::in, in_standby, exclusive_access, mode_sense},
    OpcodeRow{0x5e, 0x00, "PERSISTENT RESERVE IN, READ KEYS", 10,
              {0x5e, 0x00, 0, 0, 0, 0, 0, ff, ff, ct},
              Direction::in, in_standby | has_service_action, reserve_of_anyone, read_keys},
    OpcodeRow{0x5e, 0x01, "PERSISTENT RESERVE IN, READ RESERVATION", 10,
              {0x5e, 0x01, 0, 0, 0, 0, 0, ff, ff, ct},
              Direction::in, in_standby | has_service_action, reserve_of_anyone, read_reservation},
    OpcodeRow{0x5e, 0x02, "PERSISTENT RESERVE IN, REPORT CAPABILITIES", 10,
              {0x5e, 0x02, 0, 0, 0, 0, 0, ff, ff, ct},
              Direction::in, in_standby | has_service_action, reserve_of_anyone, report_capabilities},
    OpcodeRow{0x5e, 0x03, "PERSISTENT RESERVE IN, READ FULL STATUS", 10,
              {0x5e, 0x03, 0, 0, 0, 0, 0, ff, ff, ct},
              Direction::in, in_standby | has_service_action, reserve_of_anyone, read_full_status},
    OpcodeRow{0x5f, 0x00, "PERSISTENT RESERVE OUT, REGISTER", 10,
              {0x5f, 0x00, 0, 0, 0, ff, ff, ff, ff, ct},
              Direction::out, in_standby | has_service_action, reserve_of_anyone, persistent_reserve_out},
    OpcodeRow{0x5f, 0x01, "PERSISTENT RESERVE OUT, RESERVE", 10,
              {0x5f, 0x01, ff, 0, 0, ff, ff, ff, ff, ct},
              Direction::out, in_standby | has_service_action, reserve_of_anyone, persistent_reserve_out},
    OpcodeRow{0x5f, 0x02, "PERSISTENT RESERVE OUT, RELEASE", 10,
              {0x5f, 0x02, ff, 0, 0, ff, ff, ff, ff, ct},
              Direction::out, in_standby | has_service_action, reserve_of_anyone, persistent_reserve_out},
    OpcodeRow{0x5f, 0x03, "PERSISTENT RESERVE OUT, CLEAR", 10,
              {0x5f, 0x03, 0, 0, 0, ff, ff, ff, ff, ct},
              Direction::out, in_standby | has_service_action, reserve_of_anyone, persistent_reserve_out},
    OpcodeRow{0x5f, 0x04, "PERSISTENT RESERVE OUT, PREEMPT", 10,
              {0x5f, 0x04, ff, 0, 0, ff, ff, ff, ff, ct},
              Direction::out, in_standby | has_service_action, reserve_of_anyone, persistent_reserve_out},
    OpcodeRow{0x5f, 0x05, "PERSISTENT RESERVE OUT, PREEMPT AND ABORT", 10,
              {0x5f, 0x05, ff, 0, 0, ff, ff, ff, ff, ct},
              Direction::out, in_standby | has_service_action, reserve_of_anyone, persistent_reserve_out},
    OpcodeRow{0x5f, 0x06, "PERSISTENT RESERVE OUT, REGISTER AND IGNORE EXISTING KEY", 10,
              {0x5f, 0x06, 0, 0, 0, ff, ff, ff, ff, ct},
              Direction::out, in_standby | has_service_action, reserve_of_anyone, persistent_reserve_out},
    OpcodeRow{0x5f, 0x07, "PERSISTENT RESERVE OUT, REGISTER AND MOVE", 10,
              {0x5f, 0x07, 0, 0, 0, ff, ff, ff, ff, ct},
              Direction::out, in_standby | has_service_action, reserve_of_anyone, persistent_reserve_out},
    OpcodeRow{0x83, 0x00, "EXTENDED COPY(LID1)", 16,
              {0x83, 0, 0, 0, 0, 0, 0, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::out, has_service_action, any_reservation, extended_copy},
    OpcodeRow{0x84, 0x00, "RECEIVE COPY STATUS(LID1)", 16,
              {0x84, 0x00, ff, 0, 0, 0, 0, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::in, has_service_action, any_reservation, copy_status},
    OpcodeRow{0x84, 0x03, "RECEIVE COPY OPERATING PARAMETERS", 16,
              {0x84, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::in, has_service_action, any_reservation, copy_operating_parameters},
    OpcodeRow{0x84, 0x04, "RECEIVE COPY FAILURE DETAILS(LID1)", 16,
              {0x84, 0x04, ff, 0, 0, 0, 0, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::in, has_service_action, any_reservation, copy_failed_segment_details},
    OpcodeRow{0x88, 0, "READ(16)", 16,
              {0x88, 0x18, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::in, 0, exclusive_access, read_blocks},
    OpcodeRow{0x89, 0, "COMPARE AND WRITE", 16,
              {0x89, 0x18, ff, ff, ff, ff, ff, ff, ff, ff, 0, 0, 0, ff, 0, ct},
              Direction::out, writes, any_reservation, compare_and_write},
    OpcodeRow{0x8a, 0, "WRITE(16)", 16,
              {0x8a, 0x18, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::out, writes, any_reservation, write_blocks},
    OpcodeRow{0x8b, 0, "ORWRITE(16)", 16,
              {0x8b, 0x18, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::out, writes, any_reservation, orwrite},
    OpcodeRow{0x8e, 0, "WRITE AND VERIFY(16)", 16,
              {0x8e, 0x16, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::out, writes, any_reservation, write_and_verify},
    OpcodeRow{0x8f, 0, "VERIFY(16)", 16,
              {0x8f, 0x16, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::out, 0, exclusive_access, verify},
    OpcodeRow{0x90, 0, "PRE-FETCH(16)", 16,
              {0x90, 0x02, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::none, 0, exclusive_access, prefetch},
    OpcodeRow{0x91, 0, "SYNCHRONIZE CACHE(16)", 16,
              {0x91, 0x02, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::none, 0, any_reservation, synchronize_cache},
    OpcodeRow{0x93, 0, "WRITE SAME(16)", 16,
              {0x93, 0x19, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::out, writes, any_reservation, write_same},
    OpcodeRow{0x9c, 0, "WRITE ATOMIC(16)", 16,
              {0x9c, 0x18, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::out, writes | needs_atomicity, any_reservation, write_atomic},
    OpcodeRow{0x9e, 0x10, "READ CAPACITY(16)", 16,
              {0x9e, 0x10, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0x01, ct},
              Direction::in, has_service_action, reserve, read_capacity_16},
    OpcodeRow{0x9e, 0x12, "GET LBA STATUS", 16,
              {0x9e, 0x12, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::in, has_service_action, exclusive_access, get_lba_status},
    OpcodeRow{0xa0, 0, "REPORT LUNS", 12, {0xa0, 0, ff, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::in, any_lun | passes_attention | in_any_state, nothing, report_luns},
    OpcodeRow{0xa3, 0x05, "REPORT IDENTIFYING INFORMATION", 12,
              {0xa3, 0x05, 0, 0, 0, 0, ff, ff, ff, ff, 0xfe, ct},
              Direction::in, has_service_action, nothing, report_identifying_information},
    OpcodeRow{0xa3, 0x0a, "REPORT TARGET PORT GROUPS", 12,
              {0xa3, 0xea, 0, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::in, has_service_action | in_any_state, nothing, report_target_port_groups},
    OpcodeRow{0xa3, 0x0c, "REPORT SUPPORTED OPERATION CODES", 12,
              {0xa3, 0x0c, 0x87, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::in, has_service_action | in_standby, exclusive_access, report_supported_operation_codes},
    OpcodeRow{0xa3, 0x0d, "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS", 12,
              {0xa3, 0x0d, 0x80, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::in, has_service_action | in_standby, exclusive_access, report_supported_task_management_functions},
    OpcodeRow{0xa3, 0x0f, "REPORT TIMESTAMP", 12,
              {0xa3, 0x0f, 0, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::in, has_service_action, reserve, report_timestamp},
    OpcodeRow{0xa4, 0x06, "SET IDENTIFYING INFORMATION", 12,
              {0xa4, 0x06, 0, 0, 0, 0, ff, ff, ff, ff, 0xfe, ct},
              Direction::out, has_service_action, any_reservation, set_identifying_information},
    OpcodeRow{0xa4, 0x0a, "SET TARGET PORT GROUPS", 12,
              {0xa4, 0x0a, 0, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::out, has_service_action | in_standby | in_unavailable, any_reservation,
              set_target_port_groups},
    OpcodeRow{0xa4, 0x0f, "SET TIMESTAMP", 12,
              {0xa4, 0x0f, 0, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::out, has_service_action, any_reservation, set_timestamp},
    OpcodeRow{0xa8, 0, "READ(12)", 12, {0xa8, 0x18, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::in, 0, exclusive_access, read_blocks},
    OpcodeRow{0xaa, 0, "WRITE(12)", 12, {0xaa, 0x18, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::out, writes, any_reservation, write_blocks},
    OpcodeRow{0xae, 0, "WRITE AND VERIFY(12)", 12,
              {0xae, 0x16, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::out, writes, any_reservation, write_and_verify},
    OpcodeRow{0xaf, 0, "VERIFY(12)", 12, {0xaf, 0x16, ff, ff, ff, ff, ff, ff, ff, ff, 0, ct},
              Direction::out, 0, exclusive_access, verify},
    OpcodeRow{0xb7, 0, "READ DEFECT DATA(12)", 12,
              {0xb7, 0x1f, 0, 0, 0, 0, ff, ff, ff, ff, 0, ct},
              Direction::in, 0, exclusive_access, read_defect_data},
};
// clang-format on

// The row of each opcode, plus one; 0 where there is none. An opcode with service actions has the
// first of its rows here.
constexpr std::array<std::uint8_t, 256> index_of_rows() {
  std::array<std::uint8_t, 256> index{};
  for (std::size_t i = kRows.size(); i-- > 0;) {
    index[kRows[i].opcode] = static_cast<std::uint8_t>(i + 1);
  }
  return index;
}
constexpr std::array<std::uint8_t, 256> kIndex = index_of_rows();

}  // namespace

std::span<const OpcodeRow> opcode_rows() {
  return kRows;
}

bool opcode_has_service_actions(std::uint8_t opcode) {
  const std::size_t first = kIndex[opcode];
  return first != 0 && (kRows[first - 1].access & has_service_action) != 0;
}

OpcodeMatch find_opcode(std::uint8_t opcode, std::uint8_t service_action) {
  const std::size_t first = kIndex[opcode];
  if (first == 0) return {};
  for (std::size_t i = first - 1; i < kRows.size() && kRows[i].opcode == opcode; ++i) {
    const OpcodeRow& row = kRows[i];
    if ((row.access & has_service_action) == 0 || row.service_action == service_action) {
      return {&row, false};
    }
  }
  return {nullptr, true};
}

}  // namespace openiser::target
