// The connection state machine of full feature phase (RFC 7143 sections 8.1.2 to 8.1.4), from the
// end of login on; the states before it belong to the login machines.
//
//              T9 logout started                  T13 logout done
//   LOGGED_IN -----------------------> IN_LOGOUT -----------------> FREE
//    S5 |  |                            ^    | S6                   ^ S1
//       |  | T11 logout   T10 logout    |    | T17 lost or failed   |
//       |  | requested      started     |    v                      |
//       |  +----> LOGOUT_REQUESTED -----+  CLEANUP_WAIT ------------+
//       |          S7 (T12: itself)  |        ^ S8    M1 cleaned up
//       |                            +--------+ T16 lost
//       +-------------------------------------+ T15 lost
//
// A session of one connection ends with it, so S8 is where its tasks are brought to an end.
#pragma once

#include <cstdint>

namespace openiser::iscsi {

enum class ConnectionState : std::uint8_t {
  free,              // S1
  logged_in,         // S5
  in_logout,         // S6
  logout_requested,  // S7
  cleanup_wait,      // S8
};

enum class ConnectionEvent : std::uint8_t {
  logout_wanted,   // Async Message "Logout Request" sent or received
  logout_started,  // Logout Request sent or received
  logout_done,     // Logout Response (success) sent or received, and the connection is gone
  lost,            // transport, time-out, protocol error, Logout failure, end on our own wish
  cleaned_up,      // no task is left and the connection is gone
};

// An event that means nothing in a state leaves it as it is.
ConnectionState next_state(ConnectionState state, ConnectionEvent event);

}  // namespace openiser::iscsi
