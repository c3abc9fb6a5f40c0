#include "rdmap/verbs/verbs_errors.h"

#include <cerrno>
#include <cstdlib>

#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

// Reject reason of the InfiniBand connection manager: nobody listens there.
constexpr int kInvalidServiceId = 8;

ErrorCode system_error(int error) {
  return {error, boost::system::system_category()};
}

}  // namespace

ErrorCode error_of_opening(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return errc::verbs_no_permission;
    case ENOENT:
    case ENXIO:
    case ENOSYS:
      return errc::verbs_module_missing;
    case ENODEV:
    case EADDRNOTAVAIL:
      return errc::verbs_no_device;
    default:
      return system_error(error);
  }
}

// Linux's connection manager calls an address that no device has a route to invalid.
ErrorCode error_of_resolving(int error) {
  return error == EINVAL ? make_error_code(errc::verbs_no_device) : error_of_opening(error);
}

ErrorCode error_of_registration(int error) {
  if (error == ENOMEM || error == EAGAIN) return errc::verbs_locked_memory;
  return error_of_opening(error);
}

ErrorCode error_of_status(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return {};
    case IBV_WC_WR_FLUSH_ERR:
      return errc::flushed;
    case IBV_WC_REM_ACCESS_ERR:
      return errc::rdmap_protection_unspecified;
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
      return errc::rdmap_operation_unspecified;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return errc::ddp_untagged_no_buffer;
    case IBV_WC_LOC_LEN_ERR:
      return errc::ddp_untagged_too_long;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
      return system_error(ETIMEDOUT);
    default:
      return errc::rdmap_local_catastrophic;
  }
}

ErrorCode error_of_event(rdma_cm_event_type event, int status) {
  const int error = std::abs(status);
  switch (event) {
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return errc::device_removed;
    case RDMA_CM_EVENT_REJECTED:
      if (error == ECONNREFUSED || status == kInvalidServiceId) return system_error(ECONNREFUSED);
      return errc::rejected;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return error == 0 ? system_error(EHOSTUNREACH) : error_of_resolving(error);
    case RDMA_CM_EVENT_UNREACHABLE:
      return system_error(error == ECONNREFUSED || error == ETIMEDOUT ? error : EHOSTUNREACH);
    default:
      return system_error(error == 0 ? ECONNABORTED : error);
  }
}

}  // namespace openiser::rdmap
