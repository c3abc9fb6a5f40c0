#include "rdmap/errors.h"

#include <algorithm>
#include <array>
#include <string>

namespace openiser::rdmap {
namespace {

constexpr std::uint8_t kRdmap = 0, kDdp = 1, kMpa = 2;
// Layers below RDMAP and local catastrophes carry no RDMAP header, and only DDP errors and remote
// RDMAP errors a DDP header: RFC 5040 section 4.8, figure 10.
constexpr bool kDdpHeader = true, kNoDdpHeader = false;
constexpr bool kRdmapHeader = true, kNoRdmapHeader = false;

constexpr std::array kTerminates{
    TerminateRow{errc::mpa_crc, kMpa, 0, 0x02, kNoDdpHeader, kNoRdmapHeader,
                 "MPA: the CRC of an FPDU is wrong", "RFC 5044 section 8"},
    TerminateRow{errc::mpa_marker, kMpa, 0, 0x03, kNoDdpHeader, kNoRdmapHeader,
                 "MPA: a marker and ULPDU_Length do not agree on the start of an FPDU",
                 "RFC 5044 section 8"},
    TerminateRow{errc::mpa_bad_frame, kMpa, 0, 0x04, kNoDdpHeader, kNoRdmapHeader,
                 "MPA: invalid Request or Reply frame", "RFC 5044 section 8"},
    TerminateRow{errc::mpa_local_catastrophic, kMpa, 0, 0x05, kNoDdpHeader, kNoRdmapHeader,
                 "MPA: local catastrophic error", "RFC 6581 section 8"},
    TerminateRow{errc::mpa_insufficient_ird, kMpa, 0, 0x06, kNoDdpHeader, kNoRdmapHeader,
                 "MPA: insufficient inbound RDMA Read resources", "RFC 6581 section 8"},
    TerminateRow{errc::mpa_no_rtr_match, kMpa, 0, 0x07, kNoDdpHeader, kNoRdmapHeader,
                 "MPA: no matching ready-to-receive option", "RFC 6581 section 8"},

    TerminateRow{errc::ddp_local_catastrophic, kDdp, 0, 0x00, kNoDdpHeader, kNoRdmapHeader,
                 "DDP: local catastrophic error", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_tagged_invalid_stag, kDdp, 1, 0x00, kDdpHeader, kNoRdmapHeader,
                 "DDP: invalid STag in a tagged segment", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_tagged_bounds, kDdp, 1, 0x01, kDdpHeader, kNoRdmapHeader,
                 "DDP: base or bounds violation in a tagged segment", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_tagged_stag_not_associated, kDdp, 1, 0x02, kDdpHeader, kNoRdmapHeader,
                 "DDP: STag not associated with the DDP stream", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_tagged_wrap, kDdp, 1, 0x03, kDdpHeader, kNoRdmapHeader,
                 "DDP: Tagged Offset wraps", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_tagged_version, kDdp, 1, 0x04, kDdpHeader, kNoRdmapHeader,
                 "DDP: invalid version in a tagged segment", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_untagged_queue, kDdp, 2, 0x01, kDdpHeader, kNoRdmapHeader,
                 "DDP: invalid queue number", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_untagged_no_buffer, kDdp, 2, 0x02, kDdpHeader, kNoRdmapHeader,
                 "DDP: no buffer available for an untagged message", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_untagged_msn_range, kDdp, 2, 0x03, kDdpHeader, kNoRdmapHeader,
                 "DDP: MSN out of range", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_untagged_offset, kDdp, 2, 0x04, kDdpHeader, kNoRdmapHeader,
                 "DDP: invalid Message Offset", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_untagged_too_long, kDdp, 2, 0x05, kDdpHeader, kNoRdmapHeader,
                 "DDP: untagged message too long for its buffer", "RFC 5041 section 7.2"},
    TerminateRow{errc::ddp_untagged_version, kDdp, 2, 0x06, kDdpHeader, kNoRdmapHeader,
                 "DDP: invalid version in an untagged segment", "RFC 5041 section 7.2"},

    TerminateRow{errc::rdmap_local_catastrophic, kRdmap, 0, 0x00, kNoDdpHeader, kNoRdmapHeader,
                 "RDMAP: local catastrophic error", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_invalid_stag, kRdmap, 1, 0x00, kDdpHeader, kRdmapHeader,
                 "RDMAP: invalid STag", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_bounds, kRdmap, 1, 0x01, kDdpHeader, kRdmapHeader,
                 "RDMAP: base or bounds violation", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_access, kRdmap, 1, 0x02, kDdpHeader, kRdmapHeader,
                 "RDMAP: access rights violation", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_stag_not_associated, kRdmap, 1, 0x03, kDdpHeader, kRdmapHeader,
                 "RDMAP: STag not associated with the RDMAP stream", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_wrap, kRdmap, 1, 0x04, kDdpHeader, kRdmapHeader,
                 "RDMAP: Tagged Offset wraps", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_cannot_invalidate, kRdmap, 1, 0x09, kDdpHeader, kRdmapHeader,
                 "RDMAP: STag cannot be invalidated", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_protection_unspecified, kRdmap, 1, 0xff, kDdpHeader, kRdmapHeader,
                 "RDMAP: unspecified remote protection error", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_version, kRdmap, 2, 0x05, kDdpHeader, kNoRdmapHeader,
                 "RDMAP: invalid version", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_opcode, kRdmap, 2, 0x06, kDdpHeader, kNoRdmapHeader,
                 "RDMAP: unexpected opcode", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_stream_catastrophic, kRdmap, 2, 0x07, kDdpHeader, kNoRdmapHeader,
                 "RDMAP: catastrophic error of this stream", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_global_catastrophic, kRdmap, 2, 0x08, kDdpHeader, kNoRdmapHeader,
                 "RDMAP: catastrophic error, global", "RFC 5040 section 4.8"},
    TerminateRow{errc::rdmap_operation_unspecified, kRdmap, 2, 0xff, kDdpHeader, kNoRdmapHeader,
                 "RDMAP: unspecified remote operation error", "RFC 5040 section 4.8"},
};

const char* local_text(errc error) {
  switch (error) {
    case errc::flushed:
      return "the connection ended before this work was done";
    case errc::truncated:
      return "fewer bytes than the structure has";
    case errc::too_many_regions:
      return "too many memory regions";
    case errc::not_connected:
      return "not connected";
    case errc::transport_closed:
      return "the peer closed the byte stream";
    case errc::terminated_by_peer:
      return "terminated by the peer for an unknown reason";
    case errc::start_up_timeout:
      return "the MPA start-up took too long";
    case errc::rejected:
      return "the connection was rejected";
    case errc::send_too_long:
      return "a Send longer than allowed";
    case errc::verbs_not_built:
      return "this build has no RDMA verbs: install libibverbs-dev and librdmacm-dev, and build "
             "again";
    case errc::verbs_module_missing:
      return "the kernel's RDMA modules are not loaded: modprobe -a ib_uverbs rdma_ucm, and the "
             "driver of the device";
    case errc::verbs_no_device:
      return "no RDMA device has this address or a route to it: name an address in a network that "
             "a device is on, see `rdma link` and `ip address`";
    case errc::verbs_no_permission:
      return "no permission to open the devices in /dev/infiniband: run as root, or give this user "
             "access to uverbs* and rdma_cm";
    case errc::verbs_locked_memory:
      return "the device may lock no more memory: raise the limit (ulimit -l unlimited, or "
             "systemd's LimitMEMLOCK=infinity)";
    case errc::queue_pair_failed:
      return "the RDMA device ended the connection: a work that it refused, or a link that broke";
    case errc::device_removed:
      return "the RDMA device was removed";
    default:
      return "unknown RDMAP error";
  }
}

const TerminateRow* row_of(errc error) {
  const auto* row = std::ranges::find(kTerminates, error, &TerminateRow::error);
  return row == kTerminates.end() ? nullptr : row;
}

class Category final : public ErrorCategory {
 public:
  const char* name() const noexcept override { return "rdmap"; }
  std::string message(int value) const override {
    const auto error = static_cast<errc>(value);
    const TerminateRow* row = row_of(error);
    return row ? row->text : local_text(error);
  }
};

}  // namespace

const ErrorCategory& error_category() {
  static const Category category;
  return category;
}

std::span<const TerminateRow> terminate_table() {
  return kTerminates;
}

const TerminateRow* terminate_row(ErrorCode error) {
  if (error.category() != error_category()) return nullptr;
  return row_of(static_cast<errc>(error.value()));
}

ErrorCode error_of_terminate(std::uint8_t layer, std::uint8_t type, std::uint8_t code) {
  // A local catastrophe of RDMAP has no code, "any value is acceptable"; and 0x09 stands under both
  // remote error types with one meaning (RFC 5040 section 4.8, figure 9).
  if (layer == kRdmap && type == 0) code = 0;
  if (layer == kRdmap && type == 2 && code == 0x09) type = 1;
  for (const TerminateRow& row : kTerminates) {
    if (row.layer == layer && row.type == type && row.code == code) return row.error;
  }
  return errc::terminated_by_peer;
}

}  // namespace openiser::rdmap
