#include "iscsi/session/connection_state.h"

namespace openiser::iscsi {
namespace {

using State = ConnectionState;
using Event = ConnectionEvent;

State in_logged_in(Event event) {
  switch (event) {
    case Event::logout_wanted:
      return State::logout_requested;  // T11
    case Event::logout_started:
      return State::in_logout;  // T9
    case Event::lost:
      return State::cleanup_wait;  // T15
    default:
      return State::logged_in;
  }
}

State in_in_logout(Event event) {
  switch (event) {
    case Event::logout_done:
      return State::free;  // T13
    case Event::lost:
      return State::cleanup_wait;  // T17
    default:
      return State::in_logout;  // T14 among them
  }
}

State in_logout_requested(Event event) {
  switch (event) {
    case Event::logout_started:
      return State::in_logout;  // T10
    case Event::lost:
      return State::cleanup_wait;  // T16
    default:
      return State::logout_requested;  // T12 among them
  }
}

}  // namespace

ConnectionState next_state(ConnectionState state, ConnectionEvent event) {
  switch (state) {
    case State::logged_in:
      return in_logged_in(event);
    case State::in_logout:
      return in_in_logout(event);
    case State::logout_requested:
      return in_logout_requested(event);
    case State::cleanup_wait:
      return event == Event::cleaned_up ? State::free : state;  // M1
    case State::free:
      break;
  }
  return State::free;
}

}  // namespace openiser::iscsi
