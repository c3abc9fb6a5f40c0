// From what the configuration says to what the layers below want to be told.
#pragma once

#include "base/clock.h"
#include "config/settings.h"
#include "iscsi/login/parameters.h"
#include "iscsi/session/target_session.h"
#include "iser/iser_datamover.h"
#include "rdmap/iwarp.h"
#include "rdmap/verbs/verbs.h"
#include "target/wire_detector.h"

namespace openiser::target {

iscsi::Preferences login_preferences(const config::Daemon& config);
iscsi::TargetSessionLimits session_limits(const config::Limits& limits);

// MPA as responder. `emss`: of the TCP connection.
rdmap::MpaSettings mpa_settings(const config::Daemon& config, std::uint32_t emss);
// Without private data.
rdmap::VerbsSettings verbs_settings(const config::Daemon& config);

// Stream-first connections may follow either RFC, and nothing says which but the keys: an initiator
// that declared one of those that RFC 7145 added to RFC 5046 (its sections 6.8 to 6.10) speaks
// RFC 7145, any other RFC 5046. On rdma-first connections it is always RFC 7145.
iser::Dialect stream_first_dialect(config::Rdma::Dialect configured,
                                   const iscsi::Parameters& parameters);

iser::Settings iser_settings(const config::Daemon& config, iser::Dialect dialect);

// What Base Offsets of write data refer to where no key says so: Linux and libiscsi, which log in
// rdma-first and know none of RFC 7145's keys, mean the solicited part. Expressed as the key that
// says that (RFC 7145 section 6.9).
iscsi::Parameters with_base_offset(iscsi::Parameters parameters, Wire wire,
                                   config::Rdma::BaseOffset configured);

}  // namespace openiser::target
