// Every way in which RDMAP, DDP or MPA can fail, with the Terminate message that reports it: one
// table, in errors.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace openiser::rdmap {

enum class errc {
  // Of ours, never on the wire.
  flushed = 1,         // the connection ended before this work was done
  truncated,           // fewer bytes than the structure has
  too_many_regions,    // the STag table is full
  not_connected,       // work posted on a connection that has ended
  transport_closed,    // the byte stream ended where a message was due (RFC 5044 section 8, code 1)
  terminated_by_peer,  // a Terminate whose code we do not know
  start_up_timeout,    // the peer's MPA Request or Reply did not come in time
  rejected,            // MPA Reply with R=1 (RFC 5044 section 7.1.1)
  send_too_long,       // a Send beyond max_send

  // Of RDMA devices.
  verbs_not_built,       // a build without rdma-core
  verbs_module_missing,  // the kernel's side of rdma-core is not loaded
  verbs_no_device,       // no device carries the address, or none reaches it
  verbs_no_permission,   // /dev/infiniband may not be opened
  verbs_locked_memory,   // no more memory may be registered
  queue_pair_failed,     // the device ended the queue pair
  device_removed,        // and is gone

  // MPA (Terminate layer 2): RFC 5044 section 8, RFC 6581 section 8.
  mpa_crc,
  mpa_marker,
  mpa_bad_frame,
  mpa_local_catastrophic,
  mpa_insufficient_ird,
  mpa_no_rtr_match,

  // DDP (layer 1): RFC 5041 section 7.2.
  ddp_local_catastrophic,
  ddp_tagged_invalid_stag,
  ddp_tagged_bounds,
  ddp_tagged_stag_not_associated,
  ddp_tagged_wrap,
  ddp_tagged_version,
  ddp_untagged_queue,
  ddp_untagged_no_buffer,
  ddp_untagged_msn_range,
  ddp_untagged_offset,
  ddp_untagged_too_long,
  ddp_untagged_version,

  // RDMAP (layer 0): RFC 5040 section 4.8.
  rdmap_local_catastrophic,
  rdmap_invalid_stag,
  rdmap_bounds,
  rdmap_access,
  rdmap_stag_not_associated,
  rdmap_wrap,
  rdmap_protection_unspecified,
  rdmap_version,
  rdmap_opcode,
  rdmap_stream_catastrophic,
  rdmap_global_catastrophic,
  rdmap_cannot_invalidate,
  rdmap_operation_unspecified,
};

const ErrorCategory& error_category();
inline ErrorCode make_error_code(errc e) {
  return {static_cast<int>(e), error_category()};
}

// A row of the error table.
struct TerminateRow {
  errc error;
  std::uint8_t layer;  // 0 RDMAP, 1 DDP, 2 LLP
  std::uint8_t type;
  std::uint8_t code;
  bool ddp_header;    // the Terminate carries the DDP segment length and header
  bool rdmap_header;  // the Terminate carries the Read Request header
  const char* text;
  const char* section;
};

// All rows that have a Terminate; the local errors are not in it.
std::span<const TerminateRow> terminate_table();
// The row of `error`, or null if it has no Terminate.
const TerminateRow* terminate_row(ErrorCode error);
// What a received Terminate with these codes means; terminated_by_peer if the table has no such
// row.
ErrorCode error_of_terminate(std::uint8_t layer, std::uint8_t type, std::uint8_t code);

}  // namespace openiser::rdmap

template <>
struct boost::system::is_error_code_enum<openiser::rdmap::errc> : std::true_type {};
