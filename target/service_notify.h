// Tells the service manager that started us how we are (sd_notify(3)): a datagram to the socket
// that the environment names. Without one, nothing happens.
#pragma once

#include <string_view>

namespace openiser::target {

// `state`: such as "READY=1". False if there is a service manager and it could not be told.
bool notify_service_manager(std::string_view state);

}  // namespace openiser::target
