// What a login settles, and what each side wants of it.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi {

enum class Digest : std::uint8_t { none, crc32c };
enum class SessionType : std::uint8_t { normal, discovery };

// The outcome of the negotiation, for one connection. Defaults are those of RFC 7143 section 13 and
// RFC 7145 section 6.
struct Parameters {
  SessionType session_type = SessionType::normal;
  std::string initiator_name;
  std::string initiator_alias;
  std::string target_name;
  std::string target_alias;
  std::uint16_t target_portal_group_tag = 0;
  Isid isid{};
  std::uint16_t tsih = 0;
  std::uint16_t cid = 0;
  std::string user;  // who the initiator has proved to be by CHAP; empty with AuthMethod=None

  Digest header_digest = Digest::none;
  Digest data_digest = Digest::none;
  std::uint16_t max_connections = 1;
  bool initial_r2t = true;
  bool immediate_data = true;
  // Largest data segment we may send: what the peer declared; and we may receive: what we declared.
  // In full feature phase under iSER these are TargetRecvDataSegmentLength and
  // InitiatorRecvDataSegmentLength.
  std::uint32_t max_send_data_segment_length = 8192;
  std::uint32_t max_recv_data_segment_length = 8192;
  std::uint32_t max_burst_length = 262144;
  std::uint32_t first_burst_length = 65536;
  std::uint16_t max_outstanding_r2t = 1;
  bool data_pdu_in_order = true;
  bool data_sequence_in_order = true;
  std::uint16_t default_time2wait = 2;     // seconds
  std::uint16_t default_time2retain = 20;  // seconds
  std::uint8_t error_recovery_level = 0;
  // iSCSIProtocolLevel (RFC 7144 section 7.1.1): 2 permits task management functions 9 to 12.
  std::uint8_t protocol_level = 0;

  // RFC 7145 section 6
  bool rdma_extensions = false;
  // What the peer declared, 0 for no limit; and what we declared.
  std::uint32_t peer_max_outstanding_unexpected_pdus = 0;
  std::uint32_t own_max_outstanding_unexpected_pdus = 0;
  std::uint32_t peer_max_ahs_length = 256;
  bool tagged_buffer_for_solicited_data_only = false;
  // Whether the key was negotiated at all tells how a Hello is treated (RFC 7145 sections 5.1.3
  // and 10.1.3.4).
  enum class HelloRequired : std::uint8_t { not_negotiated, no, yes };
  HelloRequired iser_hello_required = HelloRequired::not_negotiated;
  // The peer declared a key that RFC 7145 added to RFC 5046 (sections 6.8 to 6.10): nothing else in
  // a login tells the two apart.
  bool peer_knows_rfc7145 = false;

  // Sequence numbers for the start of full feature phase.
  std::uint32_t next_cmd_sn =
      1;  // initiator: the next to send; target: the next expected (ExpCmdSN)
  std::uint32_t next_stat_sn =
      1;  // target: the next to send; initiator: the next expected (ExpStatSN)
  std::uint32_t max_cmd_sn = 0;
};

// What one side offers and will accept.
struct Preferences {
  // In order of liking; "none" need not be in it. Empty: only None.
  bool header_digest_crc32c = false;
  bool header_digest_none = true;
  bool data_digest_crc32c = false;
  bool data_digest_none = true;
  std::uint32_t max_recv_data_segment_length = 262144;
  std::uint32_t max_burst_length = 1048576;
  std::uint32_t first_burst_length = 65536;
  bool initial_r2t = false;
  bool immediate_data = true;
  std::uint16_t max_outstanding_r2t = 8;
  std::uint16_t max_connections = 1;
  std::uint16_t default_time2wait = 2;
  std::uint16_t default_time2retain = 0;
  std::uint8_t error_recovery_level = 0;

  // AuthMethod: CHAP and nothing else, or None and nothing else. The login machines set it for
  // those who gave them ChapSettings.
  bool chap = false;

  // Whether RDMAExtensions=Yes is offered (initiator) or accepted (target).
  bool rdma_extensions = false;
  // The initiator: a No to RDMAExtensions ends the login instead of going on as plain iSCSI.
  bool rdma_required = false;
  // 28-byte headers and the keys that RFC 7145 added; false: RFC 5046.
  bool rfc7145 = true;
  std::uint32_t target_recv_data_segment_length = 8192;
  std::uint32_t initiator_recv_data_segment_length = 8192;
  // 0: not declared.
  std::uint32_t max_outstanding_unexpected_pdus = 0;
  std::uint32_t max_ahs_length = 256;
  // The initiator only. Declared if true.
  bool tagged_buffer_for_solicited_data_only = false;
  bool iser_hello_required = false;

  Duration login_timeout = std::chrono::seconds(15);
};

}  // namespace openiser::iscsi
