// The handlers that the opcode table names, by the file that defines them.
#pragma once

namespace openiser::target {

class Command;

// inquiry.cc, vpd.cc
void inquiry(Command& command);
// inventory.cc
void report_luns(Command& command);
void test_unit_ready(Command& command);
void request_sense(Command& command);
void start_stop_unit(Command& command);
// capacity.cc
void read_capacity_10(Command& command);
void read_capacity_16(Command& command);
// lba_status.cc
void get_lba_status(Command& command);
// mode.cc
void mode_sense(Command& command);
// mode_select.cc
void mode_select(Command& command);
// block_io.cc
void read_blocks(Command& command);
void write_blocks(Command& command);
void synchronize_cache(Command& command);
// verify.cc
void verify(Command& command);
void write_and_verify(Command& command);
// atomic_write.cc
void write_atomic(Command& command);
// orwrite.cc
void orwrite(Command& command);
// prefetch.cc
void prefetch(Command& command);
// sanitize.cc
void sanitize_overwrite(Command& command);
void sanitize_block_erase(Command& command);
void sanitize_exit_failure_mode(Command& command);
// format_unit.cc
void format_unit(Command& command);
// log_pages.cc
void log_sense(Command& command);
void log_select(Command& command);
// diagnostic.cc
void send_diagnostic(Command& command);
void receive_diagnostic_results(Command& command);
// defects.cc
void read_defect_data(Command& command);
// compare_and_write.cc
void compare_and_write(Command& command);
// unmap.cc
void unmap(Command& command);
// write_same.cc
void write_same(Command& command);
// reservations/reserve.cc
void reserve_unit(Command& command);
void release_unit(Command& command);
// reservations/prin.cc
void read_keys(Command& command);
void read_reservation(Command& command);
void report_capabilities(Command& command);
void read_full_status(Command& command);
// reservations/prout.cc, every service action
void persistent_reserve_out(Command& command);
// rsoc.cc
void report_supported_operation_codes(Command& command);
// task_management_report.cc
void report_supported_task_management_functions(Command& command);
// identifying_information.cc
void report_identifying_information(Command& command);
void set_identifying_information(Command& command);
// target_port_groups.cc
void report_target_port_groups(Command& command);
void set_target_port_groups(Command& command);
// copy/extended_copy.cc
void extended_copy(Command& command);
// copy/copy_results.cc
void copy_status(Command& command);
void copy_operating_parameters(Command& command);
void copy_failed_segment_details(Command& command);
// timestamp.cc
void report_timestamp(Command& command);
void set_timestamp(Command& command);

}  // namespace openiser::target
