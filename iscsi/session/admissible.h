// Which PDU may come in which state, decided before anything looks into it (RFC 7143 sections 4.3,
// 7.13 and 11). Pure tables.
#pragma once

#include <optional>

#include "iscsi/login/parameters.h"
#include "iscsi/pdu/pdu.h"
#include "iscsi/session/connection_state.h"

namespace openiser::iscsi {

struct Admission {
  enum class Kind : std::uint8_t {
    accept,
    drop,    // without a word: the connection is on its way out
    reject,  // for `reason`
  };
  Kind kind = Kind::accept;
  RejectReason reason = RejectReason::protocol_error;
  friend bool operator==(const Admission&, const Admission&) = default;
};

// At the target.
Admission admit_request(ConnectionState state, SessionType type, bool rdma, Opcode opcode);
// At the initiator: whether a PDU of this kind may come in full feature phase at all.
bool admit_response(Opcode opcode);

// Whether PDUs with this opcode are commands that CmdSN numbers (unless they are immediate).
bool is_numbered(Opcode opcode);

}  // namespace openiser::iscsi
