// The iSER datamover (RFC 5046, RFC 7145): iSCSI over any queue pair. Control-type PDUs become
// Sends, Put_Data an RDMA Write, Get_Data an RDMA Read; it keeps the mappings from ITT to STags,
// the receive credit, the limits on unexpected PDUs and the Hello exchange.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/stream_endpoint.h"
#include "iscsi/datamover.h"
#include "iscsi/login/login.h"
#include "iscsi/login/parameters.h"
#include "rdmap/rcap.h"

namespace openiser::iser {

// Which document the connection follows: 12-byte headers, version 1, Hello always; or 28-byte
// headers, version 10, Hello only with iSERHelloRequired=Yes. The two cannot mix on one connection.
enum class Dialect : std::uint8_t { rfc5046, rfc7145 };

enum class Role : std::uint8_t { initiator, target };

// What a Base Offset of write data refers to (wire-facts in README.md): the start of the whole
// write buffer, or of the part that is solicited, as Linux and libiscsi mean it without saying so.
enum class BaseOffset : std::uint8_t { whole_buffer, solicited_part };

struct Settings {
  Role role = Role::target;
  Dialect dialect = Dialect::rfc7145;
  // For writes with unsolicited data. The initiator declares it by
  // TaggedBufferForSolicitedDataOnly; the target follows the key, or this where the peer is known
  // to mean it so (rdma-first connections that declared nothing).
  BaseOffset base_offset = BaseOffset::whole_buffer;
  // Receives for PDUs that are not answers: commands in the window plus unexpected PDUs.
  std::uint32_t command_window = 128;
  // Initiator that logs in over the queue pair: the InitiatorRecvDataSegmentLength it offers.
  // Receives posted during the login are of that size, as a target may send before more are posted.
  std::uint32_t recv_data_segment_length = 8192;
  bool send_solicited_events = false;
  bool send_with_invalidate = true;
  // Target: hold back unexpected PDUs until the first PDU came in (RFC 7145 section 5.1.3).
  Duration hello_timeout = std::chrono::seconds(10);
};

// Drives one queue pair from its establishment (for rdma-first: from its start) to its end: first
// login PDUs, if the connection logs in over it, then, from enable() on, as datamover. Settled by
// RFC 7145 section 5.1.
class IserConnection : public iscsi::Datamover,
                       public iscsi::LoginChannel,
                       public rdmap::QueuePairClient {
 public:
  // How a connection that logs in over the queue pair tells its owner. Never called from inside
  // send().
  class LoginClient {
   public:
    // The queue pair is up (the initiator starts its login now).
    virtual void queue_pair_established(const rdmap::Established& how) = 0;
    virtual void login_pdu(iscsi::ControlPdu pdu) = 0;
    // Before enable(): the connection failed.
    virtual void login_connection_failed(ErrorCode why) = 0;

   protected:
    ~LoginClient() = default;
  };

  // `login`: null for stream-first, where the login is over before the queue pair starts. `pool`
  // outlives it.
  static std::unique_ptr<IserConnection> create(std::unique_ptr<rdmap::QueuePair> queue_pair,
                                                Settings settings, BufferPool& pool,
                                                LoginClient* login);

  // Allocate_Connection_Resources: posts the receives that full feature phase needs. For
  // stream-first before the last login PDU of either side, for rdma-first when the negotiation is
  // settled.
  virtual Status allocate_connection_resources(const iscsi::Parameters& parameters) = 0;
  // Enable_Datamover: full feature phase. Stream-first: the queue pair is about to start.
  // `final_login_response`: rdma-first target only; sent first.
  virtual void enable_datamover(iscsi::DatamoverClient& client,
                                std::optional<iscsi::ControlPdu> final_login_response = {}) = 0;
  virtual rdmap::QueuePair& queue_pair() = 0;
  // What the queue pair's set-up and the Hello exchange settled; nothing before the queue pair is
  // up. The private data is not kept.
  virtual const std::optional<rdmap::Established>& negotiated() const = 0;

  virtual std::optional<Time> deadline() const = 0;
  virtual void expired(Time now) = 0;
  // For whoever keeps the deadline of a queue pair that moves its own bytes: `host` hears when
  // there may be an earlier one. It outlives the connection or is replaced by null.
  virtual void attach(StreamHost* host) = 0;
};

// The four bytes that Linux's iSER puts into the private data of rdma-first connections (struct
// iser_cm_hdr).
struct CmHeader {
  bool zero_based_not_supported = false;       // 0x80
  bool send_invalidate_not_supported = false;  // 0x40
};
std::vector<std::byte> encode(const CmHeader& header);
// Anything too short counts as both not supported.
CmHeader decode_cm_header(Bytes private_data);

}  // namespace openiser::iser
