#include "target/wire_settings.h"

#include <chrono>

namespace openiser::target {

namespace {

using std::chrono::seconds;

// Unsolicited Data-Out, NOP-Out, task management and the like that an initiator may have under way
// beyond its commands (RFC 7145 section 6.7).
constexpr std::uint32_t kUnexpectedPdus = 64;

// An EMSS that leaves only the bound of the ULPDU length (RFC 5044 section 4.5).
constexpr std::uint32_t kLargestSegment = 65535;

}  // namespace

iscsi::Preferences login_preferences(const config::Daemon& config) {
  const config::Negotiation& n = config.negotiation;
  iscsi::Preferences p;
  p.header_digest_crc32c = n.header_digest;
  p.data_digest_crc32c = n.data_digest;
  p.max_recv_data_segment_length = n.max_recv_data_segment_length;
  p.max_burst_length = n.max_burst_length;
  p.first_burst_length = n.first_burst_length;
  p.initial_r2t = n.initial_r2t;
  p.immediate_data = n.immediate_data;
  p.max_outstanding_r2t = n.max_outstanding_r2t;
  p.rdma_extensions = n.rdma_extensions;
  p.rfc7145 = config.rdma.dialect != config::Rdma::Dialect::rfc5046;
  p.target_recv_data_segment_length = n.target_recv_data_segment_length;
  // What we send in control-type PDUs fits whatever the initiator asks for.
  p.initiator_recv_data_segment_length = 0xffffff;
  p.max_outstanding_unexpected_pdus = kUnexpectedPdus;
  p.login_timeout = seconds(config.limits.login_timeout);
  return p;
}

iscsi::TargetSessionLimits session_limits(const config::Limits& limits) {
  iscsi::TargetSessionLimits s;
  s.command_window = limits.command_window;
  s.buffer_bytes = limits.session_buffers;
  s.transfer_window = limits.transfer_window;
  s.nop_interval = seconds(limits.nop_interval);
  s.nop_timeout = seconds(limits.nop_timeout);
  s.idle_timeout = seconds(limits.idle_timeout);
  return s;
}

rdmap::MpaSettings mpa_settings(const config::Daemon& config, std::uint32_t emss) {
  rdmap::MpaSettings m;
  m.crc = config.rdma.crc;
  m.markers = config.rdma.markers;
  m.inbound_reads = config.rdma.inbound_reads;
  m.outbound_reads = config.rdma.outbound_reads;
  m.start_up_timeout = seconds(config.limits.login_timeout);
  m.emss = config.rdma.large_fpdus ? kLargestSegment : emss;
  return m;
}

rdmap::VerbsSettings verbs_settings(const config::Daemon& config) {
  rdmap::VerbsSettings v;
  v.inbound_reads = config.rdma.inbound_reads;
  v.outbound_reads = config.rdma.outbound_reads;
  v.set_up_timeout = seconds(config.limits.login_timeout);
  return v;
}

iser::Dialect stream_first_dialect(config::Rdma::Dialect configured,
                                   const iscsi::Parameters& parameters) {
  switch (configured) {
    case config::Rdma::Dialect::rfc5046:
      return iser::Dialect::rfc5046;
    case config::Rdma::Dialect::rfc7145:
      return iser::Dialect::rfc7145;
    case config::Rdma::Dialect::automatic:
      break;
  }
  return parameters.peer_knows_rfc7145 ? iser::Dialect::rfc7145 : iser::Dialect::rfc5046;
}

iser::Settings iser_settings(const config::Daemon& config, iser::Dialect dialect) {
  iser::Settings s;
  s.role = iser::Role::target;
  s.dialect = dialect;
  s.command_window = config.limits.command_window;
  s.hello_timeout = seconds(config.limits.login_timeout);
  return s;
}

iscsi::Parameters with_base_offset(iscsi::Parameters parameters, Wire wire,
                                   config::Rdma::BaseOffset configured) {
  switch (configured) {
    case config::Rdma::BaseOffset::whole_buffer:
      break;
    case config::Rdma::BaseOffset::solicited_part:
      parameters.tagged_buffer_for_solicited_data_only = true;
      break;
    case config::Rdma::BaseOffset::automatic:
      if (wire == Wire::rdma_first && !parameters.peer_knows_rfc7145) {
        parameters.tagged_buffer_for_solicited_data_only = true;
      }
      break;
  }
  return parameters;
}

}  // namespace openiser::target
