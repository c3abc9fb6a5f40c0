// Plain iSCSI as a datamover (RFC 7143 over a byte stream): control-type PDUs, Data-In, R2T and
// Data-Out with padding and digests. Payload of Data-In and of solicited Data-Out is received
// straight into its final buffer.
#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/stream_endpoint.h"
#include "iscsi/datamover.h"
#include "iscsi/login/parameters.h"

namespace openiser::iscsi {

enum class Role : std::uint8_t { initiator, target };

class TcpDatamover : public Datamover, public StreamEndpoint {};

// Both are for the time after login. `already_read`: bytes that the login framer had read beyond
// the last login PDU. `write_first`: bytes still to be sent before anything else (a target's final
// Login Response). `pool` outlives it.
std::unique_ptr<TcpDatamover> make_tcp_datamover(Role role, const Parameters& parameters,
                                                 BufferPool& pool,
                                                 std::vector<std::byte> write_first = {},
                                                 std::vector<std::byte> already_read = {});

}  // namespace openiser::iscsi
