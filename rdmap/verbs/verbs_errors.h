// What libibverbs and librdmacm say went wrong, as errors of this project.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "base/result.h"

namespace openiser::rdmap {

// Of a call that opens a device or the connection manager.
ErrorCode error_of_opening(int error);
// Of a call that resolves an address or a route.
ErrorCode error_of_resolving(int error);
// Of a registration.
ErrorCode error_of_registration(int error);
// Of a completion; no error for success, flushed for a work that was not done.
ErrorCode error_of_status(ibv_wc_status status);
// Of a connection manager event that ends the set-up; `status` is the event's.
ErrorCode error_of_event(rdma_cm_event_type event, int status);

}  // namespace openiser::rdmap
